"""A provider's own detector as a service (spec section 20)."""
