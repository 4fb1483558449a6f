"""What many texts are read for, and what their rows follow from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctwl_decoder.errors import OptionOutOfRange
from ctwl_decoder.options import ALPHA, SCREEN, beacon_codes, check_alpha
from ctwl_protocol import Profile, __version__, get_profile
from ctwl_protocol.profile import has_public_key, read_by_default
from ctwl_protocol.registry import Trusted, load_trusted


@dataclass(frozen=True)
class Settings:
    """What a text's row follows from, besides the text and the proxy LM's arithmetic.

    Attributes:
        profiles: the profiles, or their names or files; None for all published ones. Each text is read by each of them,
            and the p-values pay for all. Of published ones that nobody named nothing is fetched, and those whose proxy
            LM is not here are read by the light scores.
        alpha: level of each text's test.
        beacons: (provider, version) pairs whose codes are searched; None for those of all registered providers, or for
            all codes where the profile has a private key.
        all_codes: search the whole code space.
        screen: level of the screen: texts with a larger p-value by the light scores are read no further; None where all
            are.
        light: read by the light scores alone, which need no proxy LM.
        p_values: give screened texts a p-value, too: the light reading's, which is larger than the screen's level.
        registry: which beacons and layouts are registered, and by whom.

    Raises:
        OptionOutOfRange, FieldOutOfRange: see :meth:`ctwl_decoder.Decoder.decode`; or beacons beside ``all_codes``.
        ProfileUnknown: see :func:`ctwl_protocol.get_profile`.
        RegistryError: see :func:`ctwl_protocol.registry.load_trusted`.
    """

    profiles: Sequence[str | Path | Profile] | None = None
    alpha: float = ALPHA
    beacons: Sequence[tuple[int, int]] | None = None
    all_codes: bool = False
    screen: float | None = SCREEN
    light: bool = False
    p_values: bool = False
    registry: Trusted = field(default_factory=load_trusted, repr=False)

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if self.screen is not None:
            check_alpha(self.screen, "the screen's level")
        if self.beacons is not None and self.all_codes:
            raise OptionOutOfRange(
                "--beacon (beacons) and --all-codes (all_codes) exclude each other; give one of them"
            )
        if isinstance(self.profiles, (str, Path)) or (self.profiles is not None and not self.profiles):
            raise OptionOutOfRange("name the profiles in a list of one or more")
        if self.profiles is not None:
            named = dict.fromkeys(get_profile(profile) for profile in self.profiles)
            object.__setattr__(self, "profiles", tuple(named))
        for profile in self.read_by:
            self.searched(profile)

    @property
    def read_by(self) -> tuple[Profile, ...]:
        """The profiles."""
        return tuple(map(get_profile, read_by_default() if self.profiles is None else self.profiles))

    def beacons_of(self, profile: Profile) -> Sequence[tuple[int, int]] | None:
        """The beacons whose codes are searched by a profile; None for the whole code space."""
        if self.all_codes or (self.beacons is None and not has_public_key(profile)):
            return None
        return self.registry.registry.beacons() if self.beacons is None else self.beacons

    def searched(self, profile: Profile) -> int:
        """How many codes are searched by a profile.

        Raises:
            OptionOutOfRange, FieldOutOfRange: the profile has no such beacons.
        """
        beacons = self.beacons_of(profile)
        return profile.codes if beacons is None else len(beacon_codes(profile, beacons, self.registry.registry))

    def document(self, arithmetic: str) -> dict[str, Any]:
        """Everything that rows follow from besides the texts, as JSON; no profile's key is in it.

        Args:
            arithmetic: what the proxy LMs compute in.
        """
        return {
            "decoder": __version__,
            "profiles": {profile.name: profile.digest for profile in self.read_by},
            "arithmetic": arithmetic,
            "alpha": self.alpha,
            "beacons": None if self.beacons is None else sorted(map(list, set(self.beacons))),
            "searched": [self.searched(profile) for profile in self.read_by],
            "screen": self.screen,
            "light": self.light,
            "p_values": self.p_values,
            "registry": hashlib.sha256(self.registry.registry_bytes).hexdigest(),
        }
