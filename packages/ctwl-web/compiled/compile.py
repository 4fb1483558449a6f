"""Compile search.c into src/compiled.js: `make wasm`, with the Clang of the package ziglang.

A test compares the digest of the source with the one in src/compiled.js.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
OPTIONS = ["-target", "wasm32-freestanding", "-O3", "-msimd128", "-nostdlib", "-fno-builtin", "-Wl,--no-entry"]
LINKED = ["-Wl,--export=__heap_base", "-Wl,--strip-all", "-Wl,-z,stack-size=16384"]


def main() -> None:
    """Write the module."""
    source = HERE / "search.c"
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "search.wasm"
        command = [sys.executable, "-m", "ziglang", "cc", *OPTIONS, *LINKED, "-o", str(out), str(source)]
        subprocess.run(command, check=True)
        code = base64.b64encode(out.read_bytes()).decode()
    lines = "".join(f'  "{code[i : i + 110]}" +\n' for i in range(0, len(code), 110)).removesuffix(" +\n")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    (HERE.parent / "src" / "compiled.js").write_text(
        "/** compiled/search.c as WebAssembly, made by compiled/compile.py. */\n"
        f'export const SOURCE = "{digest}";\n'
        f"export const MODULE =\n{lines};\n"
    )


if __name__ == "__main__":
    main()
