"""The variants of a text as proxy tokens and positions (spec section 10, steps 1 to 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.profile.document import Profile
from ctwl_protocol.proxy.tokenizer import ProxyTokenizer
from ctwl_protocol.text.positions import Positions, positions

from ..errors import InputTooLarge, NotText
from ..options import MAX_CHARACTERS, MAX_TOKENS
from .input import has_surrogates
from .variants import characters_in, variants_of


@dataclass(frozen=True, eq=False)
class TokenizedVariant:
    """One variant of a text, cut into tokens and positions.

    Attributes:
        name: what was done to the text.
        text: the normalized text.
        ids: int64 (tokens,), its proxy tokens.
        starts: int64 (tokens + 1,), the place of each token, and of the end, in the text as given.
        positions: its positions.
        variants: how many variants the text has, which share the level.
    """

    name: str
    text: str
    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    positions: Positions
    variants: int

    @property
    def tokens(self) -> int:
        """How many proxy tokens it has."""
        return len(self.starts) - 1


def tokenize_variants(
    text: str, tokenizer: ProxyTokenizer, profile: Profile, max_tokens: int = MAX_TOKENS
) -> list[TokenizedVariant]:
    """The text as given, and perhaps a second variant, as tokens and positions.

    Raises:
        TypeError: the text is no ``str``.
        InputTooLarge: it has more than ``MAX_CHARACTERS`` besides pictures, or a variant more than ``max_tokens``.
        NotText: it has lone surrogates, or too many combining marks, see
            :func:`ctwl_decoder.text.alignment.normalize_aligned`.
    """
    if not isinstance(text, str):
        raise TypeError(f"a text is a str, not {type(text).__name__}; decode its bytes as UTF-8 first")
    if len(text) > MAX_CHARACTERS and (characters := characters_in(text)) > MAX_CHARACTERS:
        raise InputTooLarge(
            f"the text has {characters:,} characters, and at most {MAX_CHARACTERS:,} are read at once; cut it"
            " into parts"
        )
    if has_surrogates(text):
        raise NotText("the text has lone surrogates, so it is not Unicode text; decode its bytes as UTF-8 first")
    variants = variants_of(text)
    tokenized = []
    for name, variant in variants:
        ids, starts = tokenizer.locate(variant.text)
        if len(ids) > max_tokens:
            raise InputTooLarge(
                f"the text has {len(ids):,} tokens, and at most {max_tokens:,} are allowed here; cut it into parts"
            )
        places = variant.source[np.append(starts, len(variant.text))]
        cut = positions(ids, profile.prefix_length, profile.context_length)
        tokenized.append(TokenizedVariant(name, variant.text, ids, places, cut, len(variants)))
    return tokenized
