"""``delta``: adds to the logits of the members of ``V``, as the proxy LM has it (spec section 8.2; equation 7)."""

from ..traits import Traits

__all__ = ["TRAITS"]

TRAITS = Traits(
    "adds to logits, for any way of decoding",
    price="quality; it grows with the number",
    strength="delta",
    keeps_distribution=False,
    bits_per_token=0.18,  # 195 tokens for one code at 2 nats, greedily too (evaluation/reading/entropy.py has 200)
)
