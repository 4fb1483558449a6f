"""``unbiased``: of the model's mass at a place, the half that ranks first is kept and doubled (spec section 8.3)."""

from ..traits import Traits
from .reference import keep_first_half

__all__ = ["TRAITS"]

TRAITS = Traits(
    "keeps the model's distribution and needs sampling",
    factors=keep_first_half,
    sigma=(1, 2),  # with another, the split would not average out
)
