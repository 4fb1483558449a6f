"""The partition of the vocabulary: the NumPy reference, the compiled kernel, the toy weights (spec section 7)."""
