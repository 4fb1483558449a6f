"""What the texts answer or go on from: a set of prompts that comes with the package, or a file of the caller's."""

from __future__ import annotations

from ctwl_encoder.errors import OptionOutOfRange
from ctwl_encoder.options import check_prompts
from ctwl_protocol.files import read_bounded

_MAX_FILE = 1 << 22

GROUP = 4
"""Texts of one prompt that are compared with each other. The first two share a nonce and the last two another one, so
that texts with the same nonce and with different ones are both seen."""

REQUESTS = (
    "Explain how a bicycle stays upright, so that a child of twelve can follow.",
    "Write a short story about a lighthouse keeper who finds a letter on the beach.",
    "My neighbour's dog barks every night. Write a friendly letter to the neighbour about it.",
    "What should I think about before I rent my first flat? Give me detailed advice.",
    "Summarize what happened in the Industrial Revolution, and why it began in England.",
    "Write a news report about a town that opens a new public library.",
    "Compare travelling by train with travelling by plane. Which one is better, and when?",
    "How do I make a vegetable soup? Describe each step and say why it matters.",
)
"""Requests of several kinds to a model that chats: explanation, story, letter, advice, summary, news, opinion,
instruction. Each asks for an answer of some length, since a short one carries nothing."""

OPENINGS = (
    "The council said on Tuesday that the new bridge over the river would",
    "When the old lighthouse keeper opened the door that morning, he",
    "Dear Maria, thank you for your letter. Since I last wrote to you,",
    "Before you rent your first flat, there are some things to think about. First,",
    "The Industrial Revolution began in England because",
    "Scientists at the university have found a new way to",
    "I have travelled by train for many years, and in my opinion",
    "To make a good vegetable soup, begin by",
)
"""Openings of texts of the same kinds, for a model that goes on with what it is given."""


def read_prompts(path: str) -> list[str]:
    """The prompts in a file, one a line; empty lines are left out.

    Raises:
        OptionOutOfRange: the file cannot be read, is too large or no UTF-8, or has no prompt.
    """
    try:
        text = read_bounded(path, _MAX_FILE).decode("utf-8-sig")
    except OSError as error:
        raise OptionOutOfRange(
            f"cannot read the prompts from {path}: {error.strerror or error}; name a UTF-8 text file with one prompt a "
            "line"
        ) from error
    except UnicodeDecodeError as error:
        raise OptionOutOfRange(f"the prompts in {path} are not UTF-8 (byte {error.start})") from error
    prompts = [line.strip() for line in text.splitlines() if line.strip()]
    if not prompts:
        raise OptionOutOfRange(f"{path} has no prompt; write one a line")
    return check_prompts(prompts)
