"""The token bridge: from the vocabulary of a model to the proxy's (spec section 8.5)."""

from .bridge import Branch, Bridge
from .continuations import Path
from .vocabulary import Vocabulary, check_reachable, read_vocabulary
from .written import Written

__all__ = ["Branch", "Bridge", "Path", "Vocabulary", "Written", "check_reachable", "read_vocabulary"]
