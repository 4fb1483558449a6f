"""From a text to the positions that carry evidence: normalization, tokenization, positions (spec section 5)."""
