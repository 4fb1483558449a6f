"""Decoding corpora: documents in, one row for each out."""

from .job import here, parts_of, scan
from .rows import Summary, decode_chunk, schema
from .work import Chunk, Decoded, Engine, Settings, Watch, Work

__all__ = [
    "Chunk", "Decoded", "Engine", "Settings", "Summary", "Watch", "Work", "decode_chunk", "here", "parts_of", "scan",
    "schema",
]  # fmt: skip
