"""Codes and records: beacon, layouts, slots, sealing (spec section 9)."""
