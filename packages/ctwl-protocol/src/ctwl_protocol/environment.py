"""The environment variables that the commands read: each has its name and its meaning here, and nowhere else."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    """A variable of the environment; one that is set to nothing counts as not set."""

    name: str
    meaning: str

    def value(self) -> str | None:
        """What it is set to; None where it is not."""
        return os.environ.get(self.name) or None


PROFILE = Variable("CTWL_PROFILE", "the profile, where --profile names none")
CACHE = Variable(
    "CTWL_CACHE",
    "folder for what is unpacked once: of the offline profile's proxy LM 540 MB (default: ctwl in your cache folder)",
)
REGISTRY = Variable(
    "CTWL_REGISTRY", "folder of the registry that you follow (default: ctwl/registry in your data folder)"
)
PASSPHRASE = Variable("CTWL_PASSPHRASE", "opens files of keys and private profiles (default: asked for)")

PROXY = (PROFILE, CACHE, PASSPHRASE)
"""What opening a profile and its proxy LM may read."""
