"""An encoder behind an OpenAI-compatible HTTP endpoint as an adapter.

The record travels as the vLLM plug-in reads it: ``"vllm_xargs": {"ctwl_layout": ..., "ctwl_codes": [...]}`` in the
body, which OpenAI's clients call ``extra_body``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import httpx

from ctwl_protocol import CTWLError

from .messages import Encode, Encoded, Started
from .serving import Implementation, wanted

_SHOWN = 300


class EndpointError(CTWLError):
    """The endpoint did not answer, or its answer was no completion."""


class EndpointEncoder(Implementation):
    """A server that marks what it writes."""

    def __init__(
        self,
        url: str,
        profile: str,
        *,
        model: str | None = None,
        chat: bool = False,
        client: httpx.Client | None = None,
    ) -> None:
        """Keep the address of the endpoint.

        Args:
            url: base URL, such as ``http://127.0.0.1:8000/v1``; a key is taken from ``$OPENAI_API_KEY``.
            profile: the profile that the server marks under.
            model: the model's name; by default the first that the server has.
            chat: ask for a chat's next message instead of a completion.
            client: an HTTP client with that base URL.
        """
        self._profile, self._chat = profile, chat
        key = os.environ.get("OPENAI_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = client or httpx.Client(base_url=url.rstrip("/") + "/", headers=headers, timeout=600)
        self._model = model or ""

    def start(self) -> Started:  # noqa: D102 - see Implementation
        self._model = self._model or self._told("GET", "models", lambda found: found["data"][0]["id"])
        return Started(name=f"endpoint {self._model}", version="-", roles=["encoder"], profiles=[self._profile])

    def encode(self, request: Encode) -> Encoded:  # noqa: D102 - see Implementation
        record = wanted(request, self._profile)
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.tokens,
            "min_tokens": request.tokens,
            "temperature": 1.0,
            "seed": request.seed,
            "vllm_xargs": {"ctwl_layout": record.layout.number, "ctwl_codes": list(record.codes)},
        }
        if self._chat:
            body["messages"] = [{"role": "user", "content": request.prompt}]
            text = self._told("POST", "chat/completions", lambda found: found["choices"][0]["message"]["content"], body)
        else:
            body["prompt"] = request.prompt
            text = self._told("POST", "completions", lambda found: found["choices"][0]["text"], body)
        return Encoded(text=text)

    def _told(self, method: str, path: str, pick: Callable[[Any], Any], body: dict[str, Any] | None = None) -> str:
        """One string of a response.

        Raises:
            EndpointError: there is none.
        """
        try:
            response = self._client.request(method, path, json=body)
            response.raise_for_status()
            found = pick(response.json())
        except httpx.HTTPStatusError as error:
            raise EndpointError(f"HTTP {response.status_code}: {response.text[:_SHOWN]}") from error
        except httpx.HTTPError as error:
            raise EndpointError(f"no answer ({error}); is the server up, and --url its base URL?") from error
        except (ValueError, LookupError, TypeError):
            found = None
        if not isinstance(found, str):
            raise EndpointError(f"not the answer of an OpenAI-compatible server: {response.text[:_SHOWN]}")
        return found
