"""The errors of proofs; each derives from :class:`ctwl_decoder.DecoderError`."""

from __future__ import annotations

from ctwl_decoder import DecoderError


class ProofMalformed(DecoderError):
    """The bytes are not a proof."""


class ProofRefused(DecoderError):
    """Base of the reasons for which a proof is refused."""


class ProofLate(ProofRefused):
    """The proof's profile was certified when the text was known already."""


class ProofTextDiffers(ProofRefused):
    """The proof is of another text than the one in question."""


class ProofUnfounded(ProofRefused):
    """The text does not carry the proof's code clearly enough."""
