"""Ray gives the rows of the plain scan. One cluster of one CPU for all tests here, which is most of their time."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ctwl_decoder import Decoder
from ctwl_decoder.apps.scan import Decoded, Settings, Watch, here, parts_of, scan
from ctwl_decoder.errors import ClusterFailed
from ctwl_protocol import Profile, get_profile
from ctwl_protocol.proxy import Proxy, open_proxy

ray: Any = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.*", "ignore::FutureWarning:ray.*")

VANILLA = "org.ctwl.smollm2-135m.vanilla.1"
PROFILE = Profile.model_validate(
    {**get_profile(VANILLA).model_dump(), "name": "org.example.scan.1", "colours": 16},
)
SETTINGS = Settings(PROFILE, alpha=0.3, beacons=((701, 9),), chunk=(4, 4000))  # some chance finds, to compare
TEXTS = [f"{i} The council met on Tuesday and talked about bridge {i}, the school and the weather. " for i in range(30)]


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return Decoder(Proxy(PROFILE, open_proxy(VANILLA).tokenizer, None))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.MonkeyPatch().setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    lines = [json.dumps({"text": text * 3}) for text in TEXTS]
    (tmp_path / "a.jsonl").write_text("\n".join([*lines[:7], "{bad", *lines[7:]]))
    return tmp_path / "a.jsonl"


def test_a_cluster_gives_the_same_rows_and_takes_up_what_another_engine_began(
    cluster: None, decoder: Decoder, corpus: Path, tmp_path: Path
) -> None:
    from ctwl_decoder.apps.scan.ray import cluster as on_cluster

    class Stop(Watch):
        def add(self, decoded: Decoded) -> None:
            raise KeyboardInterrupt

    scan([corpus], tmp_path / "here", SETTINGS, here(lambda: decoder))
    with pytest.raises(KeyboardInterrupt):
        scan([corpus], tmp_path / "there", SETTINGS, here(lambda: decoder), watch=Stop())
    assert len(list(parts_of(tmp_path / "there").glob("part-*"))) == 1
    summary = scan([corpus], tmp_path / "there", SETTINGS, on_cluster())
    assert summary.documents == 31 and dict(summary.errors) == {"record-malformed": 1}
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    assert {True, False, None} == set(pq.read_table(tmp_path / "here")["detected"].to_pylist())
    assert ray.is_initialized()  # it was not ours to end


def test_a_dataset_gets_the_decoders_columns(cluster: None, decoder: Decoder) -> None:
    from ctwl_decoder.apps.scan.ray import scan_dataset

    texts = [*TEXTS[:5], None]
    dataset = ray.data.from_items([{"key": i, "text": text} for i, text in enumerate(texts)])
    found = sorted(scan_dataset(dataset, SETTINGS, batch_size=4).take_all(), key=lambda row: row["key"])
    assert [row["text"] for row in found] == texts
    for row, text in zip(found, TEXTS[:5], strict=False):
        assert row["p_value"] == decoder.decode(text, beacons=SETTINGS.beacons).p_value
    assert found[5]["error"] == "text-missing" and found[5]["detected"] is None


def test_a_decoder_that_cannot_be_opened_is_an_error_of_ours(cluster: None, corpus: Path, tmp_path: Path) -> None:
    from ctwl_decoder.apps.scan.ray import cluster as on_cluster
    from ctwl_protocol import CTWLError

    with pytest.raises(CTWLError, match="nowhere") as failed:
        scan([corpus], tmp_path / "o", SETTINGS, on_cluster(proxy_path="/nowhere"))
    assert failed.value.code in ("proxy-not-found", ClusterFailed.code)
