"""Verification of a proof, in the steps of spec section 4.6; the first that fails refuses it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctwl_decoder.files import normalized
from ctwl_decoder.options import ALPHA, check_alpha
from ctwl_decoder.report import format_p_value
from ctwl_decoder.words import say
from ctwl_protocol import Profile, get_profile, published_names
from ctwl_protocol.errors import ProfileMalformed, ProfileNotPrivate, ProofUncertified
from ctwl_protocol.profile.private import certificate_of, certified
from ctwl_protocol.registry import CertificateEntry, Registry, Trusted, date

from ..errors import ProofLate, ProofRefused, ProofTextDiffers, ProofUnfounded
from .document import Proof

if TYPE_CHECKING:
    from ctwl_decoder import Decoder

_SPENT = "Everyone who has read this proof holds its key: it proves nothing about texts that appear from now on."
_STEPS = ("registry", "profile", "date", "text", "code")


@dataclass(frozen=True)
class Step:
    """One step: its name, what was found in words, and the status code if that refuses the proof."""

    name: str
    words: str
    code: str | None = None


@dataclass(frozen=True)
class Verification:
    """The outcome of all steps; after a refusal, none was done.

    Attributes:
        steps: in order.
        owner: for whom the profile was certified; None if for nobody.
        binding: whether the registry is for production; one for tests binds nobody.
        appeared: the instant before which the profile had to be certified, Unix seconds.
    """

    steps: tuple[Step, ...]
    owner: str | None
    binding: bool
    appeared: int

    @property
    def verified(self) -> bool:
        """Whether every step was passed."""
        return self.steps[-1].code is None

    def __str__(self) -> str:
        """The verdict first, then the steps."""
        if (refusal := self.steps[-1].code) is not None:
            verdict = f"Not verified: {refusal}."
        else:
            verified = "Verified" if self.binding else "Verified, but in a test registry, which binds nobody"
            before = f"that {self.owner} had certified before {date(self.appeared)}"
            verdict = f"{verified}: the text carries a code under a key {before}."
        lines = [f"{step.name:<10} {'no: ' if step.code else ''}{step.words}" for step in self.steps]
        return "\n".join([verdict, *lines, _SPENT])


def verify(
    proof: Proof,
    trusted: Trusted,
    appeared: int,
    open_decoder: Callable[[Profile], Decoder],
    *,
    text: str | None = None,
    alpha: float = ALPHA,
) -> Verification:
    """Check a proof.

    Args:
        proof: the proof.
        trusted: the registry, verified.
        appeared: when the text appeared, in Unix seconds, as the verifier knows it; a proof cannot say it.
        open_decoder: opens a decoder of the certified profile, in the reference arithmetic, as on the device "cpu":
            owner and verifier must compute the same.
        text: the text in question; where None, the verdict is about the text in the proof.
        alpha: level of the test, on the p-value times the keys that the owner had certified.

    Raises:
        OptionOutOfRange: alpha.
        CTWLError: the decoder cannot be opened.
    """
    check_alpha(alpha)
    profile, registry = proof.opened(), trusted.registry
    passed = [trusted.label(int(time.time()))]
    certificate: CertificateEntry | None = None
    refused: tuple[Step, ...] = ()
    try:
        certificate = certificate_of(profile, registry)
        marking = certified(profile, certificate.challenge)
        passed.append(f"{profile.name}, certified for {certificate.owner} as {certificate.commitment.hex()[:16]}...")
        passed.append(_early(certificate, appeared))
        passed.append(_same(proof.text, text))
        keys = _certificates(registry, certificate.owner, appeared)
        passed.append(_carried(proof, open_decoder(marking), keys, alpha))
    except (ProofRefused, ProofUncertified, ProfileNotPrivate, ProfileMalformed) as refusal:
        refused = (Step(_STEPS[len(passed)], str(refusal), refusal.code),)
    steps = tuple(Step(name, words) for name, words in zip(_STEPS, passed, strict=False))
    owner = certificate.owner if certificate else None
    return Verification(steps + refused, owner, trusted.use == "production", appeared)


def has_public_proxy(profile: Profile) -> bool:
    """Whether a profile's proxy is a published one's, so that its source may be trusted to fetch it from."""
    return profile.proxy in [get_profile(name).proxy for name in published_names()]


def _early(certificate: CertificateEntry, appeared: int) -> str:
    """Step 2: the key was fixed before anybody could choose it to fit the text."""
    if certificate.since >= appeared:
        raise ProofLate(
            f"the profile was certified on {date(certificate.since)}, not before the text appeared on "
            f"{date(appeared)}; the owner could have had keys certified until one fitted"
        )
    return f"certified on {date(certificate.since)}, before {date(appeared)}"


def _same(proved: str, asked: str | None) -> str:
    """Step 3: it is the text in question; texts that normalization makes equal are one."""
    if asked is None:
        start = "".join(letter if letter.isprintable() else " " for letter in proved[:60])
        return f'compared with none: the verdict is about the text in the proof, "{start}..."'
    if normalized(asked) != proved:
        raise ProofTextDiffers("the text in the proof is not the given one; ask for a proof of the given text")
    return "the given one"


def _carried(proof: Proof, decoder: Decoder, keys: int, alpha: float) -> str:
    """Step 4: decoded anew, the text carries the code, also beyond the chances that all the owner's keys had."""
    report = decoder.decode(proof.text, alpha=alpha / keys, score="whole")
    charged = f"{keys} certified key" + ("s" if keys > 1 else "")
    words = f"p = {format_p_value(min(1.0, report.p_value * keys))}: {format_p_value(report.p_value)} times {charged}"
    if not report.detected:
        hope = say("held-e-value") if report.p_value <= report.alpha else "A longer text may"
        raise ProofUnfounded(f"the text does not show a code clearly enough, {words}. {hope}")
    if proof.code not in {span.code for span in report.spans}:
        raise ProofUnfounded(f"the text carries the code {report.code}, and the proof is of {proof.code}")
    return f"{proof.code}, {words}"


def _certificates(registry: Registry, owner: str, appeared: int) -> int:
    """How many profiles an owner had certified in time; each is a chance to find a code in any text."""
    return sum(entry.since < appeared for entry in registry.certificates_of(owner))
