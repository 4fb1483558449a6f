"""The signed registry: who owns a provider code (spec section 9.6).

It says who owns a code, not that a text came from them: under a public profile anyone can write any code.
"""

from .append_only import check_append_only
from .display import held_text, summary
from .documents import REGISTRY, ROOT, Registry, Role, Root, Use
from .entries import CertificateEntry, Contact, Detector, ModelVersion, Name, ProviderCode, ProviderEntry, Url
from .envelope import Envelope
from .keys import public_bytes, read_key, write_key
from .store import OFFERED, bundled, load_trusted, read_file, trusted_with, update_trusted
from .workflow import Trusted, date

__all__ = [
    "OFFERED", "REGISTRY", "ROOT", "CertificateEntry", "Contact", "Detector", "Envelope", "ModelVersion", "Name",
    "ProviderCode", "ProviderEntry", "Registry", "Role", "Root", "Trusted", "Url", "Use", "bundled",
    "check_append_only", "date", "held_text", "load_trusted", "public_bytes", "read_file", "read_key", "summary",
    "trusted_with", "update_trusted", "write_key",
]  # fmt: skip
