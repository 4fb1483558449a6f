"""The text so far: a request may go on with a text whose beginning is the end of its prompt.

So does a plain completion, and a chat that continues its last message. Whoever asks for ten tokens again and again
would else get nothing but beginnings, which are not marked: a place needs a whole prefix before it. So such a request
is marked from its first token by what precedes it, and with the nonce that the text so far shows best.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.hashing import ranks_of
from ctwl_protocol.records.beacon import NONCE_COUNT
from ctwl_protocol.text.positions import positions

from .payload import Payload, Seeds

PROMPT_TOKENS = 128
"""Tokens of a prompt that are read, its last ones. Chosen by hand: so many that were marked show their nonce by far,
and prompts of one template differ in them. It takes some milliseconds."""


def likeliest_nonce(ids: NDArray[np.int64], payload: Payload, seeds: Seeds, nonces: int) -> int:
    """The nonce that a text so far shows best, of the first so many.

    A mark prefers low ranks. So the sum of ``-ln(rank)`` over the tokens (Fisher's method) is highest for the nonce
    that was written. If none was, the words of the text decide by chance. They name the same nonce again when the text
    goes on, so requests that continue one text soon agree.

    Args:
        ids: int64 (tokens,), the proxy's, of the text so far.
        payload: a single beacon, whose own nonce does not matter.
        seeds: of its profile.
        nonces: how many there are, 1 to 64: a reader looks for no other.
    """
    read = positions(ids, seeds.profile.prefix_length, seeds.profile.context_length)
    pairs = dict.fromkeys(zip(map(tuple, read.contexts.tolist()), read.observed.tolist(), strict=True))
    codes = np.array([with_nonce(payload, nonce).carried[0] for nonce in range(nonces)], dtype=np.uint32)
    tokens = np.array([token for _, token in pairs], dtype=np.int64)
    ranks = ranks_of(seeds.of_codes(codes, [context for context, _ in pairs]), tokens)
    return int(np.log(ranks + 0.5).sum(axis=1).argmin())


def with_nonce(payload: Payload, nonce: int) -> Payload:
    """A single beacon with another nonce."""
    (code,) = payload.carried
    return Payload((code - code % NONCE_COUNT + nonce,))
