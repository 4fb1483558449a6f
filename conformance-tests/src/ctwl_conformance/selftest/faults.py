"""Adapters with one named fault each, made from the reference. The suite must see every fault.

A fault is a change of the reference's source, or a wrapper around its adapter.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from typing import Any, BinaryIO, NoReturn

from ..adapter import Decode, Decoded, Encode, Encoded, Implementation, NotDone, Span
from ..adapter.messages import Body, Request, Role, VectorRequest
from ..adapter.reference import ReferenceDecoder, ReferenceRegistryClient, ToyEncoder
from ..adapter.serving import answer_all, streams
from .fault import Fault
from .search_faults import SEARCH_FAULTS

__all__ = ["FAULTS", "serve_faulty"]


_HASHING, _PARTITION = "ctwl_protocol.hashing", "ctwl_protocol.partition.reference"
_RIVALS, _BLOCKS = "ctwl_protocol.proxy.rivals", "ctwl_protocol.text.blocks"
_WEIGHER = "ctwl_protocol.proxy.weigher"
_WEIGHTS = "toy_weights(ids[places[:, None] + np.arange(-length, 0)], vocabulary)"
_CLIENT, _CANONICAL = "ctwl_protocol.registry.workflow", "ctwl_protocol.canonical"

FAULTS = (
    Fault("wrong-hash-constant", "decoder", "another multiplier in fmix32", ("vector/permutation/*",),
          (_HASHING, "0x85EBCA6B", "0x85EBCA6D")),
    Fault("wrong-golden-constant", "decoder", "another multiplier before mixing", ("vector/permutation/*",),
          (_HASHING, "GOLDEN = 0x9E3779B1", "GOLDEN = 0x9E3779B9")),
    Fault("colours-from-zero", "decoder", "colour a uses the seed of colour a - 1", ("vector/permutation/*",),
          (_HASHING, "np.arange(1, colours + 1,", "np.arange(0, colours,")),
    Fault("window-off-by-one", "decoder", "contexts end one token too early", ("vector/positions/*",),
          ("ctwl_protocol.text.positions",
           "prefix_length - context_length :]", "prefix_length - context_length - 1 : -1]")),
    Fault("partition-or-equal", "decoder", "<= where the partition has <", ("vector/members/*",),
          (_PARTITION, "* denominator < total", "* denominator <= total")),
    Fault("blocks-without-overlap", "decoder", "a block begins where the one before ends", ("vector/blocks/*",),
          (_BLOCKS, "OVERLAP = 128", "OVERLAP = 0")),
    Fault("blocks-as-long-as-the-model-sees", "decoder", "a block has as many tokens as fit", ("vector/blocks/*",),
          (_BLOCKS, "min(LENGTH, longest)", "longest")),
    Fault("rivals-of-1-128", "decoder", "a rival has at least one part in 128 of the weight", ("vector/rivals/*",),
          (_RIVALS, "SHARE = 256", "SHARE = 128")),
    Fault("weightless-token", "decoder", "the token that the text shows may weigh 0", ("vector/rivals/*",),
          (_RIVALS, "np.maximum(weights[row, token], 1)", "weights[row, token]")),
    Fault("slots-reversed", "decoder", "slots are read in the wrong order", ("vector/slot/*",),
          ("ctwl_protocol.records.slots", "return part - (part > 0)", "return codes - part + (part > 0)")),
    Fault("fields-reversed", "decoder", "a record's fields are packed least significant first", ("vector/record/*",),
          ("ctwl_protocol.records.layouts", "        for name, bits in self.fields:\n            number",
           "        for name, bits in self.fields[::-1]:\n            number")),
    Fault("accepts-duplicate-keys", "decoder", "a map keeps the last of two equal keys", ("vector/canonical/*",),
          (_CANONICAL, "encode(value) != data", "len(encode(value)) > len(data)")),
    Fault("non-canonical-output", "decoder", "map keys are written as they come", ("vector/canonical/*",),
          (_CANONICAL, "sorted(value, key=str.encode)", "reversed(list(value))")),
    Fault("normalizes-nothing", "decoder", "text is taken as it comes", ("vector/normalization/*",),
          ("ctwl_protocol.text.normalization", "return normalize_within(text).strip(WHITE_SPACE)", "return text")),
    Fault("always-detects", "decoder", "finds its best candidate in every text", ("human/*",)),
    Fault("never-detects", "decoder", "finds nothing in any text", ("round-trip/*",)),
    Fault("uncorrected-p-values", "decoder", "p-values are not multiplied by the codes searched", ("human/*",)),
    Fault("code-plus-one", "decoder", "says the code after the one that it found", ("round-trip/*",)),
    Fault("spans-outside", "decoder", "spans end behind the text", ("round-trip/*",)),
    Fault("warm-proxy", "decoder", "weighs the vocabulary at temperature 1.3", ("numeric/*",),
          (_WEIGHER, _WEIGHTS, f"({_WEIGHTS} ** (1 / 1.3)).astype(np.uint32)")),
    Fault("crashes", "decoder", "ends in the middle of the vectors", ("vector/colours/*",), errored=True),
    Fault("hangs", "decoder", "stops answering in the middle of the vectors", ("vector/colours/*",), errored=True),
    Fault("talks", "decoder", "writes a line that is no reply", ("vector/colours/*",), errored=True),
    Fault("wrong-id", "decoder", "answers another request than the one asked", ("vector/colours/*",), errored=True),
    Fault("skips-everything", "decoder", "declares every question a skip", ("vector/canonical/*", "round-trip/*"),
          skipped=True),
    Fault("ignores-expiry", "registry-client", "accepts a registry that has expired", ("vector/registry-update/*",),
          (_CLIENT, "if registry is not None and offered.expired(now):", "if False:")),
    Fault("accepts-old-versions", "registry-client", "accepts a registry of a lower version",
          ("vector/registry-update/*",), (_CLIENT, "new.version < old.version and not key_removed", "False")),
    Fault("any-signature", "registry-client", "one valid signature is enough", ("vector/registry-update/*",),
          ("ctwl_protocol.registry.envelope", "valid < role.threshold", "valid < 1")),
    Fault("forgets-entries", "registry-client", "does not look whether entries are missing",
          ("vector/registry-update/*",), (_CLIENT, "    check_append_only(trusted.registry, offered)", "    pass")),
    Fault("writes-nothing", "encoder", "writes plain text", ("round-trip/*",)),
    Fault("wrong-record", "encoder", "writes another provider's code", ("round-trip/*",)),
    Fault("wrong-nonce", "encoder", "writes another nonce", ("round-trip/*",)),
    *SEARCH_FAULTS,
)  # fmt: skip
"""The faults by name."""


def serve_faulty(role: Role, name: str | None) -> int:
    """Serve the reference in a role, with the fault's wrapper if there is one."""
    made: Implementation
    made = {"decoder": ReferenceDecoder, "encoder": ToyEncoder, "registry-client": ReferenceRegistryClient}[role]()
    if name in _WRAPPERS:
        made = _Wrapped(made, _WRAPPERS[name])
    requests, replies = streams()
    return answer_all(made.answer, requests, _Spoilt(replies, _SPOILERS[name]) if name in _SPOILERS else replies)


_Answer = Callable[[Request], Body]
_Wrapper = Callable[[Request, _Answer], Body]


class _Spoilt(io.BytesIO):
    """A stream that spoils its lines from the second on."""

    def __init__(self, inner: BinaryIO, spoil: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self._inner, self._spoil, self._started = inner, spoil, False

    def write(self, line: Any) -> int:
        self._inner.write(self._spoil(bytes(line)) if self._started else line)
        self._inner.flush()
        self._started = True
        return len(line)


class _Wrapped(Implementation):
    """An implementation that a wrapper answers for."""

    def __init__(self, inner: Implementation, wrapper: _Wrapper) -> None:
        self._inner, self._wrapper = inner, wrapper

    def answer(self, request: Request) -> Body:
        return self._wrapper(request, self._inner.answer)


def _decoding(change: Callable[[Decoded, Decode], dict[str, Any]]) -> _Wrapper:
    """Changes what a decoder says of a text."""

    def wrapper(request: Request, answer: _Answer) -> Body:
        found = answer(request)
        if isinstance(request, Decode) and isinstance(found, Decoded):
            return found.model_copy(update=change(found, request))
        return found

    return wrapper


def _encoding(change: Callable[[Encode], Request]) -> _Wrapper:
    """Changes what an encoder is asked for."""
    return lambda request, answer: answer(change(request) if isinstance(request, Encode) else request)


def _always(found: Decoded, request: Decode) -> dict[str, Any]:
    code = found.code or 0
    span = Span(start=0, end=len(request.text), code=code, p_value=1e-9)
    return {"detected": True, "code": code, "p_value": 1e-9, "spans": [span]}


def _uncorrected(found: Decoded, request: Decode) -> dict[str, Any]:
    p = found.p_value / 2**20
    return _always(found, request) | {"p_value": p} if p <= request.alpha else {"p_value": p}


def _plain(request: Request, answer: _Answer) -> Body:
    if isinstance(request, Encode):
        return Encoded(text=" ".join(request.prompt for _ in range(1 + request.tokens // len(request.prompt))))
    return answer(request)


def _other(request: Encode, **fields: int) -> Encode:
    record = request.record.model_copy(update={"fields": {**request.record.fields, **fields}})
    return request.model_copy(update={"record": record})


def _in_the_middle(act: Callable[[Request], Body]) -> _Wrapper:
    """Acts differently on questions of the family ``colours``."""

    def wrapper(request: Request, answer: _Answer) -> Body:
        if isinstance(request, VectorRequest) and request.family == "colours":
            return act(request)
        return answer(request)

    return wrapper


def _hang(_: Request) -> NoReturn:
    while True:
        time.sleep(60)


def _skip(request: Request, answer: _Answer) -> Body:
    if request.op in ("start", "stop"):
        return answer(request)
    raise NotDone("it is not ready yet")


_WRAPPERS: dict[str, _Wrapper] = {
    "always-detects": _decoding(_always),
    "never-detects": _decoding(lambda found, _: {"detected": False, "p_value": 1.0, "spans": [], "record": None}),
    "uncorrected-p-values": _decoding(_uncorrected),
    "code-plus-one": _decoding(
        lambda found, _: {
            "code": (found.code or 0) + 1,
            "spans": [span.model_copy(update={"code": span.code + 1}) for span in found.spans],
        }
    ),
    "spans-outside": _decoding(
        lambda found, request: {
            "spans": [span.model_copy(update={"end": len(request.text) + 1}) for span in found.spans]
        }
    ),
    "crashes": _in_the_middle(lambda _: os._exit(3)),
    "hangs": _in_the_middle(_hang),
    "skips-everything": _skip,
    "writes-nothing": _plain,
    "wrong-record": _encoding(lambda request: _other(request, provider=request.record.fields["provider"] ^ 1)),
    "wrong-nonce": _encoding(lambda request: _other(request, nonce=request.record.fields["nonce"] ^ 1)),
}

_SPOILERS: dict[str, Callable[[bytes], bytes]] = {
    "talks": lambda line: b"computing ...\n" + line,
    "wrong-id": lambda line: line.replace(b'"id": ', b'"id": 1', 1),
}
"""What becomes of the lines of an adapter's replies, once it has started."""
