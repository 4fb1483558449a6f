"""Every constant of the reference, changed one at a time: at least one vector must show the difference.

``python constants.py MODULE PLACE`` answers the questions on standard input with one constant changed, and prints the
first vector that shows it. The constants of ``spec/numbers.json`` are those of the module that reads it.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import sys
import tempfile
from collections import Counter
from importlib import resources
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import broken

NAMES = re.compile(r"(ctwl-|org\.ctwl)")
NUMBERS = "ctwl_protocol.numbers"
KERNELS = ("ctwl_protocol.hashing", "ctwl_decoder.statistics.compiled")
"""Compiled loops hold the constants of these, and are kept by their source: a change needs a cache of its own."""

MODULES = {
    "ctwl_protocol.canonical": "canonical",
    "ctwl_protocol.hashing": "mixing permutation colours slot decode",
    "ctwl_protocol.partition.reference": "weights members",
    "ctwl_protocol.partition.toy": "toy-weights",
    "ctwl_protocol.profile.document": "profile-document public-key profile decode",
    "ctwl_protocol.profile.private": "personal-profile commitment proof",
    "ctwl_protocol.proxy.rivals": "rivals units read-one-code",
    "ctwl_protocol.records.beacon": "beacon beacon-fields decode-record",
    "ctwl_protocol.records.layouts": "layout record relay decode-record",
    "ctwl_protocol.records.record": "record relay decode-record",
    "ctwl_protocol.records.sealing": "sealing opening locked-keys",
    "ctwl_protocol.records.slots": "slot decode-record",
    "ctwl_protocol.registry.append_only": "registry-update",
    "ctwl_protocol.registry.documents": "root registry",
    "ctwl_protocol.registry.entries": "registry epochs",
    "ctwl_protocol.registry.envelope": "envelope pre-authentication",
    "ctwl_protocol.registry.keys": "registry-key root locked-keys",
    "ctwl_protocol.registry.spelling": "registry",
    "ctwl_protocol.registry.workflow": "registry-update",
    "ctwl_protocol.schema": "registry root envelope",
    "ctwl_protocol.secret_file": "secret-file locked-keys locked-profile",
    "ctwl_protocol.text.blocks": "blocks",
    "ctwl_protocol.text.positions": "positions",
    "ctwl_decoder.search.error_bounds": "record-doubts",
    "ctwl_decoder.search.windows": "windows tests decode-spans",
    "ctwl_decoder.statistics.compiled": "units",
    "ctwl_decoder.statistics.light": "light-units",
    "ctwl_decoder.statistics.null": "null randomised record-doubts",
    NUMBERS: "normalization blocks rivals units e-value light-units windows tests beacon layout record null canonical "
    "envelope root registry registry-key question answer decode-record",
}
"""The modules whose constants are changed, and the families that are asked first; then come all that need no other
package."""

PARTS = {
    "ctwl_decoder.search.windows": "windows_of",
    "ctwl_decoder.statistics.compiled": "add_units",
    "ctwl_decoder.statistics.null": "Null",
    NUMBERS: "text.deleted|text.spaces|text.line_ends|text.single_quotes|text.double_quotes|text.hyphens|text.ellipses|"
    "text.white_space|blocks|rivals|records|documents|registry|asking|scores|light|null.floor|search.window_lengths|"
    "search.window_part|search.window_step|search.positions_per_code|search.one_code|search.whole|search.record_tests",
}
"""What of a module says what the specification says, where the module does more than that."""

SAME = {
    "canonical _checked (2 #.|63 #1|64 #1)": "MessagePack has no wider integers",
    "document Profile.to_json 2 #1": "for people",
    "document Tokenizer (0 #1|1 #2|20 #2)": "ids lie below the vocabulary's size",
    "private new_private 32 #1": "drawn at random",
    "reference masses_of .*": "logits are of real models, whose weights the numeric vectors hold",
    "rivals Rivals.of 1 #2": "one start more than is looked at",
    "rivals Rivals.of_logits.*": "logits are of real models, and a test holds these rivals to those of weights",
    "beacon Beacon.codes_of 0 #1": "a decoder's own choice of codes to search",
    "layouts Layout.__post_init__ 0 #3": "the registry refuses such a field before",
    "layouts Layout.hops 0 #1": "every layout begins with a beacon",
    "layouts Layout.own_fields 3 #1": "which fields the command asks for",
    "layouts Layout.(un)?pack 0 #1": "bits above the codes are not looked at",
    "layouts Layout.slots 1 #2": "one slot more, which no position carries",
    "record Record.beacon 0 #1": "for reports; the fields say the same",
    "record slot_seed 0 #[12]": "a default that no vector uses",
    "sealing ProviderKeys.(seal|open|attributed) 0 #1": "a default that no vector uses",
    "sealing ProviderKeys.attributed 0 #2": "it is replaced",
    "sealing ProviderKeys.new 32 #1": "drawn at random",
    "sealing _round 4 #1": "more bytes of the word are masked away",
    "slots slot_table 1 #1": "NumPy accepts any negative number",
    "slots slot_table 1 #3": "one column more than is looked at",
    "numbers registry.bytes 1048576": "no vector is a registry of a byte too many",
    "numbers registry.root_bytes 65536": "the largest root is a twentieth of it",
    "numbers registry.entries 16384": "so many entries exceed the registry's bytes",
    "numbers registry.models 16": "there are 16 versions, each once",
    "numbers registry.fields.[01] (4|64)": "a record has bits for fewer fields",
    "numbers asking.least_characters 20000": "what a detector must take, which the cases of asked show",
    "numbers asking.message 2000": "the length of a message",
    "entries _Field 64 #1": "a layout has fewer bits behind its beacon",
    "envelope Envelope.unsigned 'ctwl-envelope/1' #1": "only operators sign",
    "keys _LOW_ORDER [01] #.": "the curve's equation refuses them too",
    "workflow begin 0 #1": "a default that no vector uses",
    "schema describe_error 300 #1": "the length of a message",
    "secret_file is_locked 'ctwl-secret/1' #1": "how a secret file is told from a profile before it is opened",
    "secret_file lock 'ctwl-secret/1' #1": "the document refuses to be made with another format",
    "secret_file write_secret 384 #1": "permissions of files",
    "numbers text.deleted.5 8207": "U+2010 is a hyphen, which comes later in the table",
    "numbers text.deleted.7 8238": "U+202F is a space, which comes later in the table",
    "numbers text.spaces.2 8192": "U+2000 is U+2002 in NFC",
    "numbers text.single_quotes.1 8219": "U+201C is a double quote, which comes later in the table",
    "numbers text.double_quotes.1 8223": "no vector has U+2020",
    "numbers text.white_space.2 13": "no vector has U+000E at an end",
    "windows windows_of (1 #1|1 #3|2 #1)": "a default that no vector uses; NumPy accepts any negative number",
    "light _BOUNDS (1 #2|1 #3|2 #1)": "one step more than is looked at",
    "light _rank_tables 1 #3": "one table more than is looked at",
    "light _by_leading_bits 1 #1": "a longer table than is looked at",
    "null Null.tail 1.0 #1": "a sum of probabilities; only rounding lifts it above 1",
}
"""What may change without anybody being able to tell, and why: a module's last name, and a pattern of places."""


class Constants(ast.NodeTransformer):
    """Visits the constants of a module that can be changed, and changes one.

    A place is the names around a constant, its value, and a number among those alike. So it outlives new names of
    local variables.

    Attributes:
        places: of all constants, in order.
    """

    def __init__(self, change: str = "") -> None:
        self.places: list[str] = []
        self._change, self._names, self._alike = change, list[str](), Counter[str]()

    def visit(self, node: ast.AST) -> Any:
        """Visit a node with the name that it defines; not what is only said to people."""
        match node:
            case ast.Raise() | ast.JoinedStr() | ast.Expr(value=ast.Constant()):
                return node
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                self._names.append(name)
            case ast.Assign(targets=[ast.Name(id=name)]) if not self._names:
                self._names.append(name)
            case _:
                return super().visit(node)
        node = super().visit(node)
        self._names.pop()
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """Change it, if it is the one."""
        if (new := changed(node.value)) is None:
            return node
        place = f"{'.'.join(self._names)} {node.value!r}"
        self._alike[place] += 1
        self.places.append(f"{place} #{self._alike[place]}")
        return ast.copy_location(ast.Constant(new), node) if self.places[-1] == self._change else node


def changed(value: object) -> Any:
    """Integers grow by one, other numbers by half, byte strings and names by a letter; the rest stays."""
    match value:
        case bool():
            return None
        case int():
            return value + 1
        case float():
            return value * 1.5 or 0.5
        case bytes():
            return value + b"x"
        case str() if NAMES.match(value):
            return value + "x"
    return None


class Leaves:
    """Visits the numbers of ``spec/numbers.json``, and changes one. A place is a number's name, and its value.

    Attributes:
        places: of all numbers, in order.
    """

    def __init__(self, change: str = "") -> None:
        self.places: list[str] = []
        self._change = change

    def visit(self, value: Any, name: str) -> Any:
        """The value of a name, with the change."""
        match value:
            case dict():
                return {key: self.visit(each, f"{name}.{key}") for key, each in value.items()}
            case list():
                return [self.visit(each, f"{name}.{i}") for i, each in enumerate(value)]
            case str() if re.fullmatch("[0-9A-F -]+", value):
                parts = re.split("([ -])", value)  # code points, and what is between them
                points = {2 * i: self.visit(int(each, 16), f"{name}.{i}") for i, each in enumerate(parts[::2])}
                return "".join(f"{points[i]:X}" if i in points else each for i, each in enumerate(parts))
            case int() | float():
                self.places.append(f"{name} {value!r}")
                return changed(value) if self.places[-1] == self._change else value
        return value

    def file(self) -> bytes:
        """The file with the change."""
        read = json.loads((resources.files("ctwl_protocol") / "numbers.json").read_bytes())
        for group, named in read.items():
            for name, number in named.items():
                number["value"] = self.visit(number["value"], f"{group}.{name}")
        return json.dumps(read).encode()


def places_of(module: str) -> list[str]:
    """The places of all constants of a module that can be changed."""
    if module == NUMBERS:
        leaves = Leaves()
        leaves.file()
        return leaves.places
    visited = Constants()
    visited.visit(tree(module))
    return visited.places


def tree(module: str) -> ast.Module:
    """A module as it was written, without importing it."""
    spec = importlib.util.find_spec(module)
    assert spec and spec.origin
    return ast.parse(Path(spec.origin).read_bytes())


def every_constant() -> list[tuple[str, str]]:
    """The modules and places of the constants that are changed."""
    found = []
    for module in MODULES:
        short = module.rpartition(".")[2]
        for place in places_of(module):
            wanted = re.match(rf"({PARTS.get(module, '.*')})[. ]", place)
            if wanted and not any(re.fullmatch(pattern, f"{short} {place}") for pattern in SAME):
                found.append((module, place))
    return found


def put_in_place(module: str, place: str) -> None:
    """From now on, a module is loaded with one constant changed, whatever Python has in its cache."""
    if module == NUMBERS:
        broken.put_in_place({f"{NUMBERS}:NUMBERS": lambda _: sys.modules[NUMBERS]._read(Leaves(place).file())})
        return
    sound = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        if fullname != module:
            return sound(loader, fullname)
        return compile(ast.fix_missing_locations(Constants(place).visit(tree(module))), loader.path, "exec")

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


def questions(module: str = "") -> list[tuple[str, str, Any, Any]]:
    """Family, id, input and expected answer of vectors: those that should show a change of a module come first."""
    from ctwl_conformance import load
    from ctwl_conformance.families import FAMILIES

    first = MODULES.get(module, "").split()
    others = [name for name, family in FAMILIES.items() if name not in first and not family.needs]
    return [(vector.family, vector.id, vector.input, vector.expected) for vector in load([*first, *others])]


def main(module: str = "", place: str = "") -> int:
    """Print the id of the first vector that is answered otherwise."""
    if module:
        put_in_place(module, place)
    with tempfile.TemporaryDirectory(prefix="ctwl-selftest-") as folder:
        if module in KERNELS:
            os.environ["NUMBA_CACHE_DIR"] = folder
        from ctwl_conformance.families import FAMILIES, agree

        for family, name, given, expected in json.load(sys.stdin):
            if not agree(expected, FAMILIES[family].answer(given)):
                print(name)
                break
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
