"""What one file may still cost, over all that is unpacked from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from ctwl_decoder.errors import DocumentRefused
from ctwl_decoder.words import said

from . import limits

_CHUNK = 1 << 16


class OverBudget(DocumentRefused):
    """The whole file would cost too much, so none of it is read."""

    code = DocumentRefused.code


@dataclass
class Budget:
    """What may still be unpacked.

    Attributes:
        unpacked: bytes.
        members: parts of archives and mails.
        words: characters of words.
    """

    unpacked: int = limits.UNPACKED
    members: int = limits.MEMBERS
    words: int = limits.WORDS

    def check(self, size: int) -> None:
        """Check that so many bytes may still be unpacked.

        Raises:
            OverBudget: they may not.
        """
        if size > self.unpacked:
            raise OverBudget(said("reason-large"))

    def unpack(self, stream: IO[bytes], packed: int) -> bytes:
        """The whole of a stream that is unpacked as it is read, of so many packed bytes.

        Raises:
            OverBudget: it is more than may be unpacked, or than a sound file unpacks to.
        """
        found = bytearray()
        while chunk := stream.read(_CHUNK):
            found += chunk
            if len(found) > max(limits.SMALL, limits.RATIO * packed):
                raise OverBudget(said("reason-bomb"))
            self.check(len(found))
        self.unpacked -= len(found)
        return bytes(found)

    def count(self) -> None:
        """Count a part.

        Raises:
            OverBudget: there are too many.
        """
        self.members -= 1
        if self.members < 0:
            raise OverBudget(said("reason-parts"))
