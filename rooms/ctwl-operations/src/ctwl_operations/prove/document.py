"""The proof itself: a text, and the profile that reads it, key and all (spec section 4.6)."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from ctwl_decoder.errors import InputTooLarge, NotText
from ctwl_decoder.files import normalized
from ctwl_decoder.report import Report, why_none
from ctwl_protocol import Profile
from ctwl_protocol.errors import ProfileMalformed
from ctwl_protocol.profile.private import check_private
from ctwl_protocol.schema import Document

from ..errors import ProofMalformed, ProofUnfounded


class Proof(Document):
    """What an owner hands over. Everyone who reads it has the profile's key from then on.

    Attributes:
        format: version of this schema.
        profile: the canonical encoding of the profile that was committed to.
        text: the text that carries the code, normalized: a proof has one form, so nothing in it is left to choose.
        code: the code of its strongest span.
    """

    MALFORMED = ProofMalformed

    format: Literal["ctwl-proof/1"] = "ctwl-proof/1"
    profile: bytes
    text: Annotated[str, Field(min_length=1)]
    code: Annotated[int, Field(ge=0, lt=1 << 24)]

    @classmethod
    def of(cls, profile: Profile, text: str, report: Report) -> Self:
        """A proof of what the decoder of the certified profile found.

        Args:
            profile: the profile that was committed to.
            text: the text.
            report: on the text, under the certified profile.

        Raises:
            ProfileNotPrivate: a public profile proves nothing.
            ProofUnfounded: nothing was detected.
        """
        check_private(profile)
        if not report.detected or report.code is None:
            raise ProofUnfounded(
                f"the text carries no code of {report.profile} ({why_none(report)}), so there is nothing to prove; "
                "check that it is the right profile, and that its certified one marked the text"
            )
        return cls(profile=profile.to_bytes(), text=normalized(text), code=report.code)

    def to_bytes(self) -> bytes:
        """The canonical MessagePack.

        Raises:
            InputTooLarge: it has more bytes than are read.
        """
        data = super().to_bytes()
        if len(data) > self.MAX_BYTES:
            raise InputTooLarge(
                f"the proof would have {len(data)} bytes, and at most {self.MAX_BYTES} are read; "
                "prove a passage of the text"
            )
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a proof; whether it is good, :func:`verify` tells.

        Raises:
            ProofMalformed: these bytes are not a proof, or the profile in it is malformed.
        """
        found = super().from_bytes(data)
        try:
            one_form = found.opened().to_bytes(), normalized(found.text)
        except (NotText, ProfileMalformed) as error:
            raise ProofMalformed(f"this is not a proof: {error}; ask for the file anew") from error
        if one_form != (found.profile, found.text) or found.to_bytes() != data:
            raise ProofMalformed("the proof, its profile or its text is not in its one form; ask for the file anew")
        return found

    def opened(self) -> Profile:
        """The profile."""
        return Profile.from_bytes(self.profile)
