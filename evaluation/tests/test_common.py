"""What the experiments share: which code was likeliest, and when something that is kept is made anew."""

from pathlib import Path

import numpy as np
import pytest
from common import digest, kept, likeliest, sources
from edits import Reader, Reading
from texts import Text

from ctwl_decoder import Decoder
from ctwl_protocol.proxy import open_weigher

TOY = "org.ctwl.toy.1"
NUMBERS = " ".join(str(number) for number in range(200))


def test_the_likeliest_code_needs_not_be_found() -> None:
    report = Decoder.open(TOY).decode(NUMBERS)
    assert report.code is None and report.likeliest is not None
    assert likeliest(report) == report.likeliest.code
    assert likeliest(report.model_copy(update={"likeliest": None})) is None
    assert likeliest(report.model_copy(update={"likeliest": None, "code": 7})) == 7


def test_a_digest_is_of_what_the_files_hold(tmp_path: Path) -> None:
    one, other = tmp_path / "one.txt", tmp_path / "other.txt"
    one.write_text("a")
    other.write_text("b")
    assert digest(one) != digest(other) != digest(one, other) != digest(other, one)
    before = digest(one)
    digest.cache_clear()
    one.write_text("b")
    assert digest(one) == digest(other) != before


def test_what_is_kept_depends_on_the_code_that_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()
    read_bytes = Path.read_bytes

    def noted(path: Path) -> bytes:
        read.add(f"{path.parent.name}/{path.name}")
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    digest.cache_clear()
    sources()
    assert {"evaluation/common.py", "evaluation/texts.py", "core/strategies.py", "ctwl_protocol/hashing.py"} <= read
    read.clear()
    digest.cache_clear()
    kept(open_weigher(TOY), np.arange(9))
    assert {"proxy/weigher.py", "proxy/forward.py", "partition/kernel.py", "text/blocks.py"} <= read


def test_an_edit_of_the_last_token_alone_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def noted(_: Reader, edited: str, __: object) -> Reading:
        read.append(edited)
        return Reading(changed=True, left=1.0, given=1.0, found=True, light=True, p_value=0.0)

    monkeypatch.setattr(Reader, "_read", noted)
    reader = Reader(open_weigher(TOY), Text(NUMBERS, 7, [], [], [], []))
    for edited in (NUMBERS, NUMBERS[:-1] + "8", NUMBERS):
        reader.read(edited)
    assert read == [NUMBERS, NUMBERS[:-1] + "8"]
