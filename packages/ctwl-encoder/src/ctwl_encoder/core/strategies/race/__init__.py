"""``race``: all tokens run a race; the code decides a share of it, chance the rest (spec section 8.3)."""

from ..traits import Traits

__all__ = ["TRAITS"]

TRAITS = Traits(
    "keeps the model's distribution, for sampling",
    keeps_distribution=True,
    bits_per_token=0.8,  # 20 bits and the level in 52 tokens; evaluation/reading/models.py finds them in fewer
)
