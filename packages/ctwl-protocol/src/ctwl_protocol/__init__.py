"""CTWL: the open watermark protocol. The profile, hash scheme, partition and codes that both sides share.

Importing this package needs neither torch nor numba; :mod:`ctwl_protocol.proxy` says what it needs.
"""

from .errors import CTWLError
from .profile import STANDARD, Profile, get_profile, published_names
from .profile.lookup import load_profile
from .records.beacon import Beacon

__all__ = ["STANDARD", "Beacon", "CTWLError", "Profile", "get_profile", "load_profile", "published_names"]

__version__ = "1.0.0rc1"  # the one home of the version: all packages have it, and pin each other to it
