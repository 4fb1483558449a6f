"""A marker by hand: what spec section 8 says, for one text, from the bridge's exact steps and nothing else."""

import numpy as np
from numpy.typing import NDArray

from ctwl_encoder import Bridge
from ctwl_encoder.core.host import probabilities
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.core.strategies.race.reference import add_lots
from ctwl_encoder.core.texts import Log
from ctwl_protocol import hashing
from ctwl_protocol.partition import reference
from ctwl_protocol.records import slots
from ctwl_protocol.records.record import slot_seed

Place = tuple[int, tuple[int, ...]]
"""The slot and the context."""

WORDS = " The council said that Washington's new bridge, in 2023, will cost $12.50 more:\n\n - the\tstate of the river"

LEAST, FURTHER = 0.01, 0.2
"""The mass that a place needs under ``delta``: the likeliest place, and others. What was marked before needs none."""


class TextByHand:
    """One text."""

    def __init__(self, bridge: Bridge, strategy: Strategy, payload: Payload, strength: float) -> None:
        self.bridge, self.strategy, self.payload, self.strength = bridge, strategy, payload, strength
        self.profile, self.written, self.settled = bridge.proxy.profile, bridge.start(), list[int]()
        self.ended, self.lately = False, set[tuple[Place, tuple[int, ...]]]()

    def extend(self, token: int) -> None:
        step = self.bridge.step(self.written.tail, token)
        self.ended = step is None
        if step is not None:
            self.settled += step.settled
            self.written = self.written.after(step)

    @property
    def tokens(self) -> list[int]:
        """What a reader sees."""
        return [*self.settled, *self.written.tail.tokens]

    def place(self, before: list[int]) -> Place:
        codes = 1 if self.payload.layout is None else self.payload.layout.codes
        tail = before[-min(slots.TAIL, self.profile.prefix_length) :]
        slot = slots.slot_of(codes, hashing.slot_word(self.profile.key, tail)) if codes > 1 else 0
        return slot, tuple(before[-self.profile.context_length :])

    def seen(self) -> list[tuple[Place, int]]:
        """The positions that a reader scores."""
        tokens = self.tokens
        return [(self.place(tokens[:at]), tokens[at]) for at in range(self.profile.prefix_length, len(tokens))]

    def seed(self, place: Place) -> int:
        slot, context = place
        layout, nonce = self.payload.layout, self.payload.carried[0] % 64
        seed = slot_seed(self.profile, context, layout=layout, slot=slot, nonce=nonce if slot else 0)
        code = np.array([self.payload.carried[slot]], dtype=np.uint32)
        colour, words = (
            hashing.code_colours(seed, code, self.profile.colours)[0],
            hashing.partition_seed(self.profile.key, context),
        )
        return int(hashing.permutation_seeds(words, self.profile.colours)[colour])

    def mark(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """The marked logits of the next token, float32 (size,)."""
        marked, seen = logits.copy(), self.seen()
        likely = probabilities(logits[None])[0]
        branches = []
        for branch in self.bridge.branches(self.written, likely):
            before = [*self.settled, *branch.path]
            if len(before) >= self.profile.prefix_length and not self.ended:
                place = self.place(before)
                left = branch.without([token for (at, token) in seen if at == place])
                if len(left.candidates):
                    branches.append((left, place, before))
        if self.strategy is Strategy.RACE:
            for branch, place, _ in branches:
                nats = add_lots(branch, self.seed(place), self.strength)
                marked[branch.candidates] += nats.astype(np.float32)
            return marked
        branches.sort(key=lambda one: -one[0].mass.sum())
        for number, (branch, place, before) in enumerate(branches):
            prefix = tuple(before[-self.profile.prefix_length :])
            if branch.mass.sum() >= (FURTHER if number else LEAST) or (place, prefix) in self.lately:
                self.lately.add((place, prefix))
                weights = self.bridge.proxy.weights(np.array([prefix]))
                seed = np.array([self.seed(place)], dtype=np.uint32)
                inside = reference.members(weights, seed, self.profile.sigma)[0]
                marked[branch.candidates[inside[branch.tokens]]] += np.float32(self.strength)
        return marked


def positions_of(log: Log) -> list[tuple[int, int]]:
    """The positions that were noted, each with its token."""
    return list(zip(log.position.tolist(), log.token.tolist(), strict=True))


def made_logits(bridge: Bridge, rows: int, seed: int, spread: float = 3.0) -> np.ndarray:
    """Logits in which some tokens are likely and most are not."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=spread, size=(rows, len(bridge.vocabulary))).astype(np.float32)
    logits[:, rng.choice(logits.shape[1], 40)] += 12.0
    return logits
