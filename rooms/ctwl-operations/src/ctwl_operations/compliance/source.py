"""What figures come from: values in a file, by the file's digest and JSON pointers (RFC 6901)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctwl_encoder.errors import OptionOutOfRange


@dataclass(frozen=True)
class Source:
    """Where figures come from.

    Attributes:
        name: of the file, or of the files.
        digest: SHA-256 of each file, in hexadecimal.
        data: what it holds, as JSON has it.
        reads: the command or the file whose JSON the pointers lead into.
    """

    name: str
    digest: str
    data: Mapping[str, Any]
    reads: str

    def value(self, pointer: str) -> Any:
        """What stands at a place.

        Raises:
            OptionOutOfRange: there is nothing.
        """
        found: Any = self.data
        try:
            for part in pointer.removeprefix("/").split("/"):
                found = found[int(part)] if isinstance(found, list) else found[part]
        except (LookupError, TypeError, ValueError) as error:
            raise OptionOutOfRange(f"{self.name} has no {pointer}; give what {self.reads} prints") from error
        return found
