"""The main job in one go: a language model answers a question, its text carries a code, the public decoder reads it.

python tools/demo.py                                  asks QUESTION
python tools/demo.py "How does a lighthouse work?"
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from transformers.utils import logging

from ctwl_decoder import Decoder, describe
from ctwl_encoder import Encoder

QUESTION = "What should I see on a first visit to Rome?"
OFFLINE = "org.ctwl.smollm2-135m.1"
PROVIDER, VERSION, TOKENS, TEMPERATURE = 42, 3, 300, 0.8


def show(title: str, text: str) -> None:
    """Print a titled, wrapped paragraph."""
    print(f"\n{title}\n")
    for line in text.strip().splitlines():
        print(textwrap.fill(line, 100, initial_indent="    ", subsequent_indent="    "))


@contextmanager
def doing(console: Console, what: str) -> Iterator[Callable[[int], None]]:
    """Say what takes its time, and how many tokens there are: in a line that goes away where there is a terminal."""
    if not console.is_terminal:
        console.print(what)
    with console.status(what) as status:

        def progress(tokens: int) -> None:
            status.update(f"{what} {tokens} tokens")
            if not console.is_terminal and tokens % 100 == 0:
                console.print(f"{tokens} tokens ...")

        yield progress


def main(question: str) -> int:
    """Run the demonstration; 0 where the code was read back."""
    logging.set_verbosity_error()
    console = Console(stderr=True)
    with doing(console, "loading SmolLM2 (the first time it is unpacked, about 20 seconds) ..."):
        encoder = Encoder.open("smollm2", OFFLINE)
        decoder = Decoder.open(OFFLINE)
    show("The question", question)
    with doing(
        console, f"answering twice in at most {TOKENS} tokens, with the code and without (one to several minutes) ..."
    ) as progress:
        options: dict[str, Any] = {"max_new_tokens": TOKENS, "temperature": TEMPERATURE}
        (written,) = encoder.generate(question, PROVIDER, VERSION, chat=True, progress=progress, **options)
        asked = encoder.tokenize([question], TOKENS, chat=True)
        plain = encoder.model.generate(**asked, do_sample=True, top_k=0, **options)
    beacon = written.beacon
    show(
        f"What the model answers as provider {beacon.provider}, version {beacon.version}, with a nonce drawn for this "
        f"text ({beacon.nonce}), by the default strategy for temperature {TEMPERATURE} ({written.strategy})",
        written.text,
    )
    with doing(console, "reading both ..."):
        report = decoder.decode(written.text)
        other = decoder.decode(
            encoder.tokenizer.decode(plain[0, asked["input_ids"].shape[1] :], skip_special_tokens=True)
        )
    show("What the public decoder says, from the text alone", describe(report))
    show("What it says of the same model's answer without a code", describe(other))
    right = report.detected and report.code == beacon.code
    print(f"\n{'The code was read back exactly.' if right else 'The code was NOT read back; run it again.'}")
    print("docs/readers/results.md explains each line of a report.")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:]) or QUESTION))
