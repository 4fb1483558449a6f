"""``gumbel``: a race of all tokens, which the code decides, gives the whole mass to its winner (spec section 8.4)."""

from ..traits import Traits
from .reference import exponential_minimum

__all__ = ["TRAITS"]

TRAITS = Traits(
    "keeps it too and is the clearest in short or predictable texts, but texts of one prompt and one nonce are alike",
    factors=exponential_minimum,
    bits_per_token=1.0,  # less than evaluation/reading/entropy.py found
    ranks=True,
    draws=True,
)
