"""A badge below each answer in Open WebUI: what a public reader finds in it.

Paste this file into Admin Panel, Functions, as a function of the kind Filter, and turn it on for the models of your
choice. It asks a service of yours, `ctwl-decode serve`; no text goes anywhere else. The answer itself stays as it is.
"""

import asyncio
import json
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

SECONDS = 20
MOST = 1 << 20

Emitter = Callable[[dict[str, Any]], Awaitable[None]]


class Filter:
    """Open WebUI calls `outlet` with each answer."""

    class Valves(BaseModel):
        """What an administrator can set."""

        service: str = "http://127.0.0.1:8000"

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def outlet(self, body: dict[str, Any], __event_emitter__: Emitter | None = None) -> dict[str, Any]:
        """Show a line of status below the last answer; give the messages back unchanged."""
        answers = [message["content"] for message in body.get("messages", []) if message.get("role") == "assistant"]
        if answers and isinstance(answers[-1], str) and __event_emitter__ is not None:
            told = await asyncio.to_thread(badge, self.valves.service, answers[-1])
            await __event_emitter__({"type": "status", "data": {"description": told, "done": True}})
        return body


def badge(service: str, text: str) -> str:
    """What the service says of a text."""
    if not service.startswith(("http://", "https://")):
        return "CTWL: the service has no address of HTTP"
    body = json.dumps({"text": text}).encode()
    request = urllib.request.Request(f"{service}/v1/detect", body, {"Content-Type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            found = json.loads(answer.read(MOST))
        shown = f" (p = {found['p_value']:.1g})" if found["pred"] == "watermarked" else ""
        return f"CTWL: {found['says']:.200}{shown}"
    except (OSError, ValueError, KeyError, TypeError):
        return "CTWL: the service does not answer"
