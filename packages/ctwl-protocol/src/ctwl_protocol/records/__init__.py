"""Codes and records: beacon, layouts, slots, sealing (spec section 9)."""

from .beacon import BEACON_BITS, BEACON_FIELDS, NONCE_COUNT, Beacon
from .layouts import MAX_CODES, find_layout
from .record import Record

__all__ = ["BEACON_BITS", "BEACON_FIELDS", "MAX_CODES", "NONCE_COUNT", "Beacon", "Record", "find_layout"]
