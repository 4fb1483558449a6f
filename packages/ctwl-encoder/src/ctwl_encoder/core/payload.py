"""What one text is to carry, as the marker needs it, and the permutations that follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile, hashing
from ctwl_protocol.records import slots
from ctwl_protocol.records.beacon import NONCE_COUNT
from ctwl_protocol.records.layouts import Layout
from ctwl_protocol.records.record import Record, slot_seed
from ctwl_protocol.text.positions import Positions

from ..errors import OptionOutOfRange
from .loops import key_with
from .tables import Memo


@dataclass(frozen=True)
class Payload:
    """The codes of one text.

    Attributes:
        carried: what each slot carries: a single code, or the codes of a record and their check.
        layout: the record's; None for a single code.
        key: the provider's colour key, where the layout has an authenticator.
    """

    carried: tuple[int, ...]
    layout: Layout | None = None
    key: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, record: Record, key: bytes | None = None) -> Payload:
        """The codes of a record.

        Raises:
            OptionOutOfRange: the record has an authenticator, and there is no key to colour it with.
        """
        if record.layout.authenticated and key is None:
            raise OptionOutOfRange(
                f"the last code of layout {record.layout.name} is coloured under the provider's key; give its keys"
            )
        return cls(record.carried, record.layout, key)


class Seeds:
    """Seeds of permutations under one profile. What depends on a context alone is remembered for all texts.

    Attributes:
        words: by the key of a context and a set of colours: the two words of its permutations, and the seed of the
            colours (spec sections 6.2 and 6.3).
        slots: by the key of the tokens before a position, the word that decides its slot (spec section 9.4).
        slot_tail: how many tokens before a position decide its slot.
    """

    def __init__(self, profile: Profile) -> None:
        """Remember nothing yet."""
        self.profile = profile
        self.words, self.slots = Memo(3), Memo(1)
        self.slot_tail = min(slots.TAIL, profile.prefix_length)
        self._sets: dict[tuple[Layout | None, int, int, bytes | None], int] = {(None, 0, 0, None): 0}

    def set_of(self, payload: Payload, slot: int) -> int:
        """The number of the colours that a slot of a payload has; slot 0 is coloured alike in all texts."""
        if slot == 0:
            return 0
        colours = payload.layout, slot, payload.carried[0] % NONCE_COUNT, payload.key
        return self._sets.setdefault(colours, len(self._sets))

    def learn(self, places: Iterable[tuple[Sequence[int], int, int]]) -> None:
        """Note the words of places: of each the context, the slot, and its set of colours."""
        sets, keys, rows = list(self._sets), list[np.uint64](), list[tuple[int, int, int]]()
        for context, slot, colours in dict.fromkeys(places):
            layout, _, nonce, key = sets[colours]
            seed = slot_seed(self.profile, context, layout=layout, slot=slot, nonce=nonce, key=key)
            keys.append(key_with(key_of(context, slot), colours))
            rows.append((*hashing.partition_seed(self.profile.key, context), seed))
        self.words.add(np.array(keys, dtype=np.uint64), np.array(rows))

    def learn_slots(self, tails: Iterable[Sequence[int]]) -> None:
        """Note the words of the tokens before positions, as many as decide the slot."""
        words = {key_of(tail, 0): hashing.slot_word(self.profile.key, tail) for tail in tails}
        self.slots.add(np.array(list(words), dtype=np.uint64), np.array([[word] for word in words.values()]))

    def warm_up(self) -> None:
        """Learn the words of all contexts of one token in slot 0, so that no text waits for them: half a second."""
        if self.profile.context_length == 1:
            self.learn(((token,), 0, 0) for token in range(self.profile.tokenizer.vocabulary))

    def of_codes(self, codes: NDArray[np.uint32], contexts: Sequence[tuple[int, ...]]) -> NDArray[np.uint32]:
        """``s(c, a)`` of single codes, uint32 (codes,), at several contexts: uint32 (codes, contexts)."""
        key = self.profile.key
        words = [(slot_seed(self.profile, each), *hashing.partition_seed(key, each)) for each in contexts]
        seeds, first, second = np.array(words, dtype=np.uint32).reshape(-1, 3).T
        colours = hashing.code_colours(seeds, codes[:, None], self.profile.colours)
        return hashing.permutation_seed(first, second, colours)


def key_of(tokens: Sequence[int], slot: int) -> np.uint64:
    """A key of tokens and a slot, as :func:`.loops.key_of` makes it."""
    key = np.uint64(slot + 1)
    for token in tokens:
        key = np.uint64(key_with(key, token))
    return key


def pairs_of(read: Positions, slots: int) -> NDArray[np.uint64]:
    """The pairs of a reader's positions, in whatever slot: uint64 (n,), see :attr:`.texts.Log.pairs`."""
    pairs = zip(read.contexts.tolist(), read.observed.tolist(), strict=True)
    return np.array(
        [key_with(key_of(context, slot), token) for context, token in pairs for slot in range(slots)], np.uint64
    )
