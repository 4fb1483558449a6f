"""A registry entry that declares few nonces: its provider's texts need less evidence (spec section 10.2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import recorded_texts
from test_signposts import first, signed, with_provider

from ctwl_corpora.settings import Settings
from ctwl_decoder import Decoder
from ctwl_decoder.command import main
from ctwl_operations.registry import drafts
from ctwl_protocol import get_profile
from ctwl_protocol.environment import REGISTRY
from ctwl_protocol.profile import OFFLINE
from ctwl_protocol.profile.private import new_private
from ctwl_protocol.registry import Trusted
from ctwl_protocol.registry.store import save_trusted

TEXT = recorded_texts.HALF.read_text(encoding="utf-8")
"""Of provider 700, version 9, nonce 21."""


def trusting(nonces: int | None, provider: int = 700, beside: int | None = None) -> Trusted:
    """A registry with one model, which declares so many nonces, and maybe another one; None for no declaration."""
    root, registry = first()
    registry = with_provider(registry, provider, "Seven Hundred", "https://sevenhundred.example")
    model = {"name": "Nine", "since": registry.issued, "until": None}
    registry = drafts.add(registry, "model", code=provider, version=9, nonces=nonces, **model)
    if beside is not None:
        registry = drafts.add(registry, "model", code=provider, version=3, nonces=beside, **model)
    return signed(root, registry)


@pytest.fixture(scope="module")
def reading() -> Any:
    """The decoder whose registry declares so many nonces."""
    opened = Decoder.open(OFFLINE)
    return lambda nonces, **how: Decoder(opened.proxy, registry=trusting(nonces, **how))


def test_a_nonce_beyond_the_declared_ones_is_not_found(reading: Any) -> None:
    asked = [reading(nonces).decode(TEXT, score="light", beacons=[(700, 9)]) for nonces in (21, 22)]
    assert [report.detected for report in asked] == [False, True]
    assert asked[0].searched == 21


@pytest.mark.parametrize("score", ["light", pytest.param("whole", marks=pytest.mark.slow)])
def test_a_provider_pays_for_its_own_nonces_whatever_others_declare(reading: Any, score: Any) -> None:
    alone = reading(22).decode(TEXT, score=score)
    for others in (1, 22, 64):
        report = reading(22, beside=others).decode(TEXT, score=score)
        assert (report.detected, report.code) == (True, alone.code)
        assert report.p_value == pytest.approx(2 * alone.p_value, rel=1e-6)  # of two models


def test_a_beacon_that_the_registry_does_not_know_has_all_nonces(reading: Any) -> None:
    report = reading(8, provider=42).decode(TEXT, score="light", beacons=[(700, 9)])
    assert (report.detected, report.searched) == (True, 64)
    several = reading(8).decode(TEXT, score="light", beacons=[(700, version) for version in range(16)])
    assert several.searched == 15 * 64 + 8


def test_what_the_registry_declares_is_nothing_to_private_profiles() -> None:
    private = new_private("org.example.private.1", get_profile(OFFLINE))
    for nonces in (8, None):
        settings = Settings([private], beacons=[(700, 9)], registry=trusting(nonces))
        assert settings.searched(private) == 64
    public = Settings([OFFLINE], registry=trusting(8))
    assert public.searched(public.read_by[0]) == 8


def test_texts_read_together_have_the_declared_nonces(reading: Any) -> None:
    texts = [TEXT[:300], TEXT[300:600]]
    few, many, beyond = (
        reading(nonces).decode_together(texts, score="light", beacons=[(700, 9)]) for nonces in (22, 64, 21)
    )
    assert few.nonces == many.nonces == [21, 21]
    assert many.p_value == pytest.approx(few.p_value * 64 / 22) and few.searched == 1
    assert beyond.p_value > 100 * many.p_value


def test_pairs_with_several_numbers_of_nonces_are_read_together(reading: Any) -> None:
    texts = [TEXT[:300], TEXT[300:600]]
    beacons = [(41, 0), (700, 9), (1000, 3)]
    report = reading(22).decode_together(texts, score="light", beacons=beacons)
    assert (report.provider, report.version, report.nonces, report.searched) == (700, 9, [21, 21], 3)


def test_the_command_asks_its_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "text.txt"
    file.write_text(TEXT, encoding="utf-8")
    monkeypatch.setenv(REGISTRY.name, str(tmp_path / "registry"))
    save_trusted(trusting(22), tmp_path / "registry")
    for option in (["--registered"], ["--beacon", "700:9"]):
        assert main(["--profile", OFFLINE, "--light", "--json", *option, str(file)]) == 0
        assert json.loads(capsys.readouterr().out)["searched"] == 22
