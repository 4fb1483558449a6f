"""Are whole records read back, and is none read that was not written?

- attributed: beacon and sealed user, 3 codes, in texts of a fixed length, by registered providers.
- excerpts: the middle third of long texts with such a record, cut between proxy tokens.
- beacons: one code, looked for among 20 registered pairs of provider and model version.
- replay: somebody without the key reads the public codes of an authenticated text and writes them anew.

SmolLM2 writes ``race``, the decoder tries all layouts. A whole record has every code right. A wrong one has a code
that was not written; its p-value says how unlikely that should be. The first two are also read with a registry that
lists nobody, where every code is searched alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from typing import Any

import numpy as np

from ctwl_decoder import Decoder
from ctwl_decoder.report.model import Report
from ctwl_encoder import Encoder
from ctwl_encoder.encoder import Generation
from ctwl_protocol import Beacon
from ctwl_protocol.records.record import Record
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry import bundled

from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.prompts import generated
from ..shared.readers import reader

OWNER, OTHER = ProviderKeys(b"evaluation/1".ljust(32)), ProviderKeys(b"evaluation/2".ljust(32))


class Run:
    """The models, and every record that was read where it was not written.

    Attributes:
        decoder, alike, owner: with the bundled registry; with one that lists nobody; with the provider's keys.
        registered: pairs of provider and version.
        wrong: p-values of wrong records.
        records: how many records were read in all.
    """

    def __init__(self, seed: int) -> None:
        self.encoder, registry = Encoder.open("smollm2", OFFLINE), bundled()
        self.decoder = reader(registry=registry)
        self.alike = reader(self.decoder.proxy, registry=registry.without_entries())
        self.owner = reader(self.decoder.proxy, registry=registry, keys=OWNER)
        self.registered = registry.registry.beacons()[:20]
        self.seed = seed
        self.wrong: list[float] = []
        self.records = 0

    def written(
        self,
        texts: int,
        tokens: int,
        record: Callable[[Beacon], Record],
        keys: ProviderKeys | None = None,
        shift: int = 0,
    ) -> list[Generation]:
        """Texts, batch by batch, each batch of one provider, each text with a nonce of its own.

        Args:
            texts: their number.
            tokens: of each.
            record: makes each text's record of its beacon.
            keys: of the provider, where the record needs them.
            shift: is added to the seed.
        """
        return generated(
            self.encoder, texts, tokens, batch=25, seed=self.seed + shift, record=record, keys=keys,
            beacon=lambda start: self.registered[7 * (start // 25) % len(self.registered)],
        )  # fmt: skip

    def attributed(self, *, authenticated: bool = False) -> Callable[[Beacon], Record]:
        """What makes the records of texts for one user after the other."""
        users = count()

        def record(beacon: Beacon) -> Record:
            user = next(users) if authenticated else 1_000_003 * next(users) % (1 << 32)
            return OWNER.attributed(self.decoder.profile, beacon, user, authenticated=authenticated)

        return record

    def whole(self, text: str, written: Record, decoder: Decoder | None = None) -> tuple[bool, Report]:
        """Whether a text's record is the one that was written, as far as anyone can read it."""
        report = (decoder or self.decoder).decode(text)
        public = written.codes[: written.layout.public_codes]
        right = False
        for span in report.spans:
            if span.record is None or span.record.layout is None:
                continue
            self.records += 1
            same = (span.record.layout, tuple(span.record.codes[: len(public)])) == (written.layout.name, public)
            right |= same
            if not same:
                self.wrong.append(span.record.p_value)
        return right, report


def sealed(run: Run, texts: int, tokens: int, *, excerpts: bool = False) -> dict[str, Any]:
    """Three codes in whole texts, or in their middle thirds: how often a whole record was read, and how surely."""
    tokenizer, pairs = run.decoder.tokenizer, []
    for each in run.written(texts, tokens, run.attributed()):
        ids = tokenizer.encode(each.text)
        middle = tokenizer.decode(ids[len(ids) // 3 : 2 * len(ids) // 3])
        pairs.append((middle if excerpts else each.text, each.record))
    read = [run.whole(text, record) for text, record in tracked(pairs, "reading")]
    alike = [run.whole(text, record, run.alike) for text, record in tracked(pairs, "as if not registered")]
    sure = [whole and report.record is not None and report.record.p_value <= 1e-3 for whole, report in read]
    return {
        "tokens": tokens,
        "whole records": rate(sum(whole for whole, _ in read), texts),
        "whole records, provider not registered": rate(sum(whole for whole, _ in alike), texts),
        "detected": rate(sum(report.detected for _, report in read), texts),
        "every code at p <= 1e-3": rate(sum(sure), texts),
    }


def beacons(run: Run, texts: int, tokens: int) -> dict[str, Any]:
    """One code among the registered ones."""
    written = run.written(texts, tokens, lambda beacon: Record.of("beacon", **asdict(beacon)))
    p_values, right = [], []
    for each in tracked(written, "reading"):
        report = run.decoder.decode(each.text, beacons=run.registered)
        p_values.append(report.p_value)
        right.append(report.code == each.beacon.code)
        if report.detected and not right[-1]:
            run.wrong.append(report.p_value)
    sure = np.array(right) & (np.array(p_values) <= 1e-6)
    return {
        "tokens": tokens,
        "registered beacons": len(run.registered),
        "codes searched": 64 * len(run.registered),
        "numbers of codes in a record tried": 4,
        "the right code at p <= 1e-6": rate(int(sure.sum()), texts),
        "median p": float(np.median(p_values)),
    }


def replay(run: Run, texts: int, tokens: int) -> dict[str, Any]:
    """The authenticator against somebody who writes what he can read."""
    genuine, read = [], []
    for number, each in enumerate(run.written(texts, tokens, run.attributed(authenticated=True), keys=OWNER), 1):
        whole, report = run.whole(each.text, each.record, run.owner)
        genuine.append(whole and report.record is not None and report.record.authenticated is True)
        value = OTHER.authenticate(run.decoder.profile, each.record)
        copy = Record(each.record.layout, (*each.record.codes[:3], value))

        def copied(_: Beacon, copy: Record = copy) -> Record:
            return copy

        (again,) = run.written(1, tokens, copied, keys=OTHER, shift=number)
        _, report = run.whole(again.text, copy, run.owner)
        if report.record is not None and report.record.codes[:3] == list(copy.codes[:3]):
            read.append(report.record.authenticated)
    return {
        "tokens": tokens,
        "genuine texts authenticated": rate(sum(genuine), len(genuine)),
        "copied records read": len(read),
        "copied records authenticated": sum(found is True for found in read),
    }


@experiment(
    quick={"texts": 2, "tokens": 150, "long": 300, "short": 80, "beacons": 2, "replays": 1, "authenticated": 200},
    texts=50, tokens=250, long=600, short=120, beacons=100, replays=8, authenticated=360, seed=1,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    run = Run(options.seed)
    return {
        "attributed": sealed(run, options.texts, options.tokens),
        "beacons": beacons(run, options.beacons, options.short),
        "excerpts": sealed(run, options.texts, options.long, excerpts=True),
        "replay": replay(run, options.replays, options.authenticated),
        "records read in all": run.records,
        "wrong records": {"read": len(run.wrong), "at p <= 1e-3": sum(p <= 1e-3 for p in run.wrong)},
    }


if __name__ == "__main__":
    main()
