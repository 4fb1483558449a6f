"""The parts of a text: what divides it, which are marked, and what a reader of the answer alone finds."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ctwl_decoder import Decoder
from ctwl_encoder import Bridge, Encoder
from ctwl_engines.note import Note
from ctwl_engines.parts import Part, Parts
from ctwl_engines.policy import Policy
from ctwl_engines.served import Served, extend
from ctwl_engines.serving import Serving

WORDS = [b"<think>", b"</think>", b"<tool_call>", b"</tool_call>", b" word", None, b" other"]
THINK, THOUGHT, CALL, CALLED, WORD, SPECIAL, _ = range(len(WORDS))


def told(parts: Parts, tokens: list[int], part: Part = Part.ANSWER) -> list[str]:
    """The part of the token behind each."""
    found = []
    for token in tokens:
        part = parts.after(part, token)
        found.append(str(part))
    return found


def test_tags_divide_a_text() -> None:
    parts = Parts(WORDS)
    text = [THINK, WORD, THOUGHT, WORD, CALL, WORD, CALLED, WORD]
    reasoning, call, answer = "reasoning", "call of a tool", "answer"
    assert told(parts, text) == [reasoning, reasoning, answer, answer, call, call, answer, answer]
    assert told(parts, [THINK, CALL, CALLED, THOUGHT]) == [reasoning, reasoning, reasoning, answer]
    assert told(parts, [THOUGHT, CALLED, WORD]) == [answer] * 3
    assert told(Parts(WORDS[4:]), [0, 1, 2]) == [answer] * 3


def test_a_chat_template_may_open_the_reasoning_or_close_it() -> None:
    parts = Parts(WORDS)
    assert parts.begin([WORD, SPECIAL, WORD, THINK]) is Part.REASONING
    assert parts.begin([SPECIAL, THINK, WORD, THOUGHT]) is Part.ANSWER
    assert parts.begin([THINK, WORD, SPECIAL, WORD]) is Part.ANSWER  # of another turn
    assert parts.begin([]) is Part.ANSWER


def test_an_engine_may_know_tags_of_its_own() -> None:
    parts = Parts(WORDS, tags={SPECIAL: (Part.REASONING, True), WORD: (Part.REASONING, False)})
    assert told(parts, [SPECIAL, CALL, WORD]) == ["reasoning", "reasoning", "answer"]
    assert parts.begin([SPECIAL]) is Part.REASONING


@pytest.mark.parametrize(("reasoning", "calls"), [(True, False), (False, True)])
def test_which_parts_are_marked(reasoning: bool, calls: bool) -> None:
    parts = Policy(provider=42, reasoning=reasoning, fixed_forms=calls).parts(WORDS)
    assert parts.why_unmarked(Part.ANSWER) is None
    assert parts.why_unmarked(Part.REASONING) == (None if reasoning else "reasoning")
    assert parts.why_unmarked(Part.CALL) == (None if calls else "call of a tool")
    assert Policy(provider=42).reasoning and not Policy(provider=42).fixed_forms


# of a server


TAGS = {1: (Part.REASONING, True), 2: (Part.REASONING, False), 3: (Part.CALL, True), 4: (Part.CALL, False)}


class Engine:
    """An engine that serves one text, whose model writes printable characters by chance, and tags where it is told."""

    def __init__(self, bridge: Bridge, **decided: Any) -> None:
        policy = Policy(**{"provider": 42, "version": 3, "nonce": 7, "profile": "org.ctwl.toy.1", **decided})
        self.serving, self.size = Serving(policy, bridge, tags=TAGS), len(bridge.vocabulary)
        self.bridge, self.chance = bridge, torch.Generator().manual_seed(4)
        served = self.serving.begin({}, 1.0, Note.drawn("one"))
        assert served is not None
        self.served: Served = served

    def write(self, count: int, first: int | None = None) -> tuple[str, int]:
        """So many characters behind a tag: they, and how many of them were drawn from what was marked."""
        written, marked = [], 0
        for token in [first] * (first is not None) + [None] * count:
            logits = torch.full((1, self.size), -torch.inf)
            logits[:, 32:127] = torch.randn(1, 95, generator=self.chance)
            before = logits.clone()
            self.serving.mark(logits, {0: (self.served, self.served.text)})
            drawn = token
            if drawn is None:
                marked += not torch.equal(before, logits)
                noise = -torch.empty(1, self.size).exponential_(generator=self.chance).log()
                drawn = int((logits + noise).argmax())
                written.append(drawn)
            self.serving.extend([self.served], [[drawn]])
        return b"".join(self.bridge.vocabulary[each] or b"" for each in written).decode(), marked


def test_the_answer_is_a_text_of_its_own(toy: Encoder, toy_decoder: Decoder) -> None:
    """What it would be without reasoning before it and calls of tools within: whole in the log, and found alone."""
    engine = Engine(toy.bridge)
    reasoning, marked = engine.write(120, first=1)
    assert marked > 90
    first, _ = engine.write(100, first=2)
    assert engine.write(60, first=3)[1] == 0
    second, marked = engine.write(100, first=4)
    assert marked > 90  # it goes on
    served = engine.served
    texts = served.marker.texts
    alone = served.marker.start(texts.payloads[served.empty], 0.5)
    for token in (first + second).encode():
        served.marker.extend([alone], [token])
    assert texts.of(alone).pairs.tolist() == texts.of(served.text).pairs.tolist()
    code = texts.payloads[served.empty].carried[0]
    assert toy_decoder.decode(first + second).code == code == toy_decoder.decode(reasoning).code
    assert served.marker.chance_found(served.text) > 0.5


def test_reasoning_that_nobody_sees_is_left_alone(toy: Encoder) -> None:
    engine = Engine(toy.bridge, reasoning=False)
    engine.served.follow([1])
    assert engine.write(60)[1] == 0
    _, marked = engine.write(60, first=2)
    assert 40 < marked < 60  # but for its first tokens
    assert engine.served.drawn["reasoning"] >= 59


def test_an_engine_that_goes_back_begins_with_the_part_of_its_prompt(toy: Encoder) -> None:
    engine = Engine(toy.bridge, reasoning=False)
    engine.served.follow([1])
    engine.write(20, first=2)
    engine.served.restart()
    assert engine.served.part is Part.REASONING and engine.write(20)[1] == 0


def test_drafts_behind_a_tag_are_not_marked_ahead(toy: Encoder) -> None:
    served = Engine(toy.bridge).served
    extend([served], [[65] * 20])
    served.draft([66, 1, 67])
    assert served.marker.lengths(served.ahead).tolist() == [20, 21, 0, 0]
    extend([served], [[66, 1, 67, 68]])
    assert served.part is Part.REASONING and served.marker.lengths([served.text]).tolist() == [2]


@pytest.mark.parametrize("tags", [[None], [1, 2], [None, 3], [1]], ids=["answer", "both", "call", "reasoning"])
def test_what_is_noted_is_the_answer_where_there_is_one(toy: Encoder, tags: list[int | None]) -> None:
    """So it does not matter what stands before it, or that a text ends with a call."""
    engine, found = Engine(toy.bridge), list[float]()
    engine.served.observe = lambda strategy, chance: found.append(chance)
    for tag in tags:
        engine.write(100, first=tag)
    engine.served.finish()
    assert len(found) == 1 and found[0] > 0.5
