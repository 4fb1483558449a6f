"""The signed registry: who owns a provider code (spec section 9.6).

It says who owns a code, not that a text came from them: under a public profile anyone can write any code.
"""

from .documents import Registry, Role, Root
from .envelope import Envelope
from .store import bundled, load_trusted, update_trusted
from .workflow import Trusted

__all__ = ["Envelope", "Registry", "Role", "Root", "Trusted", "bundled", "load_trusted", "update_trusted"]
