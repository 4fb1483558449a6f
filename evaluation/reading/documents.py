"""Does the decoder find nothing in long texts by people?

Documents of 1,000 to 3,000 tokens are cut from the given files, evenly spread. Each is read as any text is. The p-value
is the report's, corrected for all codes and windows, so it may not lie below uniform.
"""

from __future__ import annotations

import numpy as np

from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.human import documents
from ..shared.measures import small_p_values
from ..shared.outcomes import LEVEL
from ..shared.readers import reader


@experiment(quick={"texts": 2, "longest": 1100}, takes="human", texts=200, longest=3000, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    decoder = reader()
    sizes = np.random.default_rng(options.seed).integers(1000, options.longest + 1, options.texts).tolist()
    texts = documents(decoder.tokenizer, options.files, sizes)
    p_values = np.array([decoder.decode(text).p_value for text in tracked(texts, "reading")])
    found = small_p_values(p_values, (0.05, 0.01, 1e-3, LEVEL, 1e-5))
    counted = {"documents": len(texts), "tokens": sum(sizes), "smallest p": found.pop("smallest")}
    return {"human": counted | found}


if __name__ == "__main__":
    main()
