"""The parts of a text: an answer, the reasoning before it, and calls of tools. Tags that are single tokens divide them.

People read the answer. Reasoning is shown beside it at most, so a reader has one of them alone. So each part is a text
of its own: the answer is marked as if nothing stood between its own tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from ctwl_protocol.bridge import Vocabulary


class Part(StrEnum):
    """What a token belongs to."""

    ANSWER = "answer"
    REASONING = "reasoning"
    CALL = "call of a tool"


TAGS = {
    b"<think>": (Part.REASONING, True),
    b"</think>": (Part.REASONING, False),
    b"<tool_call>": (Part.CALL, True),
    b"</tool_call>": (Part.CALL, False),
}
"""By a tag its part, and whether it opens the part. Models of several families have a token for each; of one without,
all is answer."""


class Parts:
    """Says which part of a text the next token belongs to, and whether it is to be marked."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        reasoning: bool = True,
        calls: bool = False,
        tags: Mapping[int, tuple[Part, bool]] | None = None,
    ) -> None:
        """Look for the tags among a model's tokens.

        Args:
            vocabulary: bytes of each token.
            reasoning: whether reasoning is marked.
            calls: whether calls of tools are marked.
            tags: further tags by their tokens, which an engine knows; they are as in :data:`TAGS`.
        """
        self._marked = {Part.ANSWER: True, Part.REASONING: reasoning, Part.CALL: calls}
        self._tags = {token: TAGS[data] for token, data in enumerate(vocabulary) if data in TAGS} | dict(tags or {})
        self._special = {token for token, data in enumerate(vocabulary) if data is None} - self._tags.keys()

    def begin(self, prompt: Sequence[int]) -> Part:
        """The part of the first token behind a prompt: a chat's template may have opened the reasoning.

        Args:
            prompt: the model's tokens, as many of the last as are known. A special token ends what stands before it.
        """
        part = Part.ANSWER
        for token in prompt:
            part = Part.ANSWER if token in self._special else self.after(part, token)
        return part

    def why_unmarked(self, part: Part) -> str | None:
        """Why the tokens of a part are not marked, as docs/providers/monitoring.md lists it; None where they are."""
        return None if self._marked[part] else str(part)

    def after(self, part: Part, token: int) -> Part:
        """The part of the token behind one of some part. A tag inside of another part is a word of that part."""
        of, opens = self._tags.get(token, (None, False))
        if of is not None and opens and part is Part.ANSWER:
            return of
        return Part.ANSWER if of is part else part
