"""Where in a text is which code: candidates, windows, records, spans (spec section 10)."""
