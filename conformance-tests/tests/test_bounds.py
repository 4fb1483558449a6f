"""The bounds: exact, fixed beforehand, and able to fail."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctwl_conformance.run.bounds import ERROR, Bound, interval
from ctwl_conformance.run.texts import FAMILIES, HUMAN, PUBLIC, SIZES, setting
from ctwl_protocol.profile import TOYS


def at_least(k: int, n: int, rate: float) -> float:
    """The chance of k or more, summed up by hand."""
    return math.fsum(math.comb(n, i) * rate**i * (1 - rate) ** (n - i) for i in range(k, n + 1))


@settings(max_examples=40)
@given(st.integers(1, 60), st.floats(0.01, 0.99))
def test_a_limit_is_the_tightest_that_fails_the_claimed_rate_seldom(trials: int, rate: float) -> None:
    least, most = Bound("at least", rate).limit(trials), Bound("at most", rate).limit(trials)
    assert least == 0 or 1 - at_least(least, trials, rate) <= ERROR * 1.0001
    assert 1 - at_least(least + 1, trials, rate) > ERROR * 0.9999
    assert at_least(most + 1, trials, rate) <= ERROR * 1.0001
    assert most == 0 or at_least(most, trials, rate) > ERROR * 0.9999


@settings(max_examples=40)
@given(st.integers(1, 60), st.floats(0.5, 0.99))
def test_what_is_excluded_would_pass_one_run_in_twenty(trials: int, rate: float) -> None:
    bound = Bound("at least", rate)
    if limit := bound.limit(trials):
        assert at_least(limit, trials, bound.excluded(trials)) == pytest.approx(0.05, rel=1e-6)


def test_the_interval_is_clopper_and_pearsons() -> None:
    assert interval(0, 10) == (0.0, pytest.approx(1 - 0.025**0.1))
    assert interval(10, 10) == (pytest.approx(0.025**0.1), 1.0)
    low, high = interval(7, 20)
    assert at_least(7, 20, low) == pytest.approx(0.025)
    assert 1 - at_least(8, 20, high) == pytest.approx(0.025)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("profile", [*TOYS, "org.ctwl.smollm2-135m.1"])
def test_every_family_can_fail_at_every_size(size: str, profile: str) -> None:
    for family in FAMILIES:
        if family.applies(profile):
            texts = family.texts(profile, size)
            assert not family.bound.holds(0, texts)
            assert family.bound.holds(texts, texts)
    humans = setting(profile).humans[size]
    assert HUMAN.holds(0, humans)
    assert not HUMAN.holds(humans, humans)


def test_the_page_states_what_a_run_asks() -> None:
    """The table of texts in README.md: how many there are, and how many must be read right."""
    page = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    rows = {
        name + cells[1].rpartition("`")[2]: cells[3:-1]
        for cells in ([cell.strip() for cell in line.split("|")] for line in page.splitlines() if line[:3] == "| `")
        for name in re.findall(r"`([\w-]+)`", cells[1])
        if len(cells) == 8
    }
    toy = "org.ctwl.toy.1"
    asked = {f.name: (f.bound, {size: f.texts(toy, size) for size in SIZES}) for f in FAMILIES if f.applies(toy)}
    asked["human"] = HUMAN, setting(toy).humans
    asked["human, of a detector"] = HUMAN, setting(PUBLIC).humans
    assert rows == {
        name: [f"{bound.side} {bound.rate:g}", *(f"{bound.limit(n)} of {n}" for n in texts.values())]
        for name, (bound, texts) in asked.items()
    }
