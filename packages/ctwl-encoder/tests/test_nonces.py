"""From how many nonces a text's is drawn: as many as its registry entry declares, and never more (spec section 8.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctwl_encoder import CTWLWatermarkingConfig
from ctwl_encoder.command import main
from ctwl_encoder.core.expected_evidence import Evidence
from ctwl_encoder.encoder import Encoder
from ctwl_encoder.errors import EncoderError, OptionOutOfRange
from ctwl_encoder.nonces import nonces_for
from ctwl_engines.log import TextLog, began, finished
from ctwl_engines.note import Note
from ctwl_engines.policy import Policy
from ctwl_operations.registry import drafts
from ctwl_protocol import get_profile
from ctwl_protocol.environment import REGISTRY
from ctwl_protocol.profile import OFFLINE, TOY
from ctwl_protocol.profile.private import new_private
from ctwl_protocol.registry import Envelope, keys
from ctwl_protocol.registry.store import save_trusted
from ctwl_protocol.registry.workflow import begin

NOW = 1_800_000_000


@pytest.fixture(autouse=True)
def _declaring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine trusts a registry where provider 42 declares 5 nonces of version 3, and all of version 4."""
    signers = [keys.test_key(0), keys.test_key(1)]
    roles = [drafts.role(1, [keys.public_bytes(key)]) for key in signers]
    root, registry = drafts.first(use="test", root=roles[0], registry=roles[1], now=NOW, root_days=999, days=90)
    entry: dict[str, Any] = {"name": "Forty-two", "contact": "https://fortytwo.example", "until": None}
    registry = drafts.add(registry, "provider", code=42, state="active", since=NOW, models=[], epochs=[], **entry)
    for version, nonces in ((3, 5), (4, None)):
        model = {"version": version, "name": f"Model {version}", "since": NOW, "until": None, "nonces": nonces}
        registry = drafts.add(registry, "model", code=42, **model)
    documents = zip((root, registry), signers, strict=True)
    save_trusted(begin(*(Envelope.unsigned(each).sign(key).to_bytes() for each, key in documents)), tmp_path)
    monkeypatch.setenv(REGISTRY.name, str(tmp_path))


def test_as_many_as_the_registry_declares_and_no_more() -> None:
    profile = get_profile(TOY)
    counts = [nonces_for(profile, 42, version) for version in (3, 4, 5)] + [nonces_for(profile, 7, 3)]
    assert counts == [5, 64, 64, 64]
    assert [nonces_for(profile, 42, 3, nonces=few) for few in (1, 5)] == [1, 5]
    assert nonces_for(profile, 42, 4, nonces=3) == 3
    for asked, says in (
        ({"nonces": 6}, "nonces is 6, but the registry declares 5 nonces of provider 42, version 3"),
        ({"nonce": 9}, "nonce is 9, but the registry declares 5 nonces"),
        ({"nonces": 2, "nonce": 2}, "nonce is 2, but nonces is 2; the nonces are 0 to 1"),
    ):
        with pytest.raises(OptionOutOfRange, match=says):
            nonces_for(profile, 42, 3, **asked)


def test_the_budget_in_a_log_counts_the_declared_nonces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of several model versions the most."""
    for version, count in ((3, 5), (4, 64)):
        decided = Policy(provider=42, version=version, profile=TOY, log=str(tmp_path / "log"))
        request, log = decided.request(None, 1.0), TextLog(decided, wait=True)
        assert request is not None
        begun = began(decided, "chatcmpl-1", request, request.payload(2))
        line = log.write([begun])
        log.write([finished(begun, line, {None: 90}, 0.9, Evidence(decided=90.0, repeats=10.0, reader=50.0))])
        main(["audit", str(tmp_path / "log")])
        assert f"the {count} codes of one model version needs" in capsys.readouterr().out


def test_private_profiles_do_not_ask_the_registry() -> None:
    assert nonces_for(new_private("org.example.private.1", get_profile(TOY)), 42, 3, nonce=63) == 64


def test_the_encoder_draws_among_them(toy: Encoder) -> None:
    prompts = ["The council"] * 24
    drawn = {
        name: {text.beacon.nonce for text in toy.generate(prompts, 42, 3, max_new_tokens=2, **how)}
        for name, how in {"declared": {}, "fewer": {"nonces": 2}, "seeded": {"seed": 4}}.items()
    }
    assert drawn["declared"] <= set(range(5)) and len(drawn["declared"]) > 2
    assert drawn["fewer"] == {0, 1}
    assert drawn["seeded"] <= set(range(5)) and len(drawn["seeded"]) > 2
    with pytest.raises(OptionOutOfRange, match="the registry declares 5"):
        toy.generate("The council", 42, 3, nonce=9, max_new_tokens=2)


def test_the_configuration_of_transformers_is_checked() -> None:
    CTWLWatermarkingConfig(provider=42, version=3, nonces=5, profile=OFFLINE)
    for wrong in ({"nonces": 6}, {"nonce": 5}, {"nonces": 65}, {"nonces": 0}):
        with pytest.raises(EncoderError, match="nonce"):
            CTWLWatermarkingConfig(provider=42, version=3, profile=OFFLINE, **wrong)


def test_a_server_draws_among_them() -> None:
    policy = Policy(
        provider=42, version=3, profile=OFFLINE, clients={"version": "any", "nonces": "any", "nonce": "any"}
    )

    def written(**asked: int) -> set[int]:
        request = policy.request({f"ctwl_{name}": value for name, value in asked.items()}, 1.0)
        assert request is not None
        return {request.payload(Note.drawn("one").random).carried[0] % 64 for _ in range(300)}

    assert written() == set(range(5))
    assert written(nonces=2) == {0, 1}
    assert len(written(version=4)) > 40
    for wrong in ({"nonces": 6}, {"nonce": 5}):
        with pytest.raises(OptionOutOfRange, match="the registry declares 5 nonces"):
            policy.request({f"ctwl_{name}": value for name, value in wrong.items()}, 1.0)
    with pytest.raises(OptionOutOfRange, match="the registry declares 5 nonces"):
        Policy(provider=42, version=3, nonces=64, profile=OFFLINE)
