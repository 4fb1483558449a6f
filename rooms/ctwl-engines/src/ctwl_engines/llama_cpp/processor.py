"""The llama.cpp plug-in: the texts of a ``llama_cpp.Llama`` carry records (docs/providers/llama-cpp.md).

It needs neither torch nor transformers, except for ``delta``, which asks the proxy LM.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import llama_cpp

from ctwl_encoder import PROMPT_TOKENS, host_marker
from ctwl_encoder.errors import ExtraMissing, OptionOutOfRange, StrategyUnsuitable
from ctwl_protocol.bridge import Bridge
from ctwl_protocol.proxy import open_proxy

from ..log import log_of
from ..note import TRUNCATION, Note, admitted, only_the_likeliest
from ..policy import Policy
from ..request import Asked
from .sampling import MarkedSampler, MarkedText
from .vocabulary import read_vocabulary

_ANOTHER = "this CTWLLogitsProcessor was made for another Llama; make one for this model"


class CTWLLogitsProcessor:
    """Marks the texts of the calls that have it in their ``LogitsProcessorList``.

    ``Llama`` runs other processors before penalties, grammar, truncation and temperature, and this one after them, so
    whatever a call asks for is what is marked. Each call writes a text of its own, with a nonce of its own. Where no
    strategy is named, the call's temperature decides.
    """

    def __init__(self, llama: llama_cpp.Llama, *, asked: Callable[[], Asked] = Asked, **options: Any) -> None:
        """Read the model's vocabulary, which takes about a second for 50,000 tokens.

        Args:
            llama: the model whose calls are marked.
            asked: gives the request that is being served.
            options: the fields of :class:`ctwl_engines.policy.Policy`: ``provider``, ``version``,
                ``strategy``, ``profile``, ...

        Raises:
            OptionOutOfRange: an option; or there is nothing to write, because neither provider nor codes are named.
            ExtraMissing: this llama-cpp-python has no place for the marking.
            TokenizerUnsupported: see :func:`ctwl_engines.llama_cpp.vocabulary.read_vocabulary`.
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        policy = Policy(**options)
        policy.request(None, 1.0)
        log_of(policy)  # a log that cannot be written is refused now
        _run_last(llama)
        proxy = open_proxy(policy.profile, path=policy.proxy_path, device=policy.device)
        bridge = Bridge(read_vocabulary(llama), proxy)
        self._parts = policy.parts(bridge.vocabulary)
        self._marker_of = cache(partial(host_marker, bridge))
        self._llama = weakref.ref(llama)
        self._policy = policy
        self._asked = asked

    def begin(
        self, temperature: float, mirostat_mode: float = 0, *, fixed_form: bool = False, note: bool = False
    ) -> MarkedText | None:
        """Begin a text; None where the request wants no mark.

        Args:
            temperature: of sampling; 0 for greedy decoding; the engine takes one below 0 as 1.
            mirostat_mode: above 0, Mirostat cuts and draws in one step.
            fixed_form: whether the answer has a fixed form, see :mod:`ctwl_engines.form`.
            note: whether the text is noted in the log.

        Raises:
            NotLeftToClients, OptionOutOfRange, FieldOutOfRange, LayoutUnknown, StrategyUnsuitable: what the request
                should change.
            ExtraMissing: the strategy asks the proxy LM, and torch is not installed.
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        asked, policy = self._asked(), self._policy if note else self._policy.model_copy(update={"log": None})
        drawn_at = 1.0 if temperature < 0 else temperature
        request = admitted(policy, asked.options, drawn_at, asked.name, fixed_form=fixed_form)
        if request is None:
            return None
        if mirostat_mode and temperature > 0:
            raise OptionOutOfRange("nothing can be marked before Mirostat draws; leave mirostat_mode out")
        marker = self._marker_of(request.strategy)
        noted = Note.drawn(asked.name).logged(policy, request)
        return MarkedText.begin(policy, request, marker, noted, self._parts, log=log_of(policy))

    def __call__(self, *_: Any) -> Any:
        """Refuse: a ``Llama`` calls this, before temperature and truncation, if the processor was not made for it.

        Raises:
            StrategyUnsuitable: always.
        """
        raise StrategyUnsuitable(_ANOTHER)

    def check(self, llama: llama_cpp.Llama) -> None:
        """Refuse another model than the one that this processor was made for: StrategyUnsuitable."""
        if self._llama() is not llama:
            raise StrategyUnsuitable(_ANOTHER)


def mark_all(llama: llama_cpp.Llama, processor: CTWLLogitsProcessor) -> None:
    """Mark every text that a model writes, as a server does: its calls name no processor.

    A call that names one of its own is marked by that one.

    Args:
        llama: the model that the processor was made for.
        processor: the processor.
    """
    llama.generate = partial(_generate, weakref.ref(llama), processor)


def _generate(llama: weakref.ref[Any], processor: CTWLLogitsProcessor, *tokens: Any, **settings: Any) -> Iterator[Any]:
    """``Llama.generate``, with a processor where the call has none of ours; its text ends before the answer does."""
    named = list(settings.pop("logits_processor", None) or [])
    if not any(isinstance(each, CTWLLogitsProcessor) for each in named):
        named.append(processor)
    own: Any = llama()
    processors = llama_cpp.LogitsProcessorList(named)
    written, sampler, sent = type(own).generate(own, *tokens, logits_processor=processors, **settings), None, None
    try:
        while True:
            token = written.send(sent)
            sampler = sampler or own._sampler  # of this text; later the model may write another
            sent = yield token
    except StopIteration:
        return
    finally:
        written.close()
        _finish(sampler)


def _finish(sampler: Any) -> None:
    """End a text that was marked; once it has ended, this changes nothing."""
    if isinstance(sampler, MarkedSampler):
        sampler.text.finish()


def _run_last(llama: Any) -> None:
    """Let the processors of this module run after all that a model's chain does to logits.

    Raises:
        ExtraMissing: this llama-cpp-python makes its chains in another way.
    """
    if not hasattr(type(llama), "_init_sampler"):
        raise ExtraMissing(f"llama-cpp-python {llama_cpp.__version__} cannot be marked; install llama-cpp-python 0.3")
    llama._init_sampler = partial(_chain, weakref.ref(llama))  # a strong reference would keep the model in memory


def _chain(llama: weakref.ref[Any], *, logits_processor: Any = None, **settings: Any) -> Any:
    """``Llama._init_sampler``, which is called for each text: its chain of samplers, which marks before it draws.

    Raises:
        OptionOutOfRange: several processors of ours.
        CTWLError: see :meth:`CTWLLogitsProcessor.begin`.
    """
    own: Any = llama()
    _finish(getattr(own, "_sampler", None))  # a client may have left the text before
    if settings["temp"] > 0 and not settings["mirostat_mode"] and only_the_likeliest(*map(settings.get, TRUNCATION)):
        settings["temp"] = 0.0
    given = list(logits_processor or [])
    ours = [each for each in given if isinstance(each, CTWLLogitsProcessor)]
    others = llama_cpp.LogitsProcessorList([each for each in given if not isinstance(each, CTWLLogitsProcessor)])
    if len(ours) > 1:
        raise OptionOutOfRange("a text carries one record: pass one CTWLLogitsProcessor")
    chain = type(own)._init_sampler(own, logits_processor=others or None, **settings)
    if not ours:
        return chain
    ours[0].check(own)
    fixed = settings.get("grammar") is not None  # of a response format and a call that is required, too
    text = ours[0].begin(settings["temp"], settings["mirostat_mode"], fixed_form=fixed, note=True)
    return chain if text is None else MarkedSampler(chain, text, own.n_vocab(), partial(_read, llama))


def _read(llama: weakref.ref[Any]) -> list[int]:
    """The last tokens that a model has read."""
    own: Any = llama()
    read: list[int] = own.input_ids[: own.n_tokens][-PROMPT_TOKENS:].tolist()
    return read
