"""An engine says of itself what pages, the Makefile and ``ctwl-encode plan`` ask for."""

import json
import tomllib
from pathlib import Path

import pytest

from ctwl_engines.engine import engines

ROOT = Path(__file__).parents[3]


def test_the_tests_of_llama_cpp_install_what_the_extra_does() -> None:
    extras = tomllib.loads((ROOT / "rooms/ctwl-engines/pyproject.toml").read_text())["project"]["optional-dependencies"]
    install = (ROOT / "rooms/ctwl-engines/tests/llama/install.sh").read_text()
    assert all(f"'{requirement}'" in install for requirement in extras["llama-cpp"])


@pytest.mark.parametrize("folder", engines())
def test_what_switches_the_mark_off_is_a_part_of_a_body_in_json(folder: str) -> None:
    body = json.loads(f"{{{engines()[folder].switch}}}")
    assert {"ctwl_strategy": "off"} in (body, *body.values())


@pytest.mark.parametrize("folder", engines())
def test_an_engine_has_a_page_and_tests_in_an_environment_of_its_own(folder: str) -> None:
    engine = engines()[folder]
    page = ROOT / f"docs/providers/{folder.replace('_', '-')}.md"
    assert page.read_text(encoding="utf-8").startswith(f"# {engine.name}\n")
    assert (ROOT / f"rooms/ctwl-engines/tests/{engine.tests}/install.sh").is_file()
    if engine.start:
        assert engine.start("a model", {"provider": 42}, {}).startswith(engine.command)
