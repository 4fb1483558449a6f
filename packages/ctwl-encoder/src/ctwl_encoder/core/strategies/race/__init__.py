"""``race``: all tokens run a race; the code decides a share of it, chance the rest (spec section 8.3)."""

from ..traits import Traits
from .shares import STRENGTH

__all__ = ["TRAITS"]

TRAITS = Traits(
    "keeps the model's distribution, for sampling",
    price="no probability, on average over codes; the larger the share, the more alike are texts with one nonce",
    strength=STRENGTH,
    keeps_distribution=True,
    bits_per_token=0.8,  # evaluation/reading/models.py finds texts of somewhat fewer tokens than this says
    # Fitted by hand, the first to 96 news items of Qwen2.5-Coder-0.5B-Instruct at T = 1 and 0.7, the second to 64
    # answers of SmolLM2-135M; evaluation/reading/models.py measures on other texts what comes of it.
    reader_share=(0.37, 0.8),
)
