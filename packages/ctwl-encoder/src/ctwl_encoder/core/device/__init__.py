"""Marking where the logits are, on a torch device (spec sections 8.2 to 8.5)."""
