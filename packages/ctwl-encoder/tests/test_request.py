"""What a request to a server writes: its own options over the server's."""

from typing import Any

import pytest

from ctwl_encoder.errors import OptionOutOfRange
from ctwl_encoder.integrations.request import Request
from ctwl_protocol import Beacon

PROFILE = "org.ctwl.smollm2-135m.1"


@pytest.mark.parametrize(("temperature", "chosen"), [(1.0, "unbiased"), (0.7, "gumbel"), (0.0, "delta")])
def test_the_strategy_follows_from_a_requests_temperature_unless_it_is_named(temperature: float, chosen: str) -> None:
    request = Request.of({"provider": 42}, None, temperature)
    assert request is not None and request.strategy == chosen
    named = Request.of({"provider": 42, "strategy": "unbiased"}, None, temperature)
    assert named is not None and named.strategy == ("unbiased" if temperature else "delta")


def test_a_requests_own_beacon_stands_over_the_servers_record() -> None:
    server = {"layout": 2, "codes": [43_211, 7], "profile": PROFILE}
    own = Request.of(server, {"ctwl_provider": 7, "ctwl_nonce": 5}, 1.0)
    assert own is not None and own.payload(0).carried == (Beacon(7, 0, 5).code,)
    servers = Request.of(server, {}, 1.0)
    assert servers is not None and servers.payload(0).carried[:2] == (43_211, 7)
    with pytest.raises(OptionOutOfRange, match="not both"):
        Request.of(server, {"ctwl_provider": 7, "ctwl_codes": [1, 2]}, 1.0)


def test_codes_of_a_requests_own_have_a_layout_of_their_own() -> None:
    server = {"layout": 2, "codes": [43_211, 7], "profile": PROFILE}
    single = Request.of(server, {"ctwl_codes": [43_211]}, 1.0)
    assert single is not None and single.payload(0).carried == (43_211,)
    several = Request.of({"codes": [43_211], "profile": PROFILE}, {"ctwl_codes": [5, 6], "ctwl_layout": 2}, 1.0)
    assert several is not None and several.payload(0).carried[:2] == (5, 6)


@pytest.mark.parametrize("given", [True, 1])
def test_repeats_are_skipped_where_a_number_stands_for_true(given: object) -> None:
    """vLLM's ``vllm_xargs`` knows numbers and strings, and makes 1 of JSON's true."""
    request = Request.of({"provider": 42}, {"ctwl_skip_repeats": given}, 1.0)
    assert request is not None and request.skip_repeats is True


@pytest.mark.parametrize(
    ("server", "given", "says"),
    [
        ({}, {"ctwl_strategy": "unbiased"}, "ctwl_provider or ctwl_codes"),
        ({}, {"ctwl_version": 3}, "a beacon of your own needs ctwl_provider"),
        ({"layout": 2, "codes": [43_211, 7]}, {"ctwl_version": 4}, "a beacon of your own needs ctwl_provider"),
        ({"provider": 42}, {"ctwl_delta": 0}, "ctwl_delta is 0; it must be a number"),
        ({}, {"ctwl_provider": "x"}, "ctwl_provider is 'x'; it must be a whole number"),
        ({}, {"ctwl_strategy": "loud"}, "ctwl_strategy is 'loud'; it must be one of unbiased, gumbel, delta, vanilla"),
        ({"layout": 2, "codes": [43_211, 7]}, {"ctwl_nonce": 5}, "a beacon of your own needs ctwl_provider"),
        ({}, {"ctwl_provider": 42, "ctwl_layout": 3}, "ctwl_layout goes with ctwl_codes; give both"),
        ({}, {"ctwl_provider": 42, "ctwl_layout": "foo"}, "ctwl_layout is 'foo'; it must be a whole number"),
        ({}, {"ctwl_codes": "43211"}, "ctwl_codes is '43211'; it must be a list"),
        ({"provider": 42}, {"ctwl_proxy_path": "/tmp"}, "no option of a request"),
        ({"proxy": "/tmp"}, {}, "there is no option 'proxy'; there are .*proxy_path"),
    ],
)
def test_who_asks_for_a_mark_and_would_get_none_is_told(
    server: dict[str, Any], given: dict[str, Any], says: str
) -> None:
    with pytest.raises(OptionOutOfRange, match=says):
        Request.of({"profile": PROFILE, **server}, given, 1.0)
    assert Request.of({"profile": PROFILE}, {"ctwl_strategy": "off"}, 1.0) is None
    assert Request.of({"profile": PROFILE}, {}, 1.0) is None
