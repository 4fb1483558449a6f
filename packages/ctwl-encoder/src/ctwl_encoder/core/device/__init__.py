"""Marking where the logits are: ``unbiased`` and ``gumbel`` on a torch device (spec sections 8.3 to 8.5)."""
