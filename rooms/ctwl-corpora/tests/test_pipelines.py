"""The steps in other people's pipelines, by the real libraries, and the page's examples in any order in one process."""

import json
import math
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from marked_words import marked_text
from test_batch import SETTINGS, opened, proxies
from test_scan import PLAIN

from ctwl_corpora import BatchReader
from ctwl_corpora.tables import TableReader
from ctwl_protocol import Beacon

PAGE = Path(__file__).parents[3] / "docs" / "pipelines.md"
LETTER = Path(__file__).parents[3] / "evaluation" / "results" / "example.json"
LIBRARIES = ("datasets", "ray", "datatrove", "nemo_curator")


@pytest.fixture(scope="module")
def marked() -> str:
    return marked_text(proxies()[0], Beacon(700, 9, 21).code, 120, 4)


@pytest.fixture
def reader() -> BatchReader:
    return opened(BatchReader(SETTINGS))


# ---- the steps ----


def test_datatrove_leaves_out_what_is_marked_and_notes_all(marked: str, reader: BatchReader, tmp_path: Path) -> None:
    pytest.importorskip("datatrove")
    from datatrove.data import Document
    from datatrove.pipeline.writers import JsonlWriter

    from ctwl_corpora.datatrove import WatermarkAnnotator, WatermarkFilter

    def given() -> list[Document]:
        return [
            Document(text, str(i), metadata={"version": "mine"}) for i, text in enumerate([PLAIN, marked, "\ud800"])
        ]

    kept = list(WatermarkFilter(reader, JsonlWriter(str(tmp_path), compression=None))(iter(given())))
    assert [document.id for document in kept] == ["0", "2"]
    (line,) = (tmp_path / "00000.jsonl").read_text().splitlines()
    assert json.loads(line)["metadata"]["filter_reason"] == "provider_700"
    plain, found, unread = WatermarkAnnotator(reader)(iter(given()))
    assert (found.metadata["ctwl_provider"], found.metadata["version"]) == (700, "mine")
    assert (plain.metadata["ctwl_read"], unread.metadata["ctwl_error"]) == ("screened", "not-text")
    assert WatermarkFilter(reader).filter(given()[0]) is True


def test_nemo_curator_scores_by_the_p_value(marked: str, reader: BatchReader) -> None:
    pytest.importorskip("nemo_curator.stages.text.filters")
    import pandas as pd
    from nemo_curator.stages.text.filters import Score, ScoreFilter
    from nemo_curator.tasks import DocumentBatch

    from ctwl_corpora.nemo_curator import WatermarkFilter

    step = WatermarkFilter(reader)
    batch = DocumentBatch(
        dataset_name="mine", data=pd.DataFrame({"text": [PLAIN, marked, None], "url": ["a", "b", "c"]})
    )
    scores = Score(step, score_field="p").process(batch).to_pandas()["p"].tolist()
    assert scores[0] == 1 and scores[1] < 1e-6 and math.isnan(scores[2])
    kept = ScoreFilter(step, score_field="p").process(batch)
    assert kept.to_pandas()["url"].tolist() == ["a", "c"]


@pytest.mark.parametrize("form", ["arrow", None])
def test_datasets_get_our_columns_beside_their_own(marked: str, form: str | None) -> None:
    datasets: Any = pytest.importorskip("datasets")
    given = datasets.Dataset.from_dict({"text": [PLAIN, "short", PLAIN, marked], "version": [1, 2, 3, 4]})
    read = given.with_format(form).map(opened(TableReader(SETTINGS)), batched=True, batch_size=2).with_format(None)
    assert read["version"][:] == [1, 2, 3, 4]
    assert read["ctwl_provider"][:] == [None, None, None, 700]  # nulls in a whole batch have their type all the same


# ---- the page ----


def examples() -> dict[str, str]:
    """The page's examples by their library; the last one needs none."""
    codes = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return {
        next((name for name in LIBRARIES if re.search(rf"^(from|import) {name}\b", code, re.M)), ""): code
        for code in codes
    }


HERE = [name for name in LIBRARIES if find_spec(name)]


@pytest.mark.slow
@pytest.mark.pages
@pytest.mark.parametrize("first", range(len(HERE)), ids=HERE)
def test_the_examples_run_in_one_process_in_any_order(first: int, tmp_path: Path) -> None:
    """Each comes first once. Before them a text is read by torch, whose threads a forked child does not have."""
    (tmp_path / "corpus").mkdir()
    letter = json.loads(LETTER.read_text(encoding="utf-8"))["text"]  # by provider 42, version 3
    lines = [json.dumps({"text": text, "version": "mine"}) + "\n" for text in (letter, "Too short.", PLAIN)]
    (tmp_path / "corpus" / "more.jsonl").write_text("".join(lines))
    told = [
        "from ctwl_decoder import Decoder",
        "Decoder.open('org.ctwl.smollm2-135m.1', device='auto').decode('It was a day. ' * 20, score='whole')",
        *(f"{examples()[name]}\nprint({name!r}, flush=True)" for name in ["", *HERE[first:], *HERE[:first]]),
    ]
    (tmp_path / "run.py").write_text("\n".join(told))
    several = {"OMP_NUM_THREADS": "2", "TOKENIZERS_PARALLELISM": "true", "HF_HOME": str(tmp_path)}
    several |= {"HF_HUB_OFFLINE": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    ran = subprocess.run(
        [sys.executable, "run.py"],
        cwd=tmp_path,
        env={**os.environ, **several},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert all(f"{name}\n" in ran.stdout for name in HERE)
    if "datatrove" in HERE:
        assert [path.name.split(".")[0] for path in (tmp_path / "marked").iterdir()] == ["00000"]
    if "datasets" in HERE:
        import pyarrow.parquet as pq

        found = pq.read_table(tmp_path / "found.parquet")
        assert found["ctwl_provider"].to_pylist() == [42, None, None] and found["version"].to_pylist() == ["mine"] * 3
