"""Scan: decode a corpus, documents in and one row for each out. All but ``command`` needs the extra ``[scan]``."""
