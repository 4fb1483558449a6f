"""``ctwl-profile``: private profiles, made like a published one or from a provider's own model (spec section 4.5)."""
