"""What a scan is asked for, and what its rows follow from."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from typing import Any

from ctwl_protocol import Profile, __version__
from ctwl_protocol.registry import Trusted, load_trusted

from ...options import ALPHA, beacon_codes, check_alpha
from .corpus import Columns

FORMAT = "ctwl-scan/4"
"""Version of the results' columns and metadata."""


@dataclass(frozen=True)
class Settings:
    """What a document's row follows from, besides the document and the proxy LM's arithmetic.

    Attributes:
        profile: the profile.
        alpha: level of each document's test.
        beacons: (provider, version) pairs whose codes are searched; None for the whole code space.
        columns: the fields that are read.
        screen: level of the screen: documents with a larger p-value by the light scores are read no further; None
            where all are.
        light: read by the light scores alone, which need no proxy LM.
        registry: which beacons and layouts are registered, and by whom.

    Raises:
        OptionOutOfRange, FieldOutOfRange: see :meth:`ctwl_decoder.Decoder.decode`.
        RegistryError: see :func:`ctwl_protocol.registry.load_trusted`.
    """

    profile: Profile
    alpha: float = ALPHA
    beacons: tuple[tuple[int, int], ...] | None = None
    columns: Columns = field(default_factory=Columns)
    screen: float | None = None
    light: bool = False
    registry: Trusted = field(default_factory=load_trusted, repr=False)

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if self.screen is not None:
            check_alpha(self.screen, "the screen's level")
        if self.beacons is not None:
            beacon_codes(self.profile, self.beacons)  # refuses beacons that do not exist

    @property
    def searched(self) -> int:
        """How many codes are searched."""
        return self.profile.codes if self.beacons is None else len(beacon_codes(self.profile, self.beacons))

    def document(self, arithmetic: str) -> dict[str, Any]:
        """Everything that rows follow from besides the documents, as JSON; the profile's key is not in it.

        Args:
            arithmetic: what the proxy LM computes in.
        """
        return {
            "format": FORMAT,
            "decoder": __version__,
            "profile": self.profile.name,
            "profile_digest": self.profile.digest,
            "arithmetic": arithmetic,
            "alpha": self.alpha,
            "beacons": None if self.beacons is None else [list(pair) for pair in sorted(set(self.beacons))],
            "searched": self.searched,
            "screen": self.screen,
            "light": self.light,
            "registry": hashlib.sha256(self.registry.registry_bytes).hexdigest(),
            "columns": asdict(self.columns),
        }
