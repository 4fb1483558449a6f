"""What operators do around marked texts: choose a strategy, audit a log, keep a registry, prove a private code."""
