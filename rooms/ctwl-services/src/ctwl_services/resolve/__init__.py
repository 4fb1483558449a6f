"""``ctwl-decode resolve``: from a code to its provider, and to the provider's own detector (spec section 9.8)."""
