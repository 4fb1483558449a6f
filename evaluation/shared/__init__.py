"""What the experiments share: what an experiment is, texts, readers, measures, models, other schemes."""
