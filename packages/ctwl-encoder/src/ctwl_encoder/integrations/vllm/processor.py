"""The vLLM plug-in: every request of a server carries a record, its own or the server's.

Installed with ``ctwl-encoder`` through the entry point group ``vllm.logits_processors``; it serves where the server's
configuration has a ``ctwl`` object, and marks every request, whoever sends it, where that names a provider::

    vllm serve MODEL --additional-config '{"ctwl": {"provider": 42, "version": 3}}'

For one request, over or without the server's: ``extra_args={"ctwl_provider": 42, "ctwl_version": 3}`` in
``SamplingParams``, or ``"vllm_xargs": {...}`` in the body of an OpenAI request. Both have the fields of
:class:`Request`; ``"ctwl_strategy": "off"`` leaves a request alone.

One class serves both of vLLM's model runners, which load the same entry point: V1 constructs it with a device and calls
``update_state`` and ``apply(logits)``, V2 constructs it with its request buffers and calls ``add_request`` and
``apply(logits, context)``. Nothing that a client sends may raise in a worker, where it would end the engine: requests
are judged in :meth:`CTWLLogitsProcessor.validate_params`, which runs where they come in.
"""

from __future__ import annotations

import inspect
import logging
import secrets
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from vllm.v1.sample import logits_processor as v1

from ctwl_protocol import Beacon, CTWLError, get_profile
from ctwl_protocol.profile import STANDARD
from ctwl_protocol.records.beacon import NONCE_COUNT
from ctwl_protocol.records.layouts import find_layout
from ctwl_protocol.records.record import Record

from ...core.expected_evidence import needed_tokens
from ...core.marker import Marker, TextState
from ...core.payload import Payload
from ...core.strategies import truncate
from ...errors import OptionOutOfRange, StrategyUnsuitable
from ...options import Strategy, check_beacon, check_delta, check_strategy
from ..loading import open_bridge

try:
    from vllm.v1.worker.gpu.sample import logits_processor as v2
except ImportError:  # a vLLM that has the V1 model runner alone
    v2 = v1

__all__ = ["CTWLLogitsProcessor"]

_BASES = (v1.LogitsProcessor,) if v2 is v1 else (v2.LogitsProcessor, v1.LogitsProcessor)
"""Of the two model runners; a plug-in that does not load keeps vLLM from starting."""

_PREFIX = "ctwl_"
_PRIVATE = f"{_PREFIX}admitted"
"""What :meth:`CTWLLogitsProcessor.validate_params` notes in a request's extra arguments: see :class:`_Admitted`."""

_SERVER = frozenset({"profile", "proxy_path", "device"})
"""Fields that only the server's configuration sets."""

_OPEN = (0, 1.0, 0.0)
"""Top-k, top-p and min-p that leave nothing out."""

_log = logging.getLogger(__name__)


class _Admitted(NamedTuple):
    """A request's nonce, drawn where it came in so that all workers agree, its seed, and its own truncation.

    vLLM gives the alternatives of one request (``n``) seeds that count on from the request's, and nothing else that
    tells them apart. So a request for several without a seed gets one, and their nonces count on as well.

    ``unbiased`` and ``gumbel`` must come after top-k, top-p and min-p. vLLM calls plug-ins before, so the plug-in
    truncates itself and vLLM's are switched off.
    """

    nonce: int
    seed: int | None = None
    drawn: bool = False
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    @classmethod
    def of(cls, extra_args: dict[str, Any] | None) -> _Admitted | None:
        """What was noted, None where nothing, or nothing of this kind."""
        noted = (extra_args or {}).get(_PRIVATE)
        if not isinstance(noted, list | tuple) or len(noted) != 6:
            return None
        nonce, seed, drawn, *truncation = noted
        if not isinstance(drawn, bool) or not (seed is None or type(seed) is int):
            return None
        if any(isinstance(value, bool) or not isinstance(value, int | float) for value in (nonce, *truncation)):
            return None
        top_k, top_p, min_p = truncation
        if not (0 <= nonce < NONCE_COUNT and -1 <= top_k < 1 << 31 and 0 < top_p <= 1 and 0 <= min_p <= 1):
            return None
        return cls(int(nonce), seed, drawn, int(top_k), float(top_p), float(min_p))

    @property
    def truncation(self) -> tuple[int, float, float]:
        """Top-k, top-p and min-p."""
        return self.top_k, self.top_p, self.min_p

    def nonce_of(self, seed: int | None) -> int:
        """The nonce of the request's alternative that has this seed."""
        return self.nonce if self.seed is None or seed is None else (self.nonce + seed - self.seed) % NONCE_COUNT


@dataclass(frozen=True)
class Request:
    """What one request writes.

    Attributes:
        provider: 0 to 1023; None, and no codes, writes nothing.
        version: 0 to 15.
        nonce: 0 to 63; None draws one anew for each text.
        layout: the number of the record's layout, where there are ``codes``.
        codes: a record as its codes, in place of provider, version and nonce.
        strategy: ``unbiased``, ``gumbel``, ``delta``, ``vanilla`` or ``off``; None takes ``unbiased``. Greedy requests
            get ``delta`` in place of the first two; those that ask for one of these themselves are refused.
        delta: nats, for ``delta`` and ``vanilla``.
        profile: a published profile or the path of a private one.
        proxy_path: folder of the proxy LM's files where they are not in the cache.
        device: the proxy's torch device.
    """

    provider: int | None = None
    version: int = 0
    nonce: int | None = None
    layout: int = 1
    codes: tuple[int, ...] | None = None
    strategy: str | None = None
    delta: float = 2.0
    profile: str = STANDARD
    proxy_path: str | None = None
    device: str = "auto"

    @classmethod
    def of(cls, server: dict[str, Any], given: dict[str, Any] | None, temperature: float) -> Request | None:
        """What a request writes; None where nothing.

        Args:
            server: the server's ``additional_config["ctwl"]``.
            given: the request's extra arguments.
            temperature: 0 for greedy decoding.

        Raises:
            OptionOutOfRange, FieldOutOfRange, StrategyUnsuitable, ProfileUnknown: what a client should mend.
        """
        own = {
            name.removeprefix(_PREFIX): value
            for name, value in (given or {}).items()
            if name.startswith(_PREFIX) and name != _PRIVATE
        }
        known = cls.__dataclass_fields__
        for name in server.keys() - known.keys():
            raise OptionOutOfRange(f"{name} is no field of the server's ctwl; there are {', '.join(sorted(known))}")
        for name in own.keys() - (known.keys() - _SERVER):
            allowed = ", ".join(sorted(_PREFIX + field for field in known.keys() - _SERVER))
            raise OptionOutOfRange(f"{_PREFIX}{name} is no option of a request; there are {allowed}")
        beacon = own.keys() & {"provider", "version", "nonce"}
        if beacon and "codes" in own:
            raise OptionOutOfRange(f"a request has {_PREFIX}codes or {_PREFIX}{min(beacon)}, not both")
        if beacon:  # the request's beacon, not the server's record
            server = {name: value for name, value in server.items() if name not in ("layout", "codes")}
        request = cls(**{**server, **own})
        if request.strategy == "off":
            return None
        strategy = request.strategy or Strategy.UNBIASED
        if strategy not in list(Strategy):
            raise OptionOutOfRange(f"{_PREFIX}strategy is {strategy!r}; choose one of {', '.join(Strategy)}, off")
        if request.codes is None and request.layout != 1:
            raise OptionOutOfRange(f"{_PREFIX}layout is of a record's codes; give them as {_PREFIX}codes")
        if request.provider is None and request.codes is None:
            if own:  # who asks for a mark and would get none must know
                raise OptionOutOfRange(f"name {_PREFIX}provider or {_PREFIX}codes; the server has none of its own")
            return None
        if Strategy(strategy).keeps_distribution and temperature <= 0:
            if "strategy" in own:
                raise StrategyUnsuitable(f"{strategy} chooses by chance, as sampling does; at temperature 0 use delta")
            strategy = Strategy.DELTA
        if isinstance(request.delta, bool) or not isinstance(request.delta, int | float):
            raise OptionOutOfRange(f"{_PREFIX}delta is {request.delta!r}; it must be a number")
        check_delta(request.delta)
        request.payload(0)
        profile = get_profile(request.profile)
        check_beacon(profile)
        check_strategy(strategy, profile)
        return replace(request, strategy=str(strategy))

    def payload(self, nonce: int) -> Payload:
        """The request's codes.

        Args:
            nonce: of the beacon, where the request names none.

        Raises:
            OptionOutOfRange, FieldOutOfRange, LayoutUnknown: what a client should mend.
        """
        if self.codes is not None:
            if not isinstance(self.codes, list | tuple):
                raise OptionOutOfRange(f"{_PREFIX}codes is {self.codes!r}; it must be a list of integers")
            return Payload.of(Record(find_layout(self.layout), tuple(self.codes)))
        if self.provider is None:
            raise OptionOutOfRange(f"name {_PREFIX}provider or {_PREFIX}codes")
        return Payload((Beacon(self.provider, self.version, nonce if self.nonce is None else self.nonce).code,))


@dataclass
class _Row:
    """A request that is being served."""

    marker: Marker
    payload: Payload
    delta: float
    temperature: float
    admitted: _Admitted
    output: list[int] = field(default_factory=list)
    """V1: the runner's own list of the tokens generated so far."""
    read: list[int] = field(default_factory=list)
    text: TextState | None = None

    def text_of(self, tokens: list[int]) -> TextState:
        """The text of the tokens generated so far: the last one read, or anew where the runner went back."""
        if self.text is None or tokens[: len(self.read)] != self.read:
            self.read, self.text = [], self.marker.start()
        for token in tokens[len(self.read) :]:
            self.text = self.marker.extend(self.text, token)
        self.read = tokens
        return self.text


class CTWLLogitsProcessor(*_BASES):  # type: ignore[misc]
    """Marks the rows of requests that carry a record; see the module's text."""

    _warned = False
    """Whether this process has said that a text is too short."""

    def __init__(self, vllm_config: Any, *runner: Any) -> None:
        """Called by vLLM: ``runner`` is (request states,) from V2, (device, pinned memory) from V1."""
        self._server = _server_config(vllm_config)
        self._states = runner[0] if len(runner) == 1 else None
        self._rows: dict[int, _Row] = {}
        self._markers: dict[str, Marker] = {}
        if self._server is not None:
            # A server finds out at its start whether it can mark.
            Request.of(self._server, None, 1.0)
            told = Request(**self._server)
            self._bridge = open_bridge(
                told.profile, str(vllm_config.model_config.tokenizer), told.proxy_path, told.device
            )

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Judge a request where it comes in; vLLM answers 400 with the message, and copies the parameters afterwards.

        Raises:
            ValueError: what is wrong and what to do.
        """
        config, before = _engine_config(), _Admitted.of(sampling_params.extra_args)
        now = (sampling_params.top_k, sampling_params.top_p, sampling_params.min_p)
        if before is not None and now == _OPEN:  # parameters that were used before: as they were
            sampling_params.top_k, sampling_params.top_p, sampling_params.min_p = before.truncation
        if before is not None and before.drawn and sampling_params.seed == before.seed:
            sampling_params.seed = None
        if sampling_params.extra_args and _PRIVATE in sampling_params.extra_args:
            kept = {name: value for name, value in sampling_params.extra_args.items() if name != _PRIVATE}
            sampling_params.extra_args = kept or None
        try:
            server = _server_config(config) if config is not None else {}
            request = Request.of(server or {}, sampling_params.extra_args, sampling_params.temperature)
        except (CTWLError, TypeError) as error:
            raise ValueError(f"ctwl: {error}") from error
        if request is None:
            return
        if config is not None:
            if server is None:
                raise ValueError(
                    "ctwl: this server was not told to serve CTWL records; start it with --additional-config "
                    """'{"ctwl": {}}'"""
                )
            if config.speculative_config is not None:
                raise ValueError(
                    "ctwl: this server decodes speculatively, and its drafts are not marked; serve without "
                    f'--speculative-config, or send "{_PREFIX}strategy": "off"'
                )
            if config.scheduler_config.async_scheduling and not config.use_v2_model_runner:
                raise ValueError(
                    "ctwl: the V1 model runner does not tell a plug-in the last tokens under async scheduling; serve "
                    "with --no-async-scheduling or VLLM_USE_V2_MODEL_RUNNER=1"
                )
        strategy = Strategy(str(request.strategy))
        needed = needed_tokens(get_profile(request.profile), strategy, len(request.codes or (0,)))
        if sampling_params.max_tokens is not None and sampling_params.max_tokens < needed:
            _log.log(
                logging.INFO if cls._warned else logging.WARNING,  # once, for a server may get many
                "ctwl: a request for at most %d tokens; a reader needs about %d",
                sampling_params.max_tokens,
                needed,
            )
            cls._warned = True
        drawn = sampling_params.n > 1 and sampling_params.seed is None
        if drawn:
            sampling_params.seed = secrets.randbits(31)
        admitted = _Admitted(secrets.randbelow(NONCE_COUNT), sampling_params.seed, drawn)
        if strategy.keeps_distribution:
            admitted = admitted._replace(
                top_k=sampling_params.top_k, top_p=sampling_params.top_p, min_p=sampling_params.min_p
            )
            sampling_params.top_k, sampling_params.top_p, sampling_params.min_p = _OPEN
        sampling_params.extra_args = {**(sampling_params.extra_args or {}), _PRIVATE: list(admitted)}

    def is_argmax_invariant(self) -> bool:
        """V1: marking changes the best token."""
        return False

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """V2: a request enters the batch in a slot; whether it is marked."""
        row = self._row(sampling_params)
        self._rows.pop(req_idx, None)
        if row is not None:
            self._rows[req_idx] = row
        return row is not None

    def update_state(self, batch_update: Any) -> None:
        """V1: requests that left, came and moved, in this order."""
        if batch_update is None:
            return
        for index in batch_update.removed:
            self._rows.pop(index, None)
        for index, params, _, output in batch_update.added:
            self._rows.pop(index, None)
            if (row := self._row(params)) is not None:
                row.output = output
                self._rows[index] = row
        for one, other, direction in batch_update.moved:
            first, second = self._rows.pop(one, None), self._rows.pop(other, None)
            if first is not None:
                self._rows[other] = first
            if second is not None and direction == v1.MoveDirectionality.SWAP:
                self._rows[one] = second

    def apply(self, logits: torch.Tensor, ctx: Any = None) -> torch.Tensor:
        """Mark the rows of one step.

        Args:
            logits: float (rows, size), before temperature and truncation.
            ctx: V2's layout of the batch; V1 has none.
        """
        if not self._rows:
            return logits
        if ctx is None:
            found = [(i, row, list(row.output)) for i, row in self._rows.items() if i < len(logits)]
        else:
            slots = ctx.expanded_idx_mapping.tolist()
            lengths = (ctx.pos + 1).tolist()
            found = [
                (i, self._rows[slot], self._tokens(slot, length))
                for i, (slot, length) in enumerate(zip(slots, lengths, strict=True))
                if slot in self._rows
            ]
        groups: dict[int, list[tuple[int, _Row, list[int]]]] = {}
        for entry in found:
            groups.setdefault(id(entry[1].marker), []).append(entry)
        for group in groups.values():
            self._mark(logits, group)
        return logits

    def _mark(self, logits: torch.Tensor, group: list[tuple[int, _Row, list[int]]]) -> None:
        """Mark the rows that share a marker, in place."""
        index = torch.tensor([i for i, _, _ in group], device=logits.device)
        rows: NDArray[np.float32] = logits[index].float().cpu().numpy()
        # A row that masks or overflows left without a finite maximum is the engine's to deal with.
        group = [entry for entry, row in zip(group, rows, strict=True) if np.isfinite(row.max())]
        rows = rows[np.isfinite(rows.max(axis=1))]
        if not group:
            return
        marker = group[0][1].marker
        scale = np.ones((len(group), 1), dtype=np.float32)
        if marker.strategy.keeps_distribution:
            # What is marked is what is sampled from: the distribution after temperature and truncation.
            scale[:, 0] = [row.temperature for _, row, _ in group]
            cuts = [row.admitted.truncation for _, row, _ in group]
            rows = np.stack([truncate(given, *cut) for given, cut in zip(rows / scale, cuts, strict=True)])
        marked = marker.mark(
            [row.text_of(tokens) for _, row, tokens in group],
            [row.payload for _, row, _ in group],
            rows,
            [row.delta for _, row, _ in group],
        )
        for i, values in marked.items():
            rows[i] = values
        index = torch.tensor([i for i, _, _ in group], device=logits.device)
        logits[index] = torch.from_numpy(rows * scale).to(logits)

    def _tokens(self, slot: int, length: int) -> list[int]:
        """V2: the tokens that a request has generated so far."""
        start = int(self._states.prompt_len.np[slot])  # type: ignore[union-attr]
        tokens: list[int] = self._states.all_token_ids.gpu[slot, start:length].tolist()  # type: ignore[union-attr]
        return tokens

    def _row(self, params: Any) -> _Row | None:
        try:
            request = Request.of(self._server or {}, params.extra_args, params.temperature)
        except (CTWLError, TypeError) as error:
            _log.error("ctwl: a request is served unmarked, for it was not judged where it came in: %s", error)
            return None
        if request is None or self._server is None:
            return None
        admitted = _Admitted.of(params.extra_args) or _Admitted(0)
        strategy = str(request.strategy)
        if strategy not in self._markers:
            self._markers[strategy] = Marker(self._bridge, strategy=strategy)
        payload = request.payload(admitted.nonce_of(params.seed))
        return _Row(self._markers[strategy], payload, float(request.delta), params.temperature, admitted)


def _server_config(vllm_config: Any) -> dict[str, Any] | None:
    """What the server was told to write into every text; None where it was not told to serve CTWL at all."""
    additional = vllm_config.additional_config
    found = additional.get("ctwl") if isinstance(additional, dict) else None
    if found is not None and not isinstance(found, dict):
        raise OptionOutOfRange('additional_config["ctwl"] must be an object, as {"provider": 42, "version": 3}')
    return found


def _engine_config() -> Any:
    """The engine's configuration, from the input processor that is validating a request; None where there is none.

    vLLM hands ``validate_params`` no configuration, so what the server cannot do could not be refused.
    """
    frame = inspect.currentframe()
    while frame is not None:
        config = getattr(frame.f_locals.get("self"), "vllm_config", None)
        if config is not None and hasattr(config, "scheduler_config"):
            return config
        frame = frame.f_back
    return None
