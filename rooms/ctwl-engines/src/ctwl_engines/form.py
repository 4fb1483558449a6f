"""Whether an engine holds an answer to a form that leaves no prose: JSON, a grammar, a call of a tool."""

from __future__ import annotations

import json
from typing import Any


def is_fixed(*grammars: Any, tag: Any = None) -> bool:
    """Whether a request's answer has a fixed form.

    Args:
        grammars: a schema, an expression, a grammar, a list of choices; None, or empty, where the request has none.
        tag: a structural tag, as JSON or as what JSON holds; None, or empty, where the request has none.
    """
    return any(grammars) or (bool(tag) and not _leaves_prose(tag))


def _leaves_prose(tag: Any) -> bool:
    """Whether a structural tag leaves a part of the answer free, as it does where a model may call tools or not."""
    try:
        rest = [json.loads(tag) if isinstance(tag, str | bytes) else tag]
    except (ValueError, RecursionError):
        return False
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            if part.get("type") == "any_text" or ("triggers" in part and not part.get("at_least_one")):
                return True
            rest += part.values()
        elif isinstance(part, list):
            rest += part
    return False
