"""Evidence, scores and their exact null distribution (spec sections 10 and 12)."""
