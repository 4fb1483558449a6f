"""What a reader finds of a text, and from how many tokens on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ctwl_encoder.core.expected_evidence import READERS_LEVEL
from ctwl_encoder.errors import needing

if TYPE_CHECKING:
    from ctwl_protocol.proxy import Proxy


def check_decoder() -> None:
    """Refuse to go on without the decoder: ExtraMissing."""
    with needing("plan", "plan, which reads the texts that it writes,"):
        import ctwl_decoder  # noqa: F401


class Reader:
    """Reads texts as the public decoder does by default."""

    def __init__(self, proxy: Proxy) -> None:
        """Make a decoder of a proxy LM.

        Raises:
            ExtraMissing: see :func:`check_decoder`.
        """
        check_decoder()
        from ctwl_decoder import Decoder

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
            return self._decoder.decode(cut(length), alpha=READERS_LEVEL).code == code

        if not lengths or not lengths[-1] or not found(lengths[-1]):
            return None
        return lengths[bisect_left(lengths, True, hi=len(lengths) - 1, key=found)]
