"""``race``: all tokens run a race; the code decides a share of it, chance the rest (spec section 8.3)."""

from ..traits import Traits

__all__ = ["TRAITS"]

TRAITS = Traits(
    "keeps the model's distribution, for sampling",
    price="no probability, on average over codes; the larger the share, the more alike are texts with one nonce",
    strength="share",
    keeps_distribution=True,
    bits_per_token=0.8,  # 20 bits and the level in 52 tokens; evaluation/reading/models.py finds them in fewer
)
