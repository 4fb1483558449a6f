"""Ray gives the rows of the plain scan. One cluster of one CPU for all tests here, which is most of their time."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_scan import small

from ctwl_corpora import Settings
from ctwl_corpora.errors import ClusterFailed
from ctwl_corpora.scan import chunks
from ctwl_corpora.scan.chunks import ChunkReader
from ctwl_corpora.scan.job import parts_of, scan
from ctwl_corpora.scan.ray import on_cluster
from ctwl_corpora.tables import TableReader
from ctwl_protocol.errors import ProxyNotFound

ray: Any = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.*", "ignore::FutureWarning:ray.*"),
]

SETTINGS = Settings([small()], alpha=0.3, beacons=((701, 9),), screen=None)  # some chance finds, to compare
TEXTS = [f"{i} The council met on Tuesday and talked about bridge {i}, the school and the weather. " for i in range(30)]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patched.setattr(chunks, "MOST_DOCUMENTS", 4)
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        yield
        ray.shutdown()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    lines = [json.dumps({"text": text * 3}) for text in TEXTS]
    (tmp_path / "a.jsonl").write_text("\n".join([*lines[:7], "{bad", *lines[7:]]))
    return tmp_path / "a.jsonl"


def test_a_cluster_gives_the_same_rows_and_goes_on_where_another_engine_ended(corpus: Path, tmp_path: Path) -> None:
    def stop(done: float, total: int, rows: pa.Table | None) -> None:
        if rows is not None:
            raise KeyboardInterrupt

    decode = ChunkReader(SETTINGS)
    scan([corpus], tmp_path / "here", decode)
    with pytest.raises(KeyboardInterrupt):
        scan([corpus], tmp_path / "there", decode, watch=stop)
    assert len(list(parts_of(tmp_path / "there").glob("part-*"))) == 1
    summary = scan([corpus], tmp_path / "there", decode, engine=on_cluster())
    assert summary.documents == 31 and dict(summary.errors) == {"record-malformed": 1}
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    assert {True, False, None} == set(pq.read_table(tmp_path / "here")["detected"].to_pylist())
    assert ray.is_initialized()  # this process had connected before


def test_a_dataset_gets_the_columns_of_the_results() -> None:
    """The recipe of docs/pipelines.md."""
    dataset = ray.data.from_items([{"key": i, "text": text} for i, text in enumerate([*TEXTS[:5], None])])
    decoded = dataset.map_batches(
        TableReader, fn_constructor_args=(SETTINGS,), batch_format="pyarrow", batch_size=4, num_cpus=1
    )
    found = sorted(decoded.take_all(), key=lambda row: row["key"])
    assert [row["text"] for row in found] == [*TEXTS[:5], None]
    (decoder,) = TableReader(SETTINGS).decoders
    for row, text in zip(found, TEXTS[:5], strict=False):
        assert row["ctwl_p_value"] == decoder.decode(text, beacons=SETTINGS.beacons, score="whole").p_value
    assert found[5]["ctwl_error"] == "text-missing" and found[5]["ctwl_detected"] is None


def test_a_decoder_that_an_actor_cannot_open_is_an_error_of_ours(corpus: Path, tmp_path: Path) -> None:
    settings = Settings(["org.ctwl.smollm2-135m.1"], beacons=SETTINGS.beacons)
    decode = ChunkReader(settings, proxy_path="/nowhere")
    decode.decoders = ChunkReader(SETTINGS).decoders  # here they are open
    with pytest.raises(ProxyNotFound, match="nowhere"):
        scan([corpus], tmp_path / "o", decode, engine=on_cluster())


@pytest.mark.parametrize(("device", "needs"), [("auto", {"num_cpus": 0, "num_gpus": 1}), ("cpu", {"num_cpus": 1})])
def test_a_machine_of_more_gpus_than_cpus_has_an_actor_for_each_gpu(
    monkeypatch: pytest.MonkeyPatch, device: str, needs: dict[str, int]
) -> None:
    """An actor that waited for a CPU would keep its chunk for ever, and the scan would not end.

    Where the proxy LM computes on CPUs, no GPU is kept from others.
    """
    monkeypatch.setattr(ray, "available_resources", lambda: {"CPU": 1.0, "GPU": 4.0})
    asked: list[dict[str, Any]] = []

    def remote(**options: Any) -> Any:
        asked.append(options)
        raise ConnectionError("enough")

    monkeypatch.setattr(ray, "remote", remote)
    with pytest.raises(ClusterFailed):
        list(on_cluster()(ChunkReader(SETTINGS, device=device), [], lambda size: None))
    assert [{name: each[name] for name in each if name.startswith("num_")} for each in asked] == [needs]
