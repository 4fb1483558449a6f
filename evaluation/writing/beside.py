"""Does the code stand beside a provider's own secret watermark in one text?

Texts from news prompts: by each watermark alone, and by ``race`` together with each secret watermark, which runs
behind it or ahead of it (``shared/secret_marks.py`` says which they are, and how each is read). Each watermark is read
by its own detector, in whole texts and in their first tokens:

- the code: by the decoder at its default level, light first, with the right code;
- the secret watermark: by its detector, at the same level.

The p-values of the secret watermarks' detectors are checked on texts that do not have them, plain ones and those by
``race``, each text with keys of its own: small values must not be more frequent than in a uniform distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ctwl_decoder import Decoder

from ..shared.experiment import SAMPLED, Options, Result, experiment, tracked
from ..shared.measures import beside, rate, small_p_values
from ..shared.outcomes import LEVEL
from ..shared.readers import first_tokens, reader
from ..shared.secret_marks import SECRET
from ..shared.texts import PROVIDER, VERSION, Recipe, Text, Writer, mean_nll

SECRET_LENGTHS = (50, 100, 200)
CODE_LENGTHS = (100, 200)
"""Below about 100 tokens ``race`` is not found, beside another watermark or alone."""

SETTINGS: list[dict[str, Any]] = [
    {"method": "race"},
    *({"method": "plain", "behind": name} for name in SECRET),
    *({"method": "race", "behind": name} for name in SECRET),
    *({"method": strategy.value, "ahead": name} for strategy in SAMPLED for name in ("KGW", "SynthID-Text")),
]
"""What is written, at T = 1. Behind vLLM's Gumbel there is nothing to choose, so it is never ahead."""


def codes_found(decoder: Decoder, texts: Sequence[Text], lengths: Sequence[int]) -> dict[str, Any]:
    """In how many texts the decoder finds the right code in the first so many tokens."""
    right = {
        length: sum(
            decoder.decode(first_tokens(decoder.tokenizer, text.text, length)).code == text.code for text in texts
        )
        for length in lengths
    }
    return {str(length): rate(count, len(texts)) for length, count in right.items()}


def secrets_found(writer: Writer, name: str, texts: Sequence[Text], lengths: Sequence[int]) -> dict[str, Any]:
    """In how many texts the detector of a secret watermark finds it in the first so many tokens."""
    mark, ids = writer.secret(name), [writer.encoder.tokenizer.encode(text.text) for text in texts]
    return {
        str(length): rate(sum(mark.p_value(each[:length]) <= LEVEL for each in ids), len(ids)) for length in lengths
    }


def without(writer: Writer, name: str, texts: Sequence[Text], keys: int) -> dict[str, Any]:
    """The p-values of a detector on texts that do not have its watermark, each under keys that no other text has."""
    ids = [writer.encoder.tokenizer.encode(text.text) for text in texts]
    values = np.array(
        [writer.secret(name, keys * i + k + 1).p_value(each) for i, each in enumerate(ids) for k in range(keys)]
    )
    return {"p-values": len(values)} | small_p_values(values, (0.1, 0.01, 1e-3, LEVEL))


@experiment(
    quick={"texts": 2, "ahead": 2, "tokens": 100, "keys": 1}, texts=60, ahead=30, tokens=200, keys=4, seed=1, batch=30
)
def main(options: Options) -> Result:
    """Run the experiment."""
    lengths, shorter = (
        [length for length in each if length <= options.tokens] for each in (CODE_LENGTHS, SECRET_LENGTHS)
    )
    writer = Writer()
    decoder = reader(writer.proxy)
    common = {"tokens": options.tokens, "provider": PROVIDER, "version": VERSION, "seed": options.seed}
    recipes = [Recipe(**common, batch=options.batch, **setting) for setting in SETTINGS]
    plain = writer.texts(Recipe("plain", **common, batch=options.batch), options.texts)
    rows: list[dict[str, Any]] = []
    for recipe in tracked(recipes, "settings"):
        secret = recipe.ahead or recipe.behind
        texts = writer.texts(recipe, options.ahead if recipe.ahead else options.texts)
        row: dict[str, Any] = {"code": recipe.method, "secret": secret, "secret is ahead": bool(recipe.ahead)}
        if recipe.method != "plain":
            row["code found"] = codes_found(decoder, texts, lengths)
        if secret:
            row["secret found"] = secrets_found(writer, secret, texts, shorter)
        rows.append(row | {"texts": len(texts), "NLL": beside(mean_nll(texts), mean_nll(plain[: len(texts)]))})
    unmarked = plain + writer.texts(recipes[0], options.texts)
    return {
        "rows": rows,
        "without the watermark": {name: without(writer, name, unmarked, options.keys) for name in SECRET},
    }


if __name__ == "__main__":
    main()
