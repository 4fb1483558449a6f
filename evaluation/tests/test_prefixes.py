"""Weighing by the prefix alone: the toy proxy has no other context, so there both ways of reading agree."""

import numpy as np

from ctwl_protocol.proxy import open_proxy
from evaluation.reading.prefixes import rivals_by_prefix

TOY = "org.ctwl.toy.1"


def test_a_proxy_that_sees_prefixes_alone_weighs_alike() -> None:
    ids = np.random.default_rng(1).integers(97, 123, 90)
    found, expected = rivals_by_prefix(open_proxy(TOY), ids), open_proxy(TOY).rivals(ids)
    for name in ("places", "starts", "tokens", "weights", "shown", "total"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
