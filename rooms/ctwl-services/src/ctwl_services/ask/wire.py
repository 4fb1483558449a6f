"""One POST over HTTPS to an address that others chose: bounded in time and bytes, to public networks alone.

The host's name is resolved once, every address is checked, and the connection goes to an address that was checked. So a
name that means another address a moment later changes nothing. Proxies of the environment are not used, redirects are
not followed.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from ctwl_protocol.asking import MAX_ANSWER
from ctwl_protocol.errors import first_line
from ctwl_protocol.registry import Url

from ..errors import AddressRefused, NoAnswer

SECONDS = 30.0
"""For one question, from the look-up of the name to the last byte of the answer."""

_URL: TypeAdapter[str] = TypeAdapter(Url)
_UNICAST = ipaddress.ip_network("2000::/3")
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""What IPv6 networks without IPv4 reach IPv4 by: the last 32 bits are the address (RFC 6052)."""


@dataclass(frozen=True)
class Network:
    """What may be reached, and how.

    Attributes:
        local: for developers: hosts that are reached at an address and port of this machine by plain HTTP.
        context: of TLS; None for the system's.
        resolve: ``socket.getaddrinfo``, or what a test puts in its place.
    """

    local: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    context: ssl.SSLContext | None = None
    resolve: Callable[..., Any] = socket.getaddrinfo

    def post(self, url: str, body: bytes, headers: Mapping[str, str], seconds: float = SECONDS) -> tuple[int, bytes]:
        """Send a body of JSON; the status and the body of the answer.

        Raises:
            AddressRefused: the address is none that a registry may name, or leads into no public network.
            NoAnswer: there is none within the bounds.
        """
        try:
            parts = urlsplit(_URL.validate_python(url))
        except ValidationError as error:
            raise AddressRefused("the address is no https address of a host by name; nothing was sent") from error
        ends, host = time.monotonic() + seconds, str(parts.hostname)
        headers = {"accept": "application/json", "content-type": "application/json", **headers, "connection": "close"}
        try:
            with self._connected(host, ends) as plain:
                connection = _Connection(host)
                connection.sock = _Bounded(plain, ends)
                with suppress(ConnectionError):  # a refusal may come, and end the connection, before all is sent
                    connection.request("POST", parts.path or "/", body, headers)
                response = connection.getresponse()
                return response.status, response.read(MAX_ANSWER + 1)
        except TimeoutError as error:
            raise NoAnswer(f"no answer within {seconds:g} seconds") from error
        except ssl.SSLError as error:
            raise NoAnswer(f"the host has no valid certificate, or speaks no TLS: {first_line(error)}") from error
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswer(f"no answer: {first_line(error)}; does a detector run there?") from error

    def _connected(self, host: str, ends: float) -> socket.socket:
        """A connection to the host, encrypted.

        Raises:
            AddressRefused: one of its addresses is not public.
            OSError: there is no connection.
        """
        if host in self.local:
            return socket.create_connection(self.local[host], timeout=_left(ends))
        found = self.resolve(host, 443, type=socket.SOCK_STREAM)
        refused = [address[0] for *_, address in found if not is_public(address[0])]
        if refused or not found:
            told = ", ".join(refused[:3]) or "no address"
            raise AddressRefused(f"{host} leads to {told}, which is not public; nothing was sent")
        last: OSError | None = None
        for family, kind, protocol, _, address in found[:4]:
            plain = socket.socket(family, kind, protocol)
            try:
                plain.settimeout(_left(ends) / 2)  # so that another address has a turn
                plain.connect(address)
                return (self.context or ssl.create_default_context()).wrap_socket(plain, server_hostname=host)
            except OSError as error:
                plain.close()
                last = error
        raise last or OSError("no connection")


def is_public(address: str) -> bool:
    """Whether an IP address is one host's in the public internet."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:  # with the name of an interface
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _TRANSLATED:
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip not in _UNICAST or ip.sixtofour or ip.teredo:
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _left(ends: float) -> float:
    """The seconds until then; TimeoutError where none are left."""
    if (left := ends - time.monotonic()) <= 0:
        raise TimeoutError
    return left


class _Bounded:
    """What ``http.client`` needs of a socket, within a time and a number of bytes for all that is read."""

    def __init__(self, plain: socket.socket, ends: float) -> None:
        self._plain, self._ends = plain, ends

    def sendall(self, data: bytes) -> None:
        self._plain.settimeout(_left(self._ends))
        self._plain.sendall(data)

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._plain, self._ends))

    def close(self) -> None:
        """Whoever opened the socket closes it."""


class _Reader(io.RawIOBase):
    def __init__(self, plain: socket.socket, ends: float) -> None:
        self._plain, self._ends, self._most = plain, ends, 2 * MAX_ANSWER

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._plain.settimeout(_left(self._ends))
        size = self._plain.recv_into(buffer)
        self._most -= size
        if self._most < 0:
            raise http.client.HTTPException(f"more than {MAX_ANSWER >> 10} KiB")
        return size


class _Connection(http.client.HTTPSConnection):
    """A connection that is made elsewhere: its own would resolve the name again."""

    sock: Any

    def connect(self) -> None:
        raise NotImplementedError
