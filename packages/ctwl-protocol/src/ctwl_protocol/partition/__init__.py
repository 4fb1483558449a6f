"""The partition of the vocabulary: the reference, a faster way to all members, the toy weights (spec section 7)."""
