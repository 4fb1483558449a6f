"""RTF, by striprtf; pictures and objects in it are not read."""

from __future__ import annotations

from ..errors import needing


def words_of(text: str) -> str:
    """The words of an RTF document.

    Raises:
        ExtraMissing: striprtf is not installed.
    """
    with needing("documents", "RTF"):
        from striprtf import striprtf
    return str(striprtf.rtf_to_text(text, errors="ignore")).strip()
