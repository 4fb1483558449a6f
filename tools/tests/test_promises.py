"""What users rely on does not vanish unseen."""

import inspect

import promises
import pytest

HOW = "name it in backticks under Unreleased in CHANGELOG.md, then run: python tools/promises.py"


@pytest.fixture(scope="module")
def now() -> set[str]:
    found: set[str] = promises.promises()
    return found


def test_nothing_that_was_promised_is_gone(now: set[str]) -> None:
    gone = promises.kept() - now
    assert not gone, f"gone, or with another signature; give it back, or {HOW}"


def test_everything_that_users_can_call_is_on_the_list(now: set[str]) -> None:
    assert not now - promises.kept(), "new; run: python tools/promises.py"


def test_the_list_drops_nothing_that_the_changelog_does_not_name(
    now: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = promises.FILE.read_bytes()
    monkeypatch.setattr(promises, "promises", lambda: {line for line in now if "describe" not in line})
    assert promises.main() == 1
    assert promises.FILE.read_bytes() == before
    noted = promises.unexplained({"ctwl_decoder.describe(report)", "format ctwl-none/1"})
    assert noted == ["ctwl_decoder.describe(report)", "format ctwl-none/1"]


def test_a_signature_shows_what_callers_need() -> None:
    def all_kinds(one, two=2, *rest, named, more=None, **others):  # type: ignore[no-untyped-def]
        pass

    def named(one, *, two):  # type: ignore[no-untyped-def]
        pass

    assert promises.signature(all_kinds) == "(one, two=, *rest, named, more=, **others)"
    assert promises.signature(named) == "(one, *, two)"
    added = inspect.Parameter("_ray_trace_ctx", inspect.Parameter.KEYWORD_ONLY, default=None)
    told = inspect.signature(named)
    named.__signature__ = told.replace(parameters=[*told.parameters.values(), added])  # type: ignore[attr-defined]
    assert promises.signature(named) == "(one, *, two)"  # what another library adds, as ray does, is no promise
