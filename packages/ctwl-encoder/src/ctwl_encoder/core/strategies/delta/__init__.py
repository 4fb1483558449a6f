"""``delta``: adds to the logits of the members of ``V``, as the proxy LM has it (spec section 8.2; equation 7)."""

from ..traits import Strength, Traits

TRAITS = Traits(
    "adds to logits, for any way of decoding",
    price="quality; it grows with the number",
    strength=Strength(
        "delta",
        "nats that are added to the logits of the code's half",
        # Chosen by hand: e^100 times the probability leaves nothing to the other tokens, and does not overflow.
        bounds={"gt": 0, "le": 100},
        default=2.0,
        step=1.0,
    ),
    keeps_distribution=False,
    score="half",
    bits_per_token=0.18,  # at 2 nats, greedily too (evaluation/reading/entropy.py measures it)
    reader_share=(0.77, 0.77),  # its halves are the proxy's own; fitted by hand to 64 answers of SmolLM2-135M
)
