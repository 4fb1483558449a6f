"""The token bridge: for every token that the provider's model may write, the proxy token that a reader would see.

The model writes in its own vocabulary, the reader reads in the proxy's. The candidates for the next token differ at
*branches*: places in the reader's token sequence where some show one proxy token and some another (spec section 8.5).
Most of the mass is at one branch, the place after the text so far. A candidate that continues the last word differs
before it.

Where the proxy's tokenizer certainly cuts between the text and a candidate, the candidate has the same proxy tokens as
alone, and these are known before generation starts. Of the other candidates only the likely ones are tokenized together
with the tail of the text, see :mod:`.continuations`. All that is left out keeps its probability, so no result is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import TokenizerUnsupported
from ..text.normalization import normalize_within
from .continuations import MOST_JOINED, Continuations, Path, follow
from .vocabulary import Vocabulary, read_vocabulary, spell_byte_level
from .written import Kind, Step, Tail, Written, append_normalized, breaks, grow, kind, spaced

if TYPE_CHECKING:
    from ..proxy import Proxy

NEGLIGIBLE = 1e-6
"""Candidates below this probability keep it; together they have about 0.4 % of the mass at temperature 1. Chosen by
hand: it bounds the work of a step."""

JOINED = 64
"""Candidates that may merge with the tail are tokenized with it from a probability of 1 / JOINED on, so there are never
more than this at one step. ``evaluation/writing/lookahead.py`` measures what fewer cost."""

JOINED_TEXT = 2048
"""Characters that are tokenized for one tail at one step, the tail counted with each candidate. It bounds the work for
a long tail, a millisecond or two; candidates beyond it keep their probability. Chosen by hand: words and their
candidates have half of it at most."""

_REMEMBERED = 1 << 29
"""Bytes of tails, steps and candidates that are remembered; beyond them all are forgotten. Chosen by hand: only speed
and memory depend on it."""

_STEP_BYTES = 640
"""Memory of a step and its tail, as measured with tracemalloc; and for each token of the tail:"""

_TOKEN_BYTES = 64

_SPACED = len(Kind)
"""Opening of a candidate that starts with a space and goes on with something else: a new word."""

_NOTHING = len(Kind) + 1
"""Opening of a candidate that adds no text, or none that can be told without the text before."""

OPENINGS = len(Kind) + 2
"""Ways in which a candidate may begin: the kinds of characters, and the two of this module."""

_NOWHERE: NDArray[np.int32] = np.full(OPENINGS, -1, dtype=np.int32)
"""The place of each opening after a tail that has none: every candidate may merge."""


class Branch(NamedTuple):
    """A place in the reader's token sequence at which the candidates for the next token differ.

    Attributes:
        path: proxy tokens between the settled ones and the place.
        candidates: int64 (n,), token ids of the provider's model.
        tokens: int64 (n,), the proxy token that each shows at the place.
        mass: float64 (n,), the probability of each.
    """

    path: Path
    candidates: NDArray[np.int64]
    tokens: NDArray[np.int64]
    mass: NDArray[np.float64]

    def without(self, tokens: Collection[int]) -> Branch:
        """The candidates that show none of these tokens."""
        kept = ~np.isin(self.tokens, list(tokens))
        return Branch(self.path, self.candidates[kept], self.tokens[kept], self.mass[kept])


class Bridge:
    """From a provider's vocabulary to a proxy's.

    Attributes:
        proxy: the profile's proxy, whose profile and tokenizer alone are of use here; its proxy LM is not asked.
        vocabulary: bytes of each of the provider's tokens.
        first: int32 (size,), the first proxy token of each token alone; 0 where nothing is known of it.
        opening: uint8 (size,), the kind of each token's first character, or one of the two openings of this module.
        breaks: bool (7, 7), where the proxy's rule cuts for certain, see :func:`.written.breaks`.
        after: int32 (7, openings), by the kind of a text's last character and a candidate's opening: 0 where they are
            certainly cut apart, as new words always are, else -1.
        own: whether the provider's vocabulary is the proxy's own, but for a tenth of its tokens at most.
    """

    def __init__(self, tokenizer: Vocabulary | Any, proxy: Proxy, *, joined: int = JOINED) -> None:
        """Tokenize each token of the provider alone: about a second for 50,000 tokens.

        Args:
            tokenizer: the provider's, a Hugging Face tokenizer; or what its tokens add to the text.
            proxy: the profile's proxy.
            joined: most candidates that are tokenized with the tail at one step, see :data:`JOINED`; 0 for none.

        Raises:
            TokenizerUnsupported: see :func:`ctwl_protocol.bridge.read_vocabulary`.
        """
        self.vocabulary: Vocabulary = tokenizer if isinstance(tokenizer, list) else read_vocabulary(tokenizer)
        self.proxy = proxy
        self.joined = joined
        self.floor = 1 / joined if joined else 2.0
        rule = proxy.profile.tokenizer.pre_tokenizer
        self.breaks, joining = breaks(rule), spaced(rule)
        texts = [text_alone(data) for data in self.vocabulary]
        tokens = proxy.tokenizer.encode_within([text or "" for text in texts])
        self.first: NDArray[np.int32] = np.array([ids[0] if ids else 0 for ids in tokens], dtype=np.int32)
        self.own = sum(list(ids) == [i] for i, ids in enumerate(tokens)) > 0.9 * len(tokens)
        self.opening: NDArray[np.uint8] = np.array(
            [_opening(text, joining) if ids else _NOTHING for text, ids in zip(texts, tokens, strict=True)],
            dtype=np.uint8,
        )
        certain = np.concatenate([self.breaks, [[True, False]] * len(Kind)], axis=1)
        self.after: NDArray[np.int32] = np.where(certain, 0, -1).astype(np.int32)
        self.forget()

    @cached_property
    def singles(self) -> NDArray[np.bool_]:
        """Which proxy tokens are one character outside ASCII, or a part of one: bool (proxy tokens,)."""
        by_id = sorted(self.proxy.tokenizer.vocabulary, key=self.proxy.tokenizer.vocabulary.__getitem__)
        return np.array([_is_single(spell_byte_level(token)) for token in by_id])

    def check_size(self, size: int) -> None:
        """Refuse a model that cannot write what its tokenizer reads.

        Args:
            size: of the model's vocabulary.

        Raises:
            TokenizerUnsupported: the tokenizer is another model's.
        """
        last = next(i for i in reversed(range(len(self.vocabulary))) if self.vocabulary[i])
        if last >= size:
            raise TokenizerUnsupported(
                f"the tokenizer has text for token {last}, and the model has only {size} tokens, so it is another "
                "model's; load both from one folder or by one name"
            )

    def forget(self) -> None:
        """Forget all tails and steps. Texts that are being written go on from the tails that they have."""
        self._tails: dict[tuple[str, bytes, bool], Tail] = {}
        self._settled = Tail(begun=True)
        """After a text all of which is settled."""
        self._bytes = 0

    def _remember(self, size: int) -> None:
        """Count what was added, in bytes; forget all where it becomes too much."""
        self._bytes += size
        if self._bytes > _REMEMBERED:
            self.forget()

    def start(self) -> Written:
        """An empty text."""
        return Written(self.proxy.profile.prefix_length, self._same(Tail()))

    def read(self, data: bytes) -> Step:
        """The step that a longer piece of text makes at the start: all of it is tokenized at once."""
        step = grow(self.start().tail, data, self.proxy.tokenizer, self.breaks)
        self._remember(_STEP_BYTES + _TOKEN_BYTES * len(step.tail.tokens))
        return step._replace(tail=self._same(step.tail))

    def said(self, tokens: Sequence[int]) -> bytes:
        """The text of the provider's tokens behind the last one that becomes no text, such as a special token."""
        ending = list(takewhile(self.writes, reversed(tokens)))
        return b"".join(self.vocabulary[token] or b"" for token in reversed(ending))

    def step(self, tail: Tail, token: int) -> Step | None:
        """The step that a token of the provider's model makes after a tail; None where it becomes no text."""
        step = tail.steps.get(token)
        if step is None and self.writes(token):
            step = self._new_step(tail, token)
            tail.steps[token] = step
            self._remember(_STEP_BYTES + _TOKEN_BYTES * len(step.now))
        return step

    def alone(self, token: int) -> Step:
        """The step that a token which writes makes after a text all of which is settled."""
        step = self.step(self._settled, token)
        assert step is not None  # noqa: S101 - it writes
        return step

    def _new_step(self, tail: Tail, token: int) -> Step:
        known = self.continuations(tail)
        place = int(known.place_of[self.opening[token]])
        if place >= 0:
            # Cut off from the tail: the tail is settled, and the token reads as it does alone.
            alone = self.alone(token)
            return Step.to(alone.tail, known.paths[place] + alone.settled)
        step = grow(tail, self.vocabulary[token] or b"", self.proxy.tokenizer, self.breaks)
        return step._replace(tail=self._same(step.tail))

    def _same(self, tail: Tail) -> Tail:
        """The tail that is known already, if one is the same."""
        return self._tails.setdefault((tail.text, tail.pending, tail.begun), tail)

    def writes(self, token: int) -> bool:
        """Whether a token of the provider's model becomes text."""
        return 0 <= token < len(self.vocabulary) and bool(self.vocabulary[token])

    def continuations(self, tail: Tail) -> Continuations:
        """What is known of the candidates after a tail."""
        if tail.continuations is None:
            tail.continuations = Continuations(tail.tokens, *self._follow(tail))
        return tail.continuations

    def join(self, tail: Tail, candidates: Iterable[int], most: int = JOINED_TEXT) -> int:
        """Tokenize candidates together with a tail, where this was not done yet.

        Args:
            tail: the end of the text so far.
            candidates: token ids that may merge with it.
            most: characters that are tokenized, see :data:`JOINED_TEXT`.

        Returns:
            How many characters were tokenized; 0 where all is known, or no more is.
        """
        known = self.continuations(tail)
        new = [i for i in candidates if i not in known.joined and i < len(self.vocabulary)]
        if len(known.joined) >= MOST_JOINED:
            return 0
        texts, size = list[str](), 0
        for candidate in new:
            text = append_normalized(tail, self.vocabulary[candidate] or b"")[0]
            if size + len(text) > most:
                break
            texts.append(text)
            size += len(text)
        if texts:
            tokens = map(tuple, self.proxy.tokenizer.encode_within(texts))
            self._remember(known.add(dict(zip(new, tokens, strict=False))))
        return size

    def branches(self, written: Written, probabilities: NDArray[np.float32]) -> list[Branch]:
        """The places at which the candidates for the next token differ (spec section 8.5).

        Args:
            written: the text so far.
            probabilities: float32 (size,), of the provider's model; rows beyond its vocabulary are no candidates.

        Returns:
            The branches. Candidates that are in none are negligible, or their proxy tokens are not known.
        """
        chances = probabilities[: len(self.vocabulary)]
        likely = np.flatnonzero(chances >= self.floor)
        known = self.continuations(written.tail)
        self.join(written.tail, likely[known.place_of[self.opening[likely]] < 0].tolist())
        candidates = np.flatnonzero(chances > NEGLIGIBLE)
        places = known.place_of[self.opening[candidates]]
        joined = known.entries[chances[known.entries[:, 0]] >= self.floor]
        branches = []
        for place, path in enumerate(known.paths):
            own, inside = candidates[places == place], joined[joined[:, 1] == place]
            chosen = np.concatenate([own, inside[:, 0]])
            tokens = np.concatenate([self.first[own], inside[:, 2]]).astype(np.int64)
            if len(chosen):
                branches.append(Branch(path, chosen, tokens, chances[chosen].astype(np.float64)))
        return branches

    def _follow(self, tail: Tail) -> tuple[list[Path], NDArray[np.int32]]:
        """The paths after which the candidates follow that are cut off from the tail, and the place of each opening.

        Returns:
            The paths; int32 (OPENINGS,), an index of these for each opening, -1 where a candidate may merge.
        """
        if tail.pending or not tail.text:
            return [], _NOWHERE
        before = kind(tail.text[-1])
        if before not in (Kind.SPACE, Kind.WHITE):
            return [tail.tokens], self.after[before]
        # How white space is tokenized depends on the character after it.
        probes = {_SPACED: " x"}
        if before is Kind.WHITE:
            probes |= {Kind.LETTER: "x", Kind.DIGIT: "1", Kind.MARK: "<", Kind.APOSTROPHE: "'"}
        return follow(tail.text, self.after[before] >= 0, probes, self.proxy.tokenizer)


def text_alone(data: bytes | None) -> str | None:
    """A token's normalized text, None where its bytes are no whole characters."""
    try:
        return normalize_within(data.decode()) if data else None
    except UnicodeDecodeError:
        return None


def _is_single(data: bytes) -> bool:
    return not data.isascii() and sum(byte & 0xC0 != 0x80 for byte in data) <= 1


def _opening(text: str | None, joining: frozenset[Kind]) -> int:
    """The kind of a text's first character, or one of the two openings of this module; ``joining``: see ``spaced``."""
    if not text:
        return _NOTHING
    first = kind(text[0])
    if first is Kind.SPACE and len(text) > 1:
        # A space belongs to the word after it, else it begins a run of white space.
        return _SPACED if kind(text[1]) in joining else int(Kind.SPACE)
    return _NOTHING if first is Kind.OPEN else int(first)
