"""A detector at an address as an adapter: whatever speaks spec section 20 can be driven, in any language."""

from __future__ import annotations

import httpx

from ctwl_protocol.asking import MAX_ANSWER

from .endpoint import EndpointError
from .messages import Ask, Heard, Started
from .serving import Implementation


class EndpointDetector(Implementation):
    """A provider's detector."""

    def __init__(self, url: str, provider: int, token: str | None = None, client: httpx.Client | None = None) -> None:
        """Keep where to ask.

        Args:
            url: of the detector; plain HTTP too, since it need not be in any registry yet.
            provider: for whom it answers.
            token: a bearer token, where it asks for one.
            client: an HTTP client.
        """
        self._url, self._provider, self._token = url, provider, token
        self._client = client or httpx.Client(timeout=60)

    def start(self) -> Started:  # noqa: D102 - see Implementation
        return Started(name=f"detector {self._provider}", version="-", classes=["detector"], provider=self._provider)

    def ask(self, request: Ask) -> Heard:  # noqa: D102 - see Implementation
        headers = {"content-type": request.media_type}
        if self._token and request.authorized:
            headers["authorization"] = f"Bearer {self._token}"
        try:
            with self._client.stream("POST", self._url, content=bytes.fromhex(request.body), headers=headers) as found:
                body = b""
                for part in found.iter_bytes(MAX_ANSWER):
                    body += part
                    if len(body) > MAX_ANSWER:
                        break
        except httpx.HTTPError as error:
            raise EndpointError(f"no answer ({error}); does it listen at --url?") from error
        return Heard(status=found.status_code, body=body[: MAX_ANSWER + 1].hex())
