"""What each token of the provider's model does after a text all of which is settled, for all tokens at once."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bridge import Bridge, text_alone
from .written import MAX_TAIL, Kind, kind


class Alone(NamedTuple):
    """The tokens' steps, as :func:`.written.grow` makes them.

    Attributes:
        tokens: int32, proxy tokens, those of one token of the model behind those of another.
        bounds: int32 (size, 3): where a token's begin, where its tail begins, and where they end.
        last: int8 (size,), the kind of its last character; -1 where a step is not told here, because it takes more than
            a look: bytes that are no whole character, or white space at the end.
    """

    tokens: NDArray[np.int32]
    bounds: NDArray[np.int32]
    last: NDArray[np.int8]


def steps_alone(bridge: Bridge) -> Alone:
    """Tokenize all tokens: a second or two for 150,000."""
    texts = [text_alone(data) or "" for data in bridge.vocabulary]
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    ends = lengths.cumsum()
    characters, places = np.unique(np.frombuffer("".join(texts).encode("utf-32-le"), "<u4"), return_inverse=True)
    kinds = np.array([kind(chr(character)) for character in characters.tolist()], dtype=np.int8)[places]
    cuts = np.zeros(len(kinds), dtype=np.int64)
    cuts[1:] = np.where(bridge.breaks[kinds[:-1], kinds[1:]], np.arange(1, len(kinds)), 0)
    some = lengths > 0
    first = (ends - lengths)[some]
    cuts[first] = 0
    cut = np.zeros(len(texts), dtype=np.int64)
    cut[some] = np.maximum(np.maximum.reduceat(cuts, first) - first, 0)
    last = np.full(len(texts), -1, dtype=np.int8)
    last[some] = kinds[ends[some] - 1]
    last[np.isin(last, (Kind.SPACE, Kind.WHITE)) | (lengths > MAX_TAIL)] = -1
    last[["\r" in text for text in texts]] = -1
    encode = bridge.proxy.tokenizer.encode_within
    whole, rest = encode(texts), encode([text[at:] for text, at in zip(texts, cut.tolist(), strict=True) if at])
    counts = np.array([len(ids) for ids in whole], dtype=np.int64)
    tails = counts.copy()
    tails[cut > 0] = [len(ids) for ids in rest]
    stop = counts.cumsum()
    tokens = np.fromiter(chain.from_iterable(whole), dtype=np.int32, count=int(counts.sum()))
    return Alone(tokens, np.stack([stop - counts, stop - tails, stop], axis=1).astype(np.int32), last)
