"""Asking providers' own detectors."""
