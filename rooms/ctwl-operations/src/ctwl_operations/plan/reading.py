"""What a reader finds of a text, and from how many tokens on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ctwl_decoder import Decoder

if TYPE_CHECKING:
    from ctwl_protocol.proxy import Proxy


class Reader:
    """Reads texts as the public decoder does by default."""

    def __init__(self, proxy: Proxy) -> None:
        """Make a decoder of a proxy LM."""
        self._decoder = Decoder(proxy)

    def found_at(self, cut: Callable[[int], str], code: int, lengths: Sequence[int]) -> int | None:
        """The shortest of some lengths at which a code is found; None where it is not found in the whole text.

        A text that is cut short says less, so the length is found by halving.

        Args:
            cut: gives the text's first tokens.
            code: what the text carries.
            lengths: in tokens, ascending; the last one is the whole text's.
        """

        def found(length: int) -> bool:
            return self._decoder.decode(cut(length)).code == code

        if not lengths or not lengths[-1] or not found(lengths[-1]):
            return None
        return lengths[bisect_left(lengths, True, hi=len(lengths) - 1, key=found)]
