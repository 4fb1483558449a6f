"""The canonical encoding (spec section 4.1)."""

from __future__ import annotations

from ctwl_protocol import canonical

from .family import BYTES, HEX, JSON, STATUS, Case, Family, either, refusing, shape, unhex

__all__ = ["FAMILIES"]


@refusing
def _canonical(data: JSON) -> JSON:
    return {"encoded": canonical.encode(canonical.decode(unhex(data["bytes"]))).hex()}


def _canonical_cases() -> list[Case]:
    deep = "91" * 7
    return [
        (comment, {"bytes": data})
        for comment, data in [
            ("a map", "82a16101a162c403010203"),
            ("keys out of order", "82a16202a16101"),
            ("a duplicate key", "82a16101a16102"),
            ("an overlong integer", "cc05"),
            ("an overlong string", "d90161"),
            ("a trailing byte", "c0c0"),
            ("a float", "cb3ff0000000000000"),
            ("an extension", "d40100"),
            ("a key that is no string", "810102"),
            ("a string that is no UTF-8", "a1ff"),
            ("truncated", "9201"),
            ("the largest integer", "cfffffffffffffffff"),
            ("the least integer", "d38000000000000000"),
            ("no bytes", ""),
            ("nil", "c0"),
            ("false", "c2"),
            ("true", "c3"),
            ("an empty map", "80"),
            ("an empty array", "90"),
            ("an empty string", "a0"),
            ("empty bytes", "c400"),
            ("the largest positive fixint", "7f"),
            ("the first integer of two bytes", "cc80"),
            ("an integer of two bytes in three", "cd0080"),
            ("the least negative fixint", "e0"),
            ("minus 33", "d0df"),
            ("minus 33 in three bytes", "d1ffdf"),
            ("a positive integer as a signed one", "d005"),
            ("a string of 32 bytes", "d920" + "61" * 32),
            ("a string of 31 bytes with a length byte", "d91f" + "61" * 31),
            ("bytes with an overlong length", "c5000101"),
            ("an array with an overlong length", "dc000101"),
            ("a map with an overlong length", "de0001a16101"),
            ("keys in the order of their bytes", "82a17aa0a2c3a9a0"),
            ("a shorter key after a longer one that begins like it", "82a26162c0a161c0"),
            ("a float of 32 bits", "ca3f800000"),
            ("a reserved byte", "c1"),
            ("a time as an extension", "d6ff00000000"),
            ("a lone surrogate", "a3eda080"),
            ("nested 8 deep", deep + "90"),
            ("nested 9 deep", deep + "9190"),
            ("an array that claims four billion items", "ddffffffff"),
        ]
    ] + [
        ("a document of 65536 bytes", {"bytes": ["c5fffd", {"repeat": "00", "times": 65533}]}),
        ("a document of 65537 bytes", {"bytes": ["c5fffe", {"repeat": "00", "times": 65534}]}),
    ]


FAMILIES = (
    Family(
        "canonical", "4.1",
        "Bytes to the canonical encoding of what they say, or the status code of the refusal.",
        shape(bytes=BYTES), either(shape(encoded=HEX), STATUS), _canonical, _canonical_cases,
    ),
)  # fmt: skip
