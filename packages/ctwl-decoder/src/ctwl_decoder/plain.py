"""Plain text out of bytes from anywhere."""

from __future__ import annotations

from .errors import NotText

__all__ = ["text_of"]


def text_of(data: bytes, name: str) -> str:
    """The text in bytes that should be UTF-8.

    Raises:
        NotText: they are not, or hold zero bytes.
    """
    if b"\0" in data:
        raise NotText(f"{name} holds zero bytes, so it is a binary file; save it as plain UTF-8 text first")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise NotText(
            f"{name} is no UTF-8 text (byte {error.start} is 0x{data[error.start]:02x}); save it as UTF-8 first"
        ) from error
