"""An engine says of itself what pages, the Makefile and ``ctwl-encode plan`` ask for."""

from pathlib import Path

import pytest

from ctwl_engines.engine import engines

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("folder", engines())
def test_an_engine_has_a_page_and_tests_in_an_environment_of_its_own(folder: str) -> None:
    engine = engines()[folder]
    page = ROOT / f"docs/providers/{folder.replace('_', '-')}.md"
    assert page.read_text(encoding="utf-8").startswith(f"# {engine.name}\n")
    assert (ROOT / f"rooms/ctwl-engines/tests/{engine.tests}/install.sh").is_file()
    if engine.start:
        assert engine.start("a model", {"provider": 42}, {}).startswith(engine.command)
