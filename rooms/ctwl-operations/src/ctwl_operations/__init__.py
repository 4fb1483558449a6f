"""What operators do around marked texts: plan, audit, keep a registry, make private profiles, prove their codes."""
