"""The experiments: each asks a question, measures, and writes one result; all figures on the pages come from these."""
