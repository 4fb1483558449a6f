"""Several texts of one origin read as one body: short messages that show little alone."""

from __future__ import annotations

import json
import pydoc_data.topics
from pathlib import Path

import numpy as np
import pytest
import recorded_texts

from ctwl_decoder import Decoder
from ctwl_decoder.command import main
from ctwl_decoder.errors import OptionOutOfRange
from ctwl_decoder.report.wording import describe_body
from ctwl_decoder.search.together import MOST_TEXTS
from ctwl_decoder.words import say
from ctwl_protocol import Beacon

OFFLINE = "org.ctwl.smollm2-135m.1"
LIGHT = ["--light", "--profile", OFFLINE]
MESSAGES = recorded_texts.MARKED["messages"]


def test_messages_that_show_nothing_alone_show_their_provider_together(decoder: Decoder) -> None:
    alone = [decoder.decode(message, score="light") for message in MESSAGES[3:9]]
    assert not any(report.detected for report in alone)
    report = decoder.decode_together(MESSAGES[3:9], score="light")
    assert (report.outcome, report.provider, report.version, report.texts) == ("found", 42, 3, 6)
    assert report.p_value < 1e-5 and report.nonces is not None and len(report.nonces) == 6
    assert "in these texts together: " in describe_body(report) and "does not say which" in describe_body(report)


def test_messages_of_people_show_nothing_together(decoder: Decoder) -> None:
    words = " ".join(pydoc_data.topics.topics["exceptions"].split())
    texts = [words[i : i + 250] for i in range(0, 1000, 250)]
    report = decoder.decode_together(texts, score="light")
    assert (report.outcome, report.provider, report.nonces) == ("none", None, None)
    assert f"{say('none')} in these texts (p = " in describe_body(report)


def test_the_order_of_the_texts_does_not_matter(decoder: Decoder) -> None:
    texts, asked = MESSAGES[:4], [(42, 3), (700, 9)]
    there, back = (decoder.decode_together(each, score="light", beacons=asked) for each in (texts, texts[::-1]))
    assert there.p_value == pytest.approx(back.p_value, rel=1e-6)


def test_a_text_that_is_given_twice_shows_no_more(decoder: Decoder) -> None:
    once, twice = (decoder.decode_together([MESSAGES[2]] * n, score="light", beacons=[(42, 3)]) for n in (1, 2))
    assert once.p_value <= twice.p_value < 1e-3


def test_p_values_of_unmarked_texts_are_no_smaller_than_chance(decoder: Decoder) -> None:
    """Of one pair that is asked for, as of all: the texts of people, cut into messages."""
    words = " ".join(" ".join(pydoc_data.topics.topics.values()).split())
    bodies = [[words[start + i : start + i + 240] for i in range(0, 960, 240)] for start in range(0, 48_000, 2_000)]
    pairs = np.random.default_rng(4).permutation(1 << 14)[: len(bodies)]
    beacons = [Beacon.from_code(int(pair) * 64) for pair in pairs]
    found = [
        decoder.decode_together(body, score="light", beacons=[(beacon.provider, beacon.version)]).p_value
        for body, beacon in zip(bodies, beacons, strict=True)
    ]
    for level in (0.3, 0.1, 0.03):
        assert sum(p <= level for p in found) <= 3 + 2 * level * len(found)


def test_no_page_shows_several_texts_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("words")
    assert main(["--together", "--html", str(tmp_path / "x.html"), str(tmp_path / "a.txt")]) == 2
    assert "option-out-of-range" in capsys.readouterr().err and not (tmp_path / "x.html").exists()


def test_only_so_many_texts_are_read_together(decoder: Decoder) -> None:
    for texts in ([], ["One"] * (MOST_TEXTS + 1)):
        with pytest.raises(OptionOutOfRange, match="texts are read together"):
            decoder.decode_together(texts)


def test_the_command_reads_a_folder_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, message in enumerate(MESSAGES[2:8]):
        (tmp_path / f"{number}.txt").write_text(message, encoding="utf-8")
    assert main([*LIGHT, "--together", "--beacon", "42", "--json", str(tmp_path)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["provider"], report["version"], report["texts"]) == (42, 3, 6)
    assert main([*LIGHT, str(tmp_path / "2.txt"), str(tmp_path / "4.txt")]) == 1
    assert "add --together" in capsys.readouterr().out
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert main([*LIGHT, "--together", str(tmp_path)]) == 2
    assert "picture.png: it is a picture" in capsys.readouterr().err
