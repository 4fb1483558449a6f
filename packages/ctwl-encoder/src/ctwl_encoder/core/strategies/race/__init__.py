"""``race``: all tokens run a race; the code decides a share of it, chance the rest (spec section 8.3)."""

from ..traits import Strength, Traits
from .shares import COLDEST_SHARE, LEAST_SHARE, MOST_SHARE, SHARE, share_for

TRAITS = Traits(
    "keeps the model's distribution, for sampling",
    price="no probability, on average over codes; the larger the share, the more alike are texts with one nonce",
    strength=Strength(
        "share",
        "the part of the chance in each draw that the code decides. With more a shorter text is found, with less texts "
        f"of one prompt vary more (default: {SHARE + 1:g} less the temperature, from {SHARE:g} to {COLDEST_SHARE:g})",
        bounds={"ge": LEAST_SHARE, "le": MOST_SHARE},
        default=share_for,
        step=0.2,
        digits=2,
    ),
    keeps_distribution=True,
    score="race",
    bits_per_token=0.8,  # evaluation/reading/models.py finds texts of somewhat fewer tokens than this says
    # Fitted by hand, the first to 96 news items of Qwen2.5-Coder-0.5B-Instruct at T = 1 and 0.7, the second to 64
    # answers of SmolLM2-135M; evaluation/reading/models.py measures on other texts what comes of it.
    reader_share=(0.37, 0.8),
)
