"""Pages say of the code what the code says."""

from pathlib import Path

import facts
import pytest

from ctwl_protocol.numbers import NUMBERS


@pytest.mark.parametrize("page", facts.pages(), ids=lambda page: page.relative_to(facts.ROOT).as_posix())
def test_the_facts_of_a_page_are_those_of_the_code(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert facts.written(text, page.parent) == text, "run: make site-pages"


def test_a_fact_is_written_where_it_stands() -> None:
    level = facts.decimal(NUMBERS.search.level)
    assert facts.written("at <!-- fact level -->0.5<!-- end -->.") == f"at <!-- fact level -->{level}<!-- end -->."
    with pytest.raises(KeyError):
        facts.written("<!-- fact unknown --><!-- end -->")
