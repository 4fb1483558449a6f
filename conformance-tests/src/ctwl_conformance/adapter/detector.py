"""A detector at an address as an adapter: whatever speaks spec section 20 can be driven, in any language."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx

from ctwl_protocol.asking import MAX_ANSWER

from .endpoint import EndpointError
from .messages import Ask, Heard, Started
from .serving import Implementation

_PATIENCE = 65
"""Seconds that one question may wait for its turn: more than a minute, by which limits are counted, and less than the
suite waits for a reply."""


class EndpointDetector(Implementation):
    """A provider's detector."""

    def __init__(
        self,
        url: str,
        told: Started,
        token: str | None = None,
        *,
        client: httpx.Client | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Keep where to ask.

        Args:
            url: of the detector; plain HTTP too, since it need not be in any registry yet.
            told: what it is.
            token: a bearer token, where it asks for one.
            client: an HTTP client.
            sleep: waits for so many seconds.
        """
        self._url, self._told, self._token, self._sleep = url, told, token, sleep
        self._client = client or httpx.Client(timeout=50)

    def start(self) -> Started:  # noqa: D102 - see Implementation
        return self._told

    def ask(self, request: Ask) -> Heard:  # noqa: D102 - see Implementation
        waited = 0
        while True:
            heard, after = self._post(request)
            if heard.status != 429 or not after or waited + after > _PATIENCE:
                return heard
            self._sleep(after)
            waited += after

    def _post(self, request: Ask) -> tuple[Heard, int]:
        """What is answered, and in how many seconds to ask again; 0 where it does not say so."""
        headers = {"content-type": request.media_type, "accept": "application/json", "accept-encoding": "identity"}
        if self._token and request.authorized:
            headers["authorization"] = f"Bearer {self._token}"
        try:
            with self._client.stream("POST", self._url, content=bytes.fromhex(request.body), headers=headers) as found:
                body = b""
                for part in found.iter_raw(MAX_ANSWER):  # a body that is packed unasked is no JSON
                    body += part
                    if len(body) > MAX_ANSWER:
                        break
        except httpx.HTTPError as error:
            raise EndpointError(f"no answer ({error}); does it listen at --url?") from error
        kind = found.headers.get("content-type", "").partition(";")[0].strip().lower()
        after = found.headers.get("retry-after", "")[:9]
        heard = Heard(status=found.status_code, body=body[: MAX_ANSWER + 1].hex(), media_type=kind[:200])
        return heard, int(after) if after.isdecimal() else 0
