"""How many tokens do 20, 40, 60 and 80 bits take?

Records of each number of codes, ``race``, T = 1, of random content; each text is read at several lengths by a
decoder whose registry lists nobody, at its default level. Whole: the text is found to be marked, and every code of the
record that the report shows is the one that was written.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ctwl_decoder import Decoder
from ctwl_encoder import Encoder
from ctwl_encoder.encoder import Generation
from ctwl_protocol import Beacon
from ctwl_protocol.records.layouts import find_layout
from ctwl_protocol.records.record import Record
from ctwl_protocol.registry import bundled

from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.prompts import generated
from ..shared.readers import first_tokens, reader

LENGTHS = (60, 80, 100, 130, 160, 200, 300)
LAYOUTS = {20: "beacon", 40: "tagged", 60: "attributed", 80: "relay4"}


def random_record(layout: str, rng: np.random.Generator) -> Callable[[Beacon], Record]:
    """A record of this layout behind any beacon, the other fields at random."""
    found = find_layout(layout)

    def record(beacon: Beacon) -> Record:
        return Record(found, (beacon.code, *rng.integers(1 << 20, size=found.codes - 1).tolist()))

    return record


def is_whole(decoder: Decoder, generation: Generation, tokens: int) -> bool:
    """Whether the record is read from the first tokens of its text."""
    text = first_tokens(decoder.tokenizer, generation.text, tokens)
    read, record = decoder.decode(text).record, generation.record
    return read is not None and read.layout == record.layout.name and tuple(read.codes) == record.codes


@experiment(quick={"texts": 1, "tokens": 100}, texts=30, tokens=300, seed=1, batch=30)
def main(options: Options) -> Result:
    """Run the experiment."""
    lengths = [length for length in LENGTHS if length <= options.tokens]
    encoder, decoder = Encoder.open("smollm2", OFFLINE), reader(registry=bundled().without_entries())
    rows = []
    for bits, layout in LAYOUTS.items():
        rng = np.random.default_rng([options.seed, bits])

        def beacon(start: int, rng: np.random.Generator = rng) -> tuple[int, int]:
            return int(rng.integers(1024)), start % 16

        counts: dict[int, list[bool]] = {length: [] for length in lengths}
        for generation in tracked(
            generated(
                encoder, options.texts, max(lengths), batch=options.batch, seed=options.seed, beacon=beacon,
                record=random_record(layout, rng),
            ),
            f"{bits} bits",
        ):  # fmt: skip
            for length in lengths:
                counts[length].append(is_whole(decoder, generation, length))
        whole = {str(length): rate(sum(each), len(each)) for length, each in counts.items()}
        rows.append({"bits": bits, "layout": layout, "whole": whole})
    return {"rows": rows}


if __name__ == "__main__":
    main()
