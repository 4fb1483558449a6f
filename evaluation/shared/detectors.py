"""Three providers on one machine, each with a detector of its own behind ``ctwl-detector``, in one registry.

The registry is signed by test keys, and the hosts of the detectors are no real ones: questions for them go to this
machine. The example writes a text of each provider, and asks about it as a stranger does:

    python -m evaluation.shared.detectors
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ctwl_decoder import Decoder
from ctwl_operations.registry import drafts
from ctwl_protocol.registry import Envelope, Trusted, keys
from ctwl_protocol.registry.workflow import begin
from ctwl_services.ask.asking import ask_all, queries, together
from ctwl_services.ask.wire import Network
from ctwl_services.ask.wording import in_lines, to_be_sent

from .experiment import OFFLINE
from .outcomes import LEVEL
from .texts import VERSION, Recipe, Writer

_SERVE = "from ctwl_services.detector.command import main; raise SystemExit(main())"


@dataclass(frozen=True)
class Provider:
    """A provider.

    Attributes:
        number: in the registry.
        name: its name.
        scheme: its secret watermark, of :data:`~.secret_marks.SECRET`; empty where it has its code alone.
    """

    number: int
    name: str
    scheme: str

    @property
    def host(self) -> str:
        """Where its detector is, by the registry."""
        return f"{self.name.lower()}.example"

    def recipe(self, tokens: int, seed: int, batch: int) -> Recipe:
        """How its texts are written: its secret watermark behind its code."""
        return Recipe(tokens=tokens, behind=self.scheme, provider=self.number, version=VERSION, seed=seed, batch=batch)

    def settings(self, writer: Writer, tokenizer: Path) -> dict[str, Any]:
        """What ``ctwl-detector`` takes."""
        if not self.scheme:
            return {"provider": self.number, "kind": "ctwl", "profile": OFFLINE}
        return {"provider": self.number, "tokenizer": str(tokenizer), **writer.secret(self.scheme).settings}


PROVIDERS = (
    Provider(801, "Alder", "SynthID-Text"),
    Provider(802, "Birch", "Gumbel (vLLM)"),
    Provider(803, "Cedar", ""),
)


def registry() -> Trusted:
    """What a reader trusts: these providers, with their detectors."""
    now, signers = int(time.time()), (keys.test_key(0), keys.test_key(1))
    roles = [drafts.role(1, [keys.public_bytes(key)]) for key in signers]
    root, listed = drafts.first(use="test", root=roles[0], registry=roles[1], now=now, root_days=99, days=90)
    for each in PROVIDERS:
        told: dict[str, Any] = {"code": each.number, "name": each.name, "contact": f"mail@{each.host}", "until": None}
        listed = drafts.add(listed, "provider", **told, state="active", since=now, models=[], epochs=[])
        listed = drafts.add(
            listed, "model", code=each.number, version=VERSION, name=f"{each.name} {VERSION}", since=now, until=None
        )
        detector = {"scheme": each.scheme or "CTWL", "url": f"https://{each.host}/"}
        listed = drafts.set_detector(listed, each.number, detector)
    signed = (Envelope.unsigned(root).sign(signers[0]), Envelope.unsigned(listed).sign(signers[1]))
    return begin(*(each.to_bytes() for each in signed))


def written_settings(writer: Writer, folder: Path) -> dict[str, Path]:
    """The files that describe the detectors, by host."""
    tokenizer, found = folder / "tokenizer.json", {}
    writer.encoder.tokenizer.backend_tokenizer.save(str(tokenizer))
    for each in PROVIDERS:
        found[each.host] = folder / f"{each.name.lower()}.json"
        found[each.host].write_text(json.dumps(each.settings(writer, tokenizer)), encoding="utf-8")
    return found


@contextmanager
def serving(files: Mapping[str, Path]) -> Iterator[Network]:
    """The detectors as processes, each started by its one command; how their hosts are reached."""
    with ExitStack() as stack:
        started = {host: stack.enter_context(_process([str(file)])) for host, file in files.items()}
        yield Network({host: _place(process) for host, process in started.items()})


@contextmanager
def _process(arguments: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _SERVE, *arguments, "--port", "0", "--rate", "100000", "--max-per-client", "32"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", env=os.environ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _place(process: subprocess.Popen[str]) -> tuple[str, int]:
    """Where it listens, when it does."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    line = process.stdout.readline()
    if " at http://" not in line:
        raise RuntimeError(f"a detector did not start: {line}")
    host, _, port = line.split(" at http://")[1].split("/")[0].rpartition(":")
    return host, int(port)


def told(text: str, decoder: Decoder, network: Network) -> Iterator[str]:
    """What ``ctwl-decode ask`` would say of a text, line by line; its reader has agreed."""
    report = decoder.decode(text)
    asked = queries(text, report, decoder.registry, level=LEVEL)
    yield "The text has a signpost." if report.signposts else "The text has no signpost: all are asked."
    yield from (f"sent {to_be_sent(query, len(text))}" for query in asked)
    yield from in_lines(together(asked, ask_all(asked, network), report))


def main(tokens: int = 200) -> int:
    """The example."""
    writer = Writer()
    decoder = Decoder(writer.proxy, registry=registry())
    texts = {each.name: writer.texts(each.recipe(tokens, 1, 1), 1)[0].text for each in PROVIDERS}
    (plain,) = writer.texts(Recipe("plain", tokens=tokens, batch=1), 1)
    with TemporaryDirectory() as folder, serving(written_settings(writer, Path(folder))) as network:
        for name, text in texts.items():
            print(f"\n=== A text of {name}", *told(text, decoder, network), sep="\n")
        print("\n=== A text without a watermark", *told(plain.text, decoder, network), sep="\n")
        down = Network({**network.local, PROVIDERS[0].host: ("127.0.0.1", 1)})
        print(f"\n=== The same, and {PROVIDERS[0].name} is down", *told(plain.text, decoder, down), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
