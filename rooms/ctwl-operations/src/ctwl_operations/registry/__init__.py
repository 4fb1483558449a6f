"""What an operator needs to keep a registry: drafts, signatures, the command ``ctwl-registry``."""
