"""How many texts of real models are found, and does the encoder foretell it?

Models of several sizes and vocabularies write by the encoder's default strategy for the temperature: answers to
questions of a chat and to requests for longer texts there, prose that goes on from the beginnings of news items, and
answers to problems of mathematics. No number of a reader was chosen on them; the encoder's forecast was fitted to
answers of the kind ``chat``. A text ends where the model ends it, or is cut. It is read in each length that it has, in
tokens of its model, as ``ctwl-decode`` reads it: unedited, and with a share of its words replaced by synonyms. For each
setting:

- found: with the right code, at the default level and at a false-positive rate of 1 %, for a registered
  provider;
- found with few nonces: at the default level, if the provider's registry entry declares as few as its texts have;
- found by its own model: by a reader that weighs with the model that wrote it, and has not seen the prompt;
- foretold: how many texts the encoder expects to be found, for a provider that is not registered, and how many are
  found so. The forecast holds if the first lies in the interval of the second.

Over all texts of a model: tenths by the forecast; and the share found by the choice that the texts had, which is the
sum over tokens of the entropy of what each was drawn from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import ctwl_decoder
import ctwl_protocol
from ctwl_decoder import Decoder, Report
from ctwl_decoder.reading_model import ReadingModel
from ctwl_encoder import Generation
from ctwl_protocol.registry import Registry, Trusted, bundled
from ctwl_protocol.registry.entries import Entry, ProviderEntry

from ..shared import editing, real_models
from ..shared.answers import LENGTHS, Answer, Writing, prompts_of
from ..shared.cache import digest, recalled
from ..shared.editing import reworded
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.readers import reader
from ..shared.texts import PROVIDER, VERSION

SETTINGS = ((0.7, 0.95), (1.0, 1.0))
"""Temperature and top-p."""

SHARES = (0.1, 0.25)
"""Shares of the words that are replaced by synonyms."""

ONE_IN_A_HUNDRED = 0.01
"""The false-positive rate at which others report."""

NONCES = 8
"""How many the texts have."""

PARTS = 10
STEP = 30
"""Nats of choice between two points of the curve."""


def code_digest() -> str:
    """A digest of what a reading depends on beside its text."""
    return digest(ctwl_decoder, ctwl_protocol, Path(__file__), Path(editing.__file__))


@dataclass(frozen=True)
class Read:
    """What came of a text in one length.

    Attributes:
        choice: nats that it had.
        foretold: how likely the encoder held it that a reader finds the text, over all codes.
        found_unlisted: whether it was found where no provider is registered.
        found: whether it was found.
        found_in_hundred: the same at a false-positive rate of 1 %.
        wrong: whether another code was found.
        reworded: whether it was found after each of :data:`SHARES`.
        few: whether it was found where few nonces are declared, unedited and after each of these.
    """

    choice: float
    foretold: float
    found_unlisted: bool
    found: bool
    found_in_hundred: bool
    wrong: bool
    reworded: tuple[bool, ...]
    few: tuple[bool, ...]


class Readers:
    """The public's reader with the registry, with one that lists nobody, and with one that declares few nonces."""

    def __init__(self) -> None:
        self.public = reader()
        self.unlisted = reader(self.public.proxy, registry=bundled().without_entries())
        self.few = reader(self.public.proxy, registry=declaring(NONCES))

    def kept(self, answer: Answer, tokens: int, number: int) -> Read:
        """What came of a text's first so many tokens, read once and kept; ``number`` draws the words of the edits."""
        read = partial(self._read, answer, tokens, number)
        return recalled(read, "read", code_digest(), answer.parts[tokens].text, number)

    def _read(self, answer: Answer, tokens: int, number: int) -> Read:
        text = answer.parts[tokens]
        report, unlisted = self.public.decode(text.text), self.unlisted.decode(text.text)
        mild = self.public.decode(text.text, alpha=ONE_IN_A_HUNDRED)
        edited = [reworded(share, text.text, np.random.default_rng(number)) for share in SHARES]
        return Read(
            choice=float(np.sum(answer.choice[:tokens])),
            foretold=text.chance_found,
            found_unlisted=_right(unlisted, text),
            found=_right(report, text),
            found_in_hundred=_right(mild, text),
            wrong=report.detected and not _right(report, text),
            reworded=tuple(_right(self.public.decode(each), text) for each in edited),
            few=tuple(_right(self.few.decode(each), text) for each in (text.text, *edited)),
        )


def declaring(nonces: int) -> Trusted:
    """The bundled registry, where the model version that writes declares so many nonces."""
    trusted = bundled()
    registry, entries = trusted.registry, list[Entry]()
    for entry in registry.entries:
        if isinstance(entry, ProviderEntry) and entry.code == PROVIDER:
            few = (m.model_copy(update={"nonces": nonces}) if m.version == VERSION else m for m in entry.models)
            entry = entry.model_copy(update={"models": tuple(few)})  # noqa: PLW2901
        entries.append(entry)
    return replace(trusted, registry=Registry(**{**dict(registry), "entries": tuple(entries)}))


def _right(report: Report, text: Generation) -> bool:
    return report.code == text.beacon.code


def held(texts: Sequence[Read]) -> dict[str, Any]:
    """How many texts were foretold to be found, and how many were."""
    chances = np.array([text.foretold for text in texts])
    found = rate(sum(text.found_unlisted for text in texts), len(texts))
    low, high = found["interval_95"]
    return {
        "foretold": round(float(chances.sum()), 1),
        "found": found,
        "holds": bool(low <= chances.mean() <= high),
        "right for the text": sum((text.foretold >= 0.5) == text.found_unlisted for text in texts),
    }


def tenths(texts: Sequence[Read]) -> Iterator[dict[str, Any]]:
    """The texts in ten parts by their forecasts, from the clearest on; fewer where texts are few."""
    ordered = sorted(texts, key=lambda text: -text.foretold)
    for part in np.array_split(np.arange(len(ordered)), min(PARTS, len(ordered))):
        some = [ordered[i] for i in part]
        yield {"chances": [round(some[0].foretold, 2), round(some[-1].foretold, 2)], **held(some)}


def by_choice(texts: Sequence[Read]) -> Iterator[dict[str, Any]]:
    """The share of the texts that are found, by the choice that they had."""
    steps = np.array([text.choice // STEP for text in texts])
    for step in np.unique(steps):
        some = [text for text, own in zip(texts, steps, strict=True) if own == step]
        nats = [int(step * STEP), int((step + 1) * STEP)]
        yield {"nats of choice": nats, "found": rate(sum(text.found for text in some), len(some))}


def found_rates(texts: Sequence[Read]) -> dict[str, Any]:
    """How many texts were found, in each way."""
    changed = zip(*(text.reworded for text in texts), strict=True)
    few = zip(*(text.few for text in texts), strict=True)
    return {
        "found": rate(sum(text.found for text in texts), len(texts)),
        "found at 1 %": rate(sum(text.found_in_hundred for text in texts), len(texts)),
        "wrong": sum(text.wrong for text in texts),
        "reworded": {str(share): rate(sum(each), len(texts)) for share, each in zip(SHARES, changed, strict=True)},
        "found with few nonces": {
            str(share): rate(sum(each), len(texts)) for share, each in zip((0.0, *SHARES), few, strict=True)
        },
        "forecast": held(texts),
    }


def own_reader(model: str, public: Decoder) -> Decoder:
    """A reader that weighs with the model that wrote the texts, and has not seen their prompts."""
    own = ReadingModel(*real_models.load(model), public.proxy, model)
    return Decoder(public.proxy, reading_model=own, registry=public.registry)


def found_by(own: Decoder, model: str, texts: Sequence[Generation]) -> dict[str, Any]:
    """How many texts the model that wrote them finds; each is read once and kept."""

    def found(text: Generation) -> bool:
        return _right(own.decode(text.text, score="whole"), text)

    read = tracked(texts, "read by their own model")
    right = [recalled(partial(found, text), "read by its model", code_digest(), model, text.text) for text in read]
    return rate(sum(right), len(right))


@experiment(
    quick={"texts": 2, "own": 1, "tokens": 100, "models": "smollm2", "kinds": "chat"},
    texts=32, own=0, tokens=LENGTHS[-1], models="smollm2,qwen2.5-coder-0.5b,qwen2.5-coder-1.5b",
    kinds="articles,chat,prose,mathematics", seed=1, batch=32, beside="",
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment; ``models`` are names or folders, with commas between, and so are ``kinds``.

    It takes hours, so it may be run in parts: ``beside`` is the file of an earlier part, which then comes first.
    """
    readers, rows, forecasts, curve = Readers(), [], [], []
    for model in options.models.split(","):
        every = list[Read]()
        own = own_reader(model, readers.public) if options.own else None
        for kind, (temperature, top_p) in product(options.kinds.split(","), SETTINGS):
            prompts = prompts_of(model, kind, options.texts)
            writing = Writing(
                model, temperature, top_p, options.tokens, seed=options.seed, batch=options.batch, nonces=NONCES
            )
            answers = writing.answers(prompts)
            strategy = answers[0].whole.strategy.value
            for tokens in LENGTHS:
                long = [(number, each) for number, each in enumerate(answers) if tokens in each.parts]
                if not long:
                    continue
                title = f"{model}, {kind}, T = {temperature}, {tokens} tokens"
                read = [readers.kept(each, tokens, number) for number, each in tracked(long, title)]
                every += read
                choice = float(np.mean([text.choice for text in read])) / tokens
                settings = {"temperature": temperature, "top-p": top_p, "strategy": strategy, "of": len(answers)}
                row = {"model": model, "kind": kind, **settings, "tokens": tokens, "nats a token": round(choice, 3)}
                row |= found_rates(read)
                if own:
                    row["own model"] = found_by(own, model, [each.parts[tokens] for _, each in long[: options.own]])
                rows.append(row)
        part = {"model": model, "kinds": options.kinds}
        forecasts.append({**part, **held(every), "tenths": list(tenths(every))})
        curve += [{**part, **each} for each in by_choice(every)]
    found: Result = {"settings": {"nonces": NONCES}, "rows": rows, "forecasts": forecasts, "by choice": curve}
    earlier = json.loads(Path(options.beside).read_text(encoding="utf-8")) if options.beside else {}
    return {name: own if name == "settings" else earlier.get(name, []) + own for name, own in found.items()}


if __name__ == "__main__":
    main()
