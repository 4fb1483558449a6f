"""What a server does at its start, before it loads a model: it checks what its operator decided, and says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ctwl_protocol import CTWLError, get_profile
from ctwl_protocol.proxy import find_files, open_proxy

from .log import log_of
from .policy import Policy


def begin(policy: Policy | None, say: Callable[[str], None], missing: str = "") -> None:
    """Check what the operator decided, and say in one line of the server's log what the server marks.

    Args:
        policy: the server's; None where it was told none.
        say: writes a line of the server's log.
        missing: what the operator has to name before anything is marked.

    Raises:
        CTWLError: what cannot be done, and what to change.
    """
    if policy is None:
        say(f"ctwl: the mark is off; {missing}")
        return
    policy.request(None, 1.0)
    log_of(policy)  # a log that cannot be written is refused now
    open_proxy(policy.profile, path=policy.proxy_path)
    if not policy.strategy.keeps_distribution:
        find_files(get_profile(policy.profile), policy.proxy_path)
    say(f"ctwl: {policy.in_words}")


@contextmanager
def ending() -> Iterator[None]:
    """End a command where something cannot be done: what to change is the last line that it prints."""
    try:
        yield
    except CTWLError as error:
        raise SystemExit(f"ctwl: {error.code}: {error}") from error
