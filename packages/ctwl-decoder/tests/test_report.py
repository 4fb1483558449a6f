"""What a report says of records, to people."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ctwl_decoder.meaning import caveats
from ctwl_decoder.report import Analysis, Hop, ReadRecord, Report, Span, details, number

HOP = Hop(provider=42, version=3, nonce=7, name=None, model=None, state="unregistered")
RECORD = ReadRecord(
    layout="acme", number=200, codes=[1, 2, 3], p_values=[1e-9] * 3, p_value=1e-8, fields={"sealed_user": 5},
    chain=[HOP], sealed=5, user=7, authenticator=True, authenticated=False, authenticated_p_value=0.02,
)  # fmt: skip


def report(*records: ReadRecord) -> Report:
    codes: dict[str, Any] = {"code": 1, "provider": 42, "version": 3, "nonce": 7, "p_value": 1e-9}
    spans = [Span(start=900 * i, end=900 * i + 800, tokens=200, record=each, **codes) for i, each in enumerate(records)]
    return Report(
        detected=True, spans=spans, **codes, record=records[0], alpha=1e-4, test="exact", score="soft", posterior=None,
        hits=90, expected=50.0, scored=100, tokens=450, needed=40, form="as given", searched=1 << 20,
        registry="a registry", profile="org.example.1", profile_digest="0" * 64,
    )  # fmt: skip


def test_the_outcome_of_an_authenticator_is_told_whatever_its_layout_is_called() -> None:
    told = dict(details(RECORD))
    assert told["user"] == "7, opened"
    assert (
        told["authentic"].startswith("NOT shown") and "too short" in told["authentic"] and "0.02" in told["authentic"]
    )
    held = RECORD.model_copy(update={"authenticated": True, "authenticated_p_value": 3e-7})
    assert dict(details(held))["authentic"].startswith("holds")
    assert "Anyone can write" not in str(report(held))
    assert "Anyone can write" in str(report(RECORD)) and "Anyone can write" in str(report(held, RECORD))
    closed = RECORD.model_copy(update={"authenticated": None, "authenticated_p_value": None, "user": None})
    assert dict(details(closed))["authentic"] == "only the provider can test it"
    assert "authentic" not in dict(details(closed.model_copy(update={"authenticator": False})))


def test_of_several_passages_each_says_all_of_its_record() -> None:
    told = str(report(RECORD, RECORD.model_copy(update={"user": 8})))
    assert told.startswith("Watermark found in 2 passages")
    assert told.count("NOT shown") == 2
    assert "7, opened" in told and "8, opened" in told


def test_a_record_that_was_not_read_is_not_said_to_be_of_an_unknown_layout() -> None:
    unread = RECORD.model_copy(update={"layout": None})
    assert "not clear enough" in dict(details(unread))["record"]


@pytest.mark.parametrize(
    ("p", "told"),
    [(0.25, "0.25"), (1.0, "1"), (0.0, "0"), (9.96e-5, "1.0e-4"), (9.99e-4, "1.0e-3"), (3.21e-26, "3.2e-26")],
)
def test_p_values_for_people(p: float, told: str) -> None:
    assert number(p) == told


def test_of_a_short_text_nothing_found_is_said_to_mean_little() -> None:
    none = report(RECORD).model_copy(
        update={"detected": False, "spans": [], "record": None, "tokens": 60, "p_value": 0.2}
    )
    assert "60 tokens are few" in str(none) and any("60 tokens are few" in each for each in caveats(none))
    assert "are few" not in str(none.model_copy(update={"tokens": 400}))


def test_a_text_without_tokens_has_no_pieces() -> None:
    nothing = Analysis(" ", report(RECORD), np.zeros(1, dtype=np.int64), np.zeros(0))
    assert list(nothing.pieces()) == []
