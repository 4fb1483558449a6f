"""The result in words: the cells of the table, and the sentences below it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ctwl_protocol.numbers import NUMBERS

from ..budget import in_words
from .options import MOST_TEXTS
from .prompts import GROUP
from .reading import EDITS
from .result import Effect, Result, Row, Settings
from .rule import RULE
from .statistics import NINE_IN_TEN, RESAMPLES, Estimate, Needed, Share

COLUMNS = (
    "strategy",
    "texts found",
    "tokens until nine in ten",
    "shared runs of three",
    "change of NLL, nats a token",
    "time a token",
)

LEGEND = (
    "Found: the decoder finds the right code at its default level "
    f"(p <= {NUMBERS.search.level:g}). Shared runs of three: the share of a "
    "text's runs of three tokens that another text of the same prompt has, too; the more, the less variety. Nonces are "
    "drawn; 'one nonce' is for two texts that happen to have the same. Change of NLL: what marking changes, step by "
    "step, in the negative log-likelihood that the model expects of its next token. Time a token: what marking adds on "
    "this machine. Intervals hold in 95 of 100 measurements; with fewer than eight prompts they are too narrow."
)

_READ = (
    "First tokens: of the texts that have as many. Words replaced: drawn by chance, each by a word of the plain texts; "
    "an editor who keeps the sense leaves more. A wrong code: one that the text does not carry; a plain text carries "
    "none."
)

_LESS_ENTROPY = (
    "NLL less entropy: nats a token, under what the tokens are drawn from but for the mark. Without a mark it is 0 but "
    "for chance, and a mark that keeps the distribution leaves it so, on average over codes."
)

_SURE = 0.95
"""From this share of resamples on, a choice is called sure. Chosen by hand, as the level of the intervals."""

_ENOUGH_PROMPTS = 8
"""With fewer prompts no choice is called sure: drawn anew, so few hardly differ. Chosen by hand, as many as come with
the command."""

_RECORDS = (
    "The texts carry a beacon alone. A record of several codes needs more tokens: with a sealed user two to three "
    "times as many."
)
"""As :func:`ctwl_encoder.core.expected_evidence.needed_tokens` counts, by any strategy that samples."""


def setting(settings: Settings) -> str:
    """What was measured, in a line."""
    sampling = settings.sampling
    how = "greedy decoding" if not sampling["temperature"] else f"temperature {sampling['temperature']:g}"
    how += f", top-p {sampling['top_p']:g}" if sampling["temperature"] and sampling["top_p"] < 1 else ""
    if sampling["repetition_penalty"] != 1:
        how += f", repetition penalty {sampling['repetition_penalty']:g}"
    form = "as a chat" if settings.chat else "as beginnings of texts"
    count = len(settings.prompts)
    return (
        f"{settings.model}, {how}: {settings.texts} texts of up to {sampling['max_new_tokens']} tokens by each "
        f"strategy, of {count} prompt{'s' * (count > 1)} {form}, seed {settings.seed}"
    )


def cells(row: Row, settings: Settings) -> list[list[str]]:
    """A row of the table: for each of :data:`COLUMNS` some lines."""
    shared, effect = _percent(row.shared), row.effect
    if effect is None:
        return [[row.marking.name], [], [], [shared], [], []]
    beside = [] if math.isnan(effect.shared_over_plain) else [f"{effect.shared_over_plain:.2f} of plain"]
    alike = [] if effect.shared_with_one_nonce is None else [f"{_percent(effect.shared_with_one_nonce)} one nonce"]
    return [
        [row.marking.name],
        [_of(effect.found), _interval(effect.found)],
        _needed(effect.needed, settings.sampling["max_new_tokens"]),
        [shared, *beside, *alike],
        _signed(effect.change),
        [f"{100 * (effect.cost - 1):+.0f} %"],
    ]


READ = "read"
"""The first column of :func:`reading_rows`."""


def reading_rows(result: Result) -> list[list[str]]:
    """What readers find of plain and marked texts, by length and after edits: a column for each way of marking."""
    every = (result.plain, *result.rows)
    effects = [row.effect for row in every]
    lengths = sorted({tokens for effect in effects if effect for tokens, _ in effect.by_length})
    found: list[tuple[str, Sequence[Share | None]]] = [
        *(
            (f"first {tokens} tokens", [dict(e.by_length).get(tokens) if e else None for e in effects])
            for tokens in lengths
        ),
        ("the whole text", [e.found if e else None for e in effects]),
        *(
            (f"{100 * share:g} % of its words replaced", [dict(e.edited)[share] if e else None for e in effects])
            for share in EDITS
        ),
        ("a wrong code", [row.wrong for row in every]),
    ]
    told = [
        [what, *(f"{_of(share)}, {_interval(share)}" if share else "" for share in shares)] for what, shares in found
    ]
    drawn = [["NLL less entropy", *(", ".join(_signed(row.nll_less_entropy)) for row in every)]]
    return told + drawn * _is_drawn(result)


def reading_legend(result: Result) -> str:
    """What :func:`reading_rows` say."""
    return " ".join([_READ, *[_LESS_ENTROPY] * _is_drawn(result)])


def _is_drawn(result: Result) -> bool:
    return bool(result.settings.sampling["temperature"])


def headline(result: Result) -> str:
    """The recommendation in a sentence."""
    name, found = result.taken.marking.name, _effect(result.taken).found
    if not found.successes:
        return f"No code was found in any text. {name} is the clearest of what was tried; do not count on it here."
    return f"Take {name}: its code is found in {_of(found)} texts (95 % interval {_interval(found)})."


def sentences(result: Result) -> list[str]:
    """How sure, why, and what else to know."""
    found = [_how_sure(result), *_others(result), *_what_helps(result), *_budget(result)]
    taken, default = result.taken.marking, result.recommendation.default
    if taken == default:
        found.append(f"{default.name} is also what the encoder takes by itself at this temperature.")
    else:
        found.append(
            f"By itself the encoder takes {default.name} at this temperature, so name the strategy and its strength."
        )
    return [*found, _RECORDS, f"The rule: {RULE}."]


def _others(result: Result) -> list[str]:
    told = []
    for place, row in enumerate(result.rows):
        found, difference = _effect(row).found, place - result.recommendation.place
        if difference < 0:
            told.append(f"{row.marking.name} is gentler, and is found in {_of(found)} only.")
        elif difference > 0:
            more = "only a little" if found.successes > _effect(result.taken).found.successes else "not"
            told.append(f"{row.marking.name} is found in {_of(found)}: {more} more often, and it changes more.")
    return told


def _what_helps(result: Result) -> list[str]:
    row, most = result.taken, result.settings.sampling["max_new_tokens"]
    if _effect(row).found.rate >= NINE_IN_TEN:
        return []
    told = ["That is fewer than nine in ten."]
    if row.tokens < most / 2:
        told.append(f"Half of the texts end after {row.tokens:.0f} tokens or fewer, and short texts carry little.")
    strategy = row.marking.strategy
    helps = f"a larger --{strategy.traits.strength.name}" if strategy else ""
    if result.settings.sampling["temperature"]:
        helps = "a higher temperature or top-p"
        told.append(
            f"The model chooses each token with an entropy of {result.plain.entropy:.1f} nats; where it is sure of its "
            "next word, there is no room for a mark."
        )
    told.append(
        f"What helps: longer texts, {helps}, and tries, an option of ctwl-encode and Encoder.generate, which writes a "
        "faint text anew."
    )
    return told


def _how_sure(result: Result) -> str:
    times, count = result.recommendation.agreement, len(result.settings.prompts)
    told = f"In {round(RESAMPLES * times):,} of {RESAMPLES:,} resamples of the texts by prompt, the choice is the same"
    if times < _SURE:
        more = min(4 * result.settings.texts, MOST_TEXTS)
        advice = f": measure more texts (--texts {more})" if more > result.settings.texts else ""
        return f"{told}. That is a close call{advice}."
    if count < _ENOUGH_PROMPTS:
        texts = f"--texts {GROUP * _ENOUGH_PROMPTS}"
        advice = texts if result.settings.texts < GROUP * _ENOUGH_PROMPTS else "--prompt-file"
        few = f"{count} prompts are" if count > 1 else "one prompt is"
        return f"{told}. But {few} too few to be sure: give {_ENOUGH_PROMPTS} or more ({advice})."
    return f"{told}. It is sure for prompts like these, and says nothing of others."


def _budget(result: Result) -> list[str]:
    """Where the evidence of a text goes; nothing where nothing is drawn."""
    budget = _effect(result.taken).budget
    return [] if budget is None else in_words(budget, result.settings.nonces)


def _effect(row: Row) -> Effect:
    if row.effect is None:
        raise ValueError(f"{row.marking.name} is not marked")
    return row.effect


def _of(found: Share) -> str:
    return f"{found.successes} of {found.trials}"


def _interval(found: Share) -> str:
    return f"{100 * found.low:.0f} to {100 * found.high:.0f} %"


def _percent(value: Estimate) -> str:
    return "" if math.isnan(value.mean) else f"{100 * value.mean:.1f} %"


def _signed(value: Estimate) -> list[str]:
    if math.isnan(value.mean):
        return []
    return [f"{value.mean:+.3f}", f"{value.low:+.3f} to {value.high:+.3f}"]


def _needed(value: Needed, most: int) -> list[str]:
    tokens, low, high = (f"over {most}" if each is None else f"{each}" for each in value)
    return [tokens] if low == tokens == high else [tokens, f"{low} to {high}"]
