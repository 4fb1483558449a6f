"""How many tokens do 20, 40, 60 and 80 bits take?

Records of one to four codes, ``unbiased``, T = 1, of random content; each text is read at several lengths by a decoder
whose registry lists nobody, at the level 1e-4. Whole: the text is found to be marked, and every code of the record that
the report shows is the one that was written.

    python evaluation/lengths.py --out evaluation/results/lengths.json
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from common import OFFLINE, arguments, kept, news_prompts, rate, registries, settings, tracked, write

from ctwl_decoder import Decoder
from ctwl_decoder.statistics.evidence import Evidence, Observe
from ctwl_encoder import Encoder
from ctwl_encoder.encoder import Generation
from ctwl_protocol import Beacon
from ctwl_protocol.proxy import open_proxy
from ctwl_protocol.records.layouts import find_layout
from ctwl_protocol.records.record import Record
from ctwl_protocol.text.positions import Positions

LENGTHS = (60, 80, 100, 130, 160, 200, 300)
LAYOUTS = {20: "beacon", 40: "tagged", 60: "attributed", 80: "relay4"}


def remembered(observe: Observe) -> Observe:
    """Looks a window up where it was seen before: in a text that is cut short all windows are old ones."""
    seen: dict[bytes, tuple[Evidence, int]] = {}

    def recall(cut: Positions, progress: Callable[[int], None]) -> Evidence:
        if not len(cut):
            return observe(cut, progress)
        rows = [row.tobytes() for row in np.column_stack([cut.prefixes, cut.observed])]
        new = np.array([i for i, row in enumerate(rows) if row not in seen], dtype=np.int64)
        if len(new):
            found = observe(Positions(*(column[new] for column in cut)), progress)
            seen.update({rows[i]: (found, k) for k, i in enumerate(new.tolist())})
        return Evidence.joined([seen[row][0][seen[row][1] : seen[row][1] + 1] for row in rows])

    return recall


def random_record(layout: str, rng: np.random.Generator) -> Callable[[Beacon], Record]:
    """A record of this layout behind any beacon, the other fields at random."""
    found = find_layout(layout)

    def record(beacon: Beacon) -> Record:
        return Record(found, (beacon.code, *rng.integers(1 << 20, size=found.codes - 1).tolist()))

    return record


def is_whole(decoder: Decoder, generation: Generation, text: str) -> bool:
    """Whether the record was read from a part of its text."""
    read, record = decoder.decode(text).record, generation.record
    return read is not None and read.layout == record.layout.name and tuple(read.codes) == record.codes


def main() -> None:
    """Run the experiment."""
    options = arguments(__doc__, quick={"texts": 1, "tokens": 100}, texts=30, tokens=300, seed=1, batch=30)
    lengths = [length for length in LENGTHS if length <= options.tokens]
    encoder, proxy = Encoder.open("smollm2", OFFLINE), open_proxy(OFFLINE, fast=True)
    observe, (_, nobody) = kept(proxy), registries()
    prompts, rows = news_prompts(options.texts), []
    for bits, layout in LAYOUTS.items():
        rng = np.random.default_rng([options.seed, bits])
        counts: dict[int, list[bool]] = {length: [] for length in lengths}
        for start in tracked(range(0, options.texts, options.batch), f"{bits} bits"):
            written = encoder.generate(
                prompts[start : start + options.batch], provider=int(rng.integers(1024)), version=start % 16,
                record=random_record(layout, rng), max_new_tokens=max(lengths), min_new_tokens=max(lengths),
                seed=options.seed + start,
            )  # fmt: skip
            for generation in written:
                decoder = Decoder(proxy, remembered(observe), registry=nobody)
                ids = proxy.tokenizer.encode(generation.text)
                for length in sorted(lengths, reverse=True):
                    counts[length].append(is_whole(decoder, generation, proxy.tokenizer.decode(ids[:length])))
        row: dict[str, Any] = {"bits": bits, "layout": layout}
        row["whole"] = {str(n): rate(sum(each), len(each)) for n, each in counts.items()}
        rows.append(row)
    write(
        {"experiment": "lengths", "settings": settings(options, model="smollm2", profile=OFFLINE), "rows": rows},
        options.out,
    )


if __name__ == "__main__":
    main()
