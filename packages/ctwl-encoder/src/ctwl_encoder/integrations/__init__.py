"""The marker inside serving engines: what they share, and a folder for each."""
