"""When something that is kept is made anew."""

from pathlib import Path

import numpy as np
import pytest

from ctwl_protocol.proxy import open_proxy
from evaluation.shared.cache import digest, kept_rivals, sources


def test_a_digest_is_of_what_the_files_hold(tmp_path: Path) -> None:
    one, other = tmp_path / "one.txt", tmp_path / "other.txt"
    one.write_text("a")
    other.write_text("b")
    assert digest(one) != digest(other) != digest(one, other) != digest(other, one)
    assert sources(str(one)) != sources() != sources(str(other))
    before = digest(one)
    digest.cache_clear()
    one.write_text("b")
    assert digest(one) == digest(other) != before


def test_what_is_kept_depends_on_the_code_that_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()
    read_bytes = Path.read_bytes

    def noted(path: Path) -> bytes:
        read.add(f"{path.parent.name}/{path.name}")
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    digest.cache_clear()
    sources()
    assert {"shared/prompts.py", "shared/texts.py", "strategies/traits.py", "ctwl_protocol/hashing.py"} <= read
    read.clear()
    digest.cache_clear()
    kept_rivals(open_proxy("org.ctwl.toy.1"), np.arange(9))
    assert {"proxy/runner.py", "proxy/forward.py", "partition/reference.py", "text/blocks.py"} <= read
