"""The marker: from the distributions of any model to distributions that carry a record (spec section 8)."""
