"""Proofs from the outside: what is certified in time verifies, and nothing else does."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from marked_words import marked_text

from ctwl_decoder import Decoder
from ctwl_decoder.command import main
from ctwl_decoder.errors import InputTooLarge, OptionOutOfRange
from ctwl_decoder.words import say
from ctwl_encoder import Encoder
from ctwl_encoder.models import load_model
from ctwl_operations.errors import ProofMalformed, ProofUnfounded
from ctwl_operations.prove import Proof, Verification, verify
from ctwl_protocol import Profile, canonical, environment, get_profile
from ctwl_protocol.errors import ProfileNotPrivate
from ctwl_protocol.profile import public_key
from ctwl_protocol.profile.private import certified, commitment, for_user, write_private
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.registry import Envelope, Registry, Role, Root, Trusted
from ctwl_protocol.registry import keys as registry_keys
from ctwl_protocol.registry.entries import CertificateEntry
from ctwl_protocol.registry.store import save_trusted
from ctwl_protocol.registry.workflow import begin

VANILLA = get_profile("org.ctwl.smollm2-135m.vanilla.1")
DAY = 86_400
ISSUED = int(time.time()) // DAY * DAY - 30 * DAY
CERTIFIED = ISSUED - 10 * DAY
APPEARED = CERTIFIED + DAY

# Few codes, and no proxy LM: a text is written and read in no time.
OWN = VANILLA.model_copy(update={"name": "com.example.mark.1", "key": bytes(range(32)), "code_bits": 12})
ANN, BOB = (for_user(OWN, user) for user in ("ann", "bob"))


def challenge(profile: Profile) -> bytes:
    """What the registry of these tests draws."""
    return hashlib.sha256(profile.to_bytes()).digest()


def marking(profile: Profile) -> Profile:
    """What an owner marks with, after the registry certified the profile."""
    return certified(profile, challenge(profile))


def certificate(profile: Profile, owner: str = "Example Ltd", since: int = CERTIFIED) -> CertificateEntry:
    drawn = {"commitment": commitment(profile), "challenge": challenge(profile)}
    return CertificateEntry(kind="certificate", **drawn, owner=owner, since=since)


def trusting(*certificates: CertificateEntry, version: int = 2, issued: int = ISSUED) -> Trusted:
    """A test registry that holds these certificates."""
    keys = [registry_keys.test_key(0), registry_keys.test_key(1)]
    roles = [Role(threshold=1, keys=(registry_keys.public_bytes(key),)) for key in keys]
    ends = ISSUED + 1000 * DAY
    root = Root(format="ctwl-root/1", use="test", version=1, expires=ends, root=roles[0], registry=roles[1])
    registry = Registry(
        format="ctwl-registry/1", version=version, issued=issued, expires=ends, entries=tuple(certificates)
    )
    envelopes = [Envelope.unsigned(document).sign(key) for document, key in zip((root, registry), keys, strict=True)]
    return begin(*(envelope.to_bytes() for envelope in envelopes))


@pytest.fixture(scope="session")
def vanilla() -> Proxy:
    return open_proxy(VANILLA)


def carrying(vanilla: Proxy, profile: Profile, code: int, words: int = 130, seed: int = 1) -> str:
    return marked_text(vanilla.shared_with(profile), code, words, seed)


@pytest.fixture(scope="session")
def text(vanilla: Proxy) -> str:
    return carrying(vanilla, marking(ANN), 1234)


@pytest.fixture(scope="session")
def proof(text: str) -> Proof:
    return Proof(profile=ANN.to_bytes(), text=text, code=1234)


Check = Callable[..., Verification]


@pytest.fixture(scope="session")
def check(vanilla: Proxy) -> Check:
    """:func:`verify` with the decoders of profiles that weigh all alike."""

    def checked(proof: Proof, trusted: Trusted, appeared: int = APPEARED, **options: Any) -> Verification:
        return verify(proof, trusted, appeared, lambda profile: Decoder(vanilla.shared_with(profile)), **options)

    return checked


def outcome(verification: Verification) -> list[str | None]:
    return [step.code for step in verification.steps]


def test_a_certified_proof_is_verified(check: Check, proof: Proof, text: str) -> None:
    found = check(Proof.from_bytes(proof.to_bytes()), trusting(certificate(ANN)), text=f"  {text}\r\n")
    assert found.verified
    assert outcome(found) == [None] * 5
    first, *steps = str(found).splitlines()
    assert first.startswith("Verified, but in a test registry, which binds nobody: the text carries a code under a key")
    assert "Example Ltd" in first
    assert [line.split()[0] for line in steps] == ["registry", "profile", "date", "text", "code", "Everyone"]
    assert ANN.key.hex() not in str(found)


def test_without_a_text_to_compare_the_verdict_says_so(check: Check, proof: Proof, text: str) -> None:
    found = check(proof, trusting(certificate(ANN)))
    assert found.verified and "compared with none" in str(found) and text[:30] in str(found)


LONG = ANN.model_copy(update={"name": f"com.{'a' * 85}.1"})  # leaves no room for the certified profile's name
PUBLISHED, PUBLIC = (ANN.model_copy(update={"key": public_key(each.name)}) for each in (VANILLA, ANN))


@pytest.mark.parametrize(
    ("profile", "certified", "appeared", "given", "code"),
    [
        (ANN, [], APPEARED, None, "proof-uncertified"),
        (ANN, [BOB, OWN], APPEARED, None, "proof-uncertified"),
        (LONG, [LONG], APPEARED, None, "profile-malformed"),
        (PUBLISHED, [ANN], APPEARED, None, "profile-not-private"),  # who got it certified would own every text
        (PUBLIC, [ANN], APPEARED, None, "profile-not-private"),
        (ANN, [ANN], CERTIFIED, None, "proof-late"),
        (ANN, [ANN], APPEARED, "another text", "proof-text-differs"),
    ],
)
def test_each_fault_is_refused_by_its_own_code_before_anything_is_decoded(
    proof: Proof, profile: Profile, certified: list[Profile], appeared: int, given: str | None, code: str
) -> None:
    def never(profile: Profile) -> Decoder:
        raise AssertionError("nothing is decoded for a proof that has failed")

    proof, trusted = proof.model_copy(update={"profile": profile.to_bytes()}), trusting(*map(certificate, certified))
    found = verify(proof, trusted, appeared, never, text=given)
    assert not found.verified
    assert outcome(found)[-1] == code
    assert str(found).startswith(f"Not verified: {code}.")


def test_a_forged_proof_is_unfounded(check: Check, proof: Proof, vanilla: Proxy, text: str) -> None:
    """A certified owner claims a text of somebody else, of nobody, of another key, or one for another code."""
    trusted = trusting(certificate(ANN), certificate(BOB))
    forged = [
        proof.model_copy(update={"profile": BOB.to_bytes()}),
        proof.model_copy(update={"text": carrying(vanilla, marking(OWN), 1234)}),
        proof.model_copy(update={"text": carrying(vanilla, ANN, 1234)}),  # the key that was committed to marks nothing
        proof.model_copy(update={"text": "too short"}),
        proof.model_copy(update={"code": 1235}),
    ]
    for forgery in forged:
        assert outcome(check(forgery, trusted))[1:] == [None, None, None, "proof-unfounded"]


def test_who_certified_many_keys_needs_a_clearer_code(check: Check, vanilla: Proxy) -> None:
    trusted = trusting(certificate(ANN))
    for words in range(20, 80, 3):  # the shortest text that passes with one key
        proof = Proof(profile=ANN.to_bytes(), text=carrying(vanilla, marking(ANN), 77, words, seed=3), code=77)
        if check(proof, trusted).verified:
            break
    users = [for_user(OWN, str(i)) for i in range(300)]
    for changed, code in (({}, "proof-unfounded"), ({"since": APPEARED}, None), ({"owner": "Another"}, None)):
        found = check(proof, trusting(certificate(ANN), *(certificate(each, **changed) for each in users)))
        assert outcome(found)[-1] == code
        assert ("301 certified keys" in str(found)) is (code is not None)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_altered_bytes_verify_nothing(check: Check, proof: Proof, text: str, data: st.DataObject) -> None:
    altered = bytearray(proof.to_bytes())
    altered[data.draw(st.integers(0, len(altered) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        read = Proof.from_bytes(bytes(altered))
    except ProofMalformed:
        return
    assert not check(read, trusting(certificate(ANN)), text=text).verified


_FIELDS = {"format": "ctwl-proof/1", "profile": ANN.to_bytes(), "text": "a", "code": 1}


@given(
    st.binary(max_size=200)
    | st.dictionaries(st.text(max_size=8), st.binary(max_size=40)).map(canonical.encode)
    | st.tuples(
        st.sampled_from(sorted(_FIELDS)), st.none() | st.booleans() | st.integers(-(2**63), -1) | st.binary(max_size=9)
    ).map(lambda change: canonical.encode(_FIELDS | {change[0]: change[1]}))
)
@example(canonical.encode(_FIELDS | {"profile": ANN.to_json().encode()}))
@example(canonical.encode({name: value for name, value in _FIELDS.items() if name != "format"}))
@example(canonical.encode(_FIELDS | {"text": "\u200b"}))  # nothing is left of it
def test_other_bytes_are_no_proof(data: bytes) -> None:
    with pytest.raises(ProofMalformed):
        Proof.from_bytes(data)


def test_a_hostile_proof_does_not_steer_the_terminal() -> None:
    hostile = canonical.encode({**ANN.model_dump(), "\x1b[2J": 1})
    with pytest.raises(ProofMalformed) as caught:
        Proof.from_bytes(canonical.encode(_FIELDS | {"profile": hostile}))
    assert str(caught.value).isprintable()
    steps = verify(
        Proof(profile=ANN.to_bytes(), text="\x1b[2J\u202e" + "a" * 99, code=1),
        trusting(certificate(ANN)),
        APPEARED,
        lambda profile: Decoder(open_proxy(profile)),
    ).steps
    assert all(step.words.isprintable() for step in steps)


def test_a_proof_is_bounded_and_of_something(vanilla: Proxy, text: str) -> None:
    decoder = Decoder(vanilla.shared_with(marking(ANN)))
    report = decoder.decode(text)
    assert Proof.of(ANN, text, report).code == 1234
    with pytest.raises(ProfileNotPrivate):
        Proof.of(VANILLA, text, report)
    with pytest.raises(InputTooLarge, match="passage"):
        Proof.of(ANN, "word " * 20_000, report).to_bytes()
    with pytest.raises(ProofUnfounded, match="nothing to prove"):
        Proof.of(ANN, "short", decoder.decode("short"))
    with pytest.raises(OptionOutOfRange):
        verify(Proof.of(ANN, text, report), trusting(), APPEARED, lambda profile: decoder, alpha=0)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    """A folder with Ann's locked profile, her text, and a trusted registry that certifies her."""
    monkeypatch.setenv(environment.PASSPHRASE.name, "open sesame")
    monkeypatch.setenv("CTWL_REGISTRY", str(tmp_path / "registry"))
    monkeypatch.chdir(tmp_path)
    save_trusted(trusting(version=1, issued=CERTIFIED - DAY), tmp_path / "registry")
    (tmp_path / "registry.ctwl").write_bytes(trusting(certificate(ANN)).registry_bytes)
    write_private(tmp_path / "ann.ctwl", ANN)
    (tmp_path / "letter.txt").write_text(text)
    return tmp_path


def day(instant: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(instant))


def test_the_commands_prove_and_verify(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prove = ["prove", "letter.txt", "--profile", "ann.ctwl", "--out", "proof.ctwl"]
    assert main(prove) == 2  # the stored registry has no certificate
    assert "proof-uncertified" in capsys.readouterr().err
    prove += ["--registry", "registry.ctwl"]
    assert main(prove) == 0
    out, err = capsys.readouterr()
    assert say("found-whole") in out and "reveals the key" in err
    assert "Only someone with the profile's key" in out and "Anyone can write" not in out
    assert (desk / "proof.ctwl").stat().st_mode & 0o077 == 0
    assert main(prove) == 2
    assert "output-exists" in capsys.readouterr().err

    given = ["verify", "proof.ctwl", "--text", "letter.txt", "--appeared"]
    assert main([*given, day(APPEARED), "--registry", "registry.ctwl"]) == 0
    assert capsys.readouterr().out.startswith("Verified")
    assert main([*given, day(APPEARED)]) == 1  # what was offered above was not stored
    assert "proof-uncertified" in capsys.readouterr().out
    assert main([*given, day(CERTIFIED), "--registry", "registry.ctwl", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["verified"], told["steps"][-1]["code"]) == (False, "proof-late")
    assert main([*given, day(int(time.time()) + 3 * DAY)]) == 2
    assert "future" in capsys.readouterr().err
    (desk / "registry.ctwl").write_bytes(trusting().root_bytes)
    assert main([*given, day(APPEARED), "--registry", "registry.ctwl"]) == 2


def test_proofs_are_made_and_verified_in_the_reference_arithmetic(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Owner and verifier must compute the same, so neither may name a device."""
    opened, open_decoder = [], Decoder.open

    def recording(*arguments: Any, **options: Any) -> Decoder:
        opened.append(options.get("device", "cpu"))
        return open_decoder(*arguments, **options)

    monkeypatch.setattr(Decoder, "open", recording)
    registry = ["--registry", "registry.ctwl"]
    assert main(["prove", "letter.txt", "--profile", "ann.ctwl", "--out", "proof.ctwl", *registry]) == 0
    assert main(["verify", "proof.ctwl", "--appeared", day(APPEARED), *registry]) == 0
    assert opened == ["cpu", "cpu"]
    for command in (["prove", "letter.txt", "--out", "again"], ["verify", "proof.ctwl", "--appeared", day(APPEARED)]):
        with pytest.raises(SystemExit):
            main([*command, "--device", "auto"])


def test_nothing_is_written_where_nothing_was_found(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "letter.txt").write_text("A text by hand, of some few words. " * 20)
    prove = ["prove", "letter.txt", "--out", "proof.ctwl", "--registry", "registry.ctwl", "--profile"]
    assert main([*prove, "ann.ctwl"]) == 1
    assert "proof-unfounded" in capsys.readouterr().out
    assert main([*prove, VANILLA.name]) == 2
    assert "profile-not-private" in capsys.readouterr().err
    assert not (desk / "proof.ctwl").exists()


def test_what_a_proof_names_is_not_fetched(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A stranger's proof must not make this machine download whatever it likes."""
    hub = {"kind": "hub", "repository": "somebody/something", "revision": "0" * 40}
    stranger = Profile.model_validate(
        {**ANN.model_dump(), "proxy": {"kind": "uniform", "carrier": None, "source": hub}}
    )
    (desk / "proof.ctwl").write_bytes(Proof(profile=stranger.to_bytes(), text="a", code=1).to_bytes())
    (desk / "registry.ctwl").write_bytes(trusting(certificate(stranger)).registry_bytes)
    assert main(["verify", "proof.ctwl", "--appeared", day(APPEARED), "--registry", "registry.ctwl"]) == 2
    assert "proxy-not-found" in capsys.readouterr().err


@pytest.mark.slow
def test_a_real_model_writes_what_its_owner_alone_reads_and_proves(offline_proxy: Proxy) -> None:
    provider = offline_proxy.profile.model_copy(update={"name": OWN.name, "key": OWN.key})
    ann, bob = (for_user(provider, user) for user in ("ann@example.com", "bob@example.com"))
    marks, others = marking(ann), (marking(bob), provider, ann)
    encoder = Encoder(*load_model("smollm2"), offline_proxy.shared_with(marks))
    (written,) = encoder.generate(
        "The council said on Tuesday that the new bridge over the river would", 42, 3,
        max_new_tokens=150, min_new_tokens=150, seed=1,
    )  # fmt: skip
    reports = [Decoder(offline_proxy.shared_with(each)).decode(written.text) for each in (marks, *others)]
    assert [report.detected for report in reports] == [True, False, False, False]
    assert (reports[0].code, written.profile) == (written.beacon.code, marks.name)
    assert all(report.p_value > 0.001 for report in reports[1:])
    found = verify(
        Proof.of(ann, written.text, reports[0]),
        trusting(certificate(ann), certificate(bob)),
        APPEARED,
        lambda profile: Decoder(offline_proxy.shared_with(profile)),
        text=written.text,
    )
    assert found.verified
