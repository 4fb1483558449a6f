"""Marks inside serving engines: what they share, and a folder for each. The README of the package has its parts."""
