"""Does a reader's question reach the right detector, and does its verdict come back unchanged?

Three providers, each with a detector behind ``ctwl-detector`` in a process of its own: one writes SynthID-Text behind
its code, one vLLM's Gumbel, one its code alone (``shared/detectors.py``). A stranger asks about their texts as
``ctwl-decode ask`` does:

- the text as it is: the decoder finds the signpost, and its detector is asked about the passage found;
- all detectors about the whole text, as where there is no signpost; and about texts without any watermark.

A verdict is *unchanged* if the answer's rate is, to the last digit, that of the detector called without the protocol on
what was sent. It is compared with the verdict on the whole text, too. At the end one detector is down, one slow, and
one lies about a place: what becomes of a question to all?
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ctwl_decoder import Decoder
from ctwl_protocol.registry import Trusted
from ctwl_services.ask.asking import ask_all, queries
from ctwl_services.ask.model import Query, Reply
from ctwl_services.ask.wire import Network
from ctwl_services.detector.detect import Detector
from ctwl_services.detector.settings import read_settings

from ..shared.detectors import PROVIDERS, Provider, registry, serving, written_settings
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.outcomes import LEVEL
from ..shared.readers import reader
from ..shared.texts import Recipe, Text, Writer


def signposted(
    provider: Provider, texts: Sequence[Text], decoder: Decoder, network: Network, own: Detector
) -> dict[str, Any]:
    """The texts of a provider, as a stranger asks about them."""
    right, found, unchanged, same, silent, shares = 0, 0, 0, 0, 0, []
    for text in tracked(texts, provider.name):
        report = decoder.decode(text.text, alpha=LEVEL)
        asked = queries(text.text, report, decoder.registry, level=LEVEL) if report.signposts else []
        if [each.detector.provider for each in asked] != [provider.number] * len(asked) or not asked:
            continue
        right += 1
        replies = ask_all(asked, network, seconds=60)
        found += any(reply.outcome == "found" for reply in replies)
        silent += any(reply.outcome in ("refused", "no-answer") for reply in replies)
        unchanged += all(map(is_own, asked, replies, [own] * len(asked)))
        whole = queries(text.text, report, decoder.registry, level=LEVEL, whole=True)[:1]
        same += any(reply.outcome == "found" for reply in replies) == (own.answer(whole[0].question).outcome == "found")
        shares.append(sum(len(each.question.text) for each in asked) / len(text.text))
    return {
        "provider": provider.name, "scheme": provider.scheme or "the code alone", "texts": len(texts),
        "the right detector asked": rate(right, len(texts)), "found by it": rate(found, len(texts)),
        "answers unchanged": rate(unchanged, max(1, right)),
        "as the detector says of the whole text": rate(same, max(1, right)),
        "without an answer": silent,
        "share of the text that is sent": round(sum(shares) / max(1, len(shares)), 3),
    }  # fmt: skip


def is_own(query: Query, reply: Reply, own: Detector) -> bool:
    """Whether a reply is what the detector says without the protocol."""
    answer = own.answer(query.question)
    places = [(start + query.start, end + query.start) for start, end in answer.places]
    return (reply.outcome, reply.error_rate, reply.places) == (answer.outcome, answer.error_rate, places)


def routed(texts: Sequence[Text], whose: Provider | None, trusted: Trusted, network: Network) -> dict[str, Any]:
    """All detectors are asked about each text: how often the right one, and no other, finds its own."""
    right = others = silent = 0
    for text in texts:
        replies = ask_all(queries(text.text, None, trusted, level=LEVEL), network, seconds=60)
        claims = {reply.provider for reply in replies if reply.outcome == "found"}
        right += whose is not None and whose.number in claims
        others += bool(claims - ({whose.number} if whose else set()))
        silent += any(reply.outcome in ("refused", "no-answer") for reply in replies)
    told = {"texts": len(texts), "found by another": others, "without an answer of all": silent}
    return ({"provider": whose.name, "found by the right one": rate(right, len(texts))} if whose else {}) | told


@contextmanager
def hostile(behaves: str) -> Iterator[tuple[str, int]]:
    """A detector that is down, slow, or lies about a place."""
    lie = (
        b'{"format":"ctwl-answer/1","provider":803,"outcome":"found","basis":["watermark"],"error_rate":0,'
        b'"measured":false,"places":[[0,99999]],"kept_days":0,"says":""}'
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(1 << 16)
                        if behaves == "slow":
                            time.sleep(5)
                        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(lie), lie))

        if behaves != "down":
            threading.Thread(target=serve, daemon=True).start()
        place = listener.getsockname()[:2]
        if behaves == "down":
            listener.close()
        yield place


def misbehaving(text: str, trusted: Trusted) -> list[dict[str, Any]]:
    """What is said of detectors that are down, slow, or lie."""
    ways = dict(zip((each.host for each in PROVIDERS), ("down", "slow", "lies"), strict=True))
    with hostile("down") as one, hostile("slow") as two, hostile("lies") as three:
        network = Network(dict(zip(ways, (one, two, three), strict=True)))
        began = time.monotonic()
        replies = ask_all(queries(text, None, trusted, level=LEVEL), network, seconds=2)
        seconds = round(time.monotonic() - began, 1)
    return [
        {"it": way, "outcome": reply.outcome, "code": reply.code, "says": reply.says, "seconds of all": seconds}
        for way, reply in zip(ways.values(), replies, strict=True)
    ]


@experiment(quick={"texts": 3, "plain": 1, "tokens": 120, "batch": 3}, texts=60, plain=20, tokens=200, seed=1, batch=20)
def main(options: Options) -> Result:
    """Run the experiment."""
    writer, trusted, each = Writer(), registry(), options.texts // len(PROVIDERS)
    decoder = reader(writer.proxy, registry=trusted)
    recipes = [provider.recipe(options.tokens, options.seed, min(options.batch, each)) for provider in PROVIDERS]
    texts = [writer.texts(recipe, each) for recipe in recipes]
    bare = Recipe("plain", tokens=options.tokens, seed=options.seed, batch=min(options.batch, options.plain))
    plain = writer.texts(bare, options.plain)
    with TemporaryDirectory() as folder:
        files = written_settings(writer, Path(folder))
        own = [Detector(read_settings(str(file))) for file in files.values()]
        with serving(files) as network:
            rows = [
                signposted(provider, group, decoder, network, detector)
                for provider, group, detector in zip(PROVIDERS, texts, own, strict=True)
            ]
            all_asked = [
                routed(group, provider, trusted, network) for provider, group in zip(PROVIDERS, texts, strict=True)
            ]
            unmarked = routed(plain, None, trusted, network)
    return {
        "rows": rows,
        "all asked": all_asked,
        "all asked about texts without a watermark": unmarked,
        "misbehaving": misbehaving(texts[0][0].text, trusted),
    }


if __name__ == "__main__":
    main()
