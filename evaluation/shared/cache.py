"""What is made once and kept on disk: texts, and what the proxy LM says of them.

They are nearly the whole cost. So an experiment that was stopped goes on where it was, experiments share texts, and
another score or decoder reads the same texts in a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray

import ctwl_encoder
import ctwl_protocol.hashing
import ctwl_protocol.partition
import ctwl_protocol.proxy
import ctwl_protocol.text.blocks
from ctwl_protocol.proxy import Proxy, Rivals

from .experiment import RESULTS

KEPT = joblib.Memory(RESULTS.parent / "kept", verbose=0)
"""Where it is kept; not part of the repository."""

T = TypeVar("T")

_WRITERS = ("cache", "prompts", "texts", "secret_marks", "transplant")
"""The modules beside this one on which texts depend."""


@cache
def digest(*parts: ModuleType | Path) -> str:
    """One digest of modules and files. A package stands for all its modules."""
    paths = [part if isinstance(part, Path) else Path(part.__file__ or "") for part in parts]
    files = [
        file for path in paths for file in (sorted(path.parent.rglob("*.py")) if path.stem == "__init__" else [path])
    ]
    return sha256(b"".join(sha256(file.read_bytes()).digest() for file in files)).hexdigest()


def sources(*more: str) -> str:
    """A digest of what a text depends on beside its options: the code that writes it, and the libraries underneath.

    Args:
        *more: files of the experiment's own that decide what is written or how it is edited.
    """
    own = [Path(__file__).with_name(f"{name}.py") for name in _WRITERS]
    code = digest(ctwl_protocol, ctwl_encoder, *own, *map(Path, more))
    return f"{code} {_versions('torch', 'transformers', 'tokenizers')}"


def _versions(*names: str) -> str:
    return " ".join(metadata.version(name) for name in names)


@KEPT.cache(ignore=["make"])  # type: ignore[untyped-decorator]
def _made(decided: tuple[object, ...], make: Callable[[], Any]) -> Any:  # noqa: ARG001  # it is looked up
    return make()


def recalled(make: Callable[[], T], *decided: object) -> T:
    """What a function makes, made once for all that decides it, and kept on disk."""
    found: T = _made(decided, make)
    return found


def kept_rivals(proxy: Proxy, ids: NDArray[np.int64]) -> Rivals:
    """The rivals of a text of these proxy tokens, kept. The proxy LM computes in the reference arithmetic."""
    code = digest(ctwl_protocol.proxy, ctwl_protocol.partition, ctwl_protocol.hashing, ctwl_protocol.text.blocks)
    decided = proxy.profile.digest, _versions("numpy"), code, ids
    return recalled(partial(proxy.rivals, ids), "rivals", *decided)
