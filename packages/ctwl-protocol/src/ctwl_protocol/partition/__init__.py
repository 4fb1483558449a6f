"""The partition of the vocabulary: the reference, and the toy weights (spec section 7)."""
