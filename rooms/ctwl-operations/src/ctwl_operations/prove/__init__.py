"""Certified proofs: a private profile's code, shown to others and checked by them (spec section 4.6)."""

from .document import Proof
from .verification import Step, Verification, verify

__all__ = ["Proof", "Step", "Verification", "verify"]
