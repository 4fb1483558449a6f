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


@pytest.mark.parametrize(
    ("server", "given", "says"),
    [
        ({}, {"ctwl_version": 3}, "ctwl_provider or ctwl_codes"),
        ({}, {"ctwl_strategy": "loud"}, "strategy is 'loud'; it must be one of unbiased, gumbel, delta, vanilla"),
        ({"layout": 2, "codes": [43_211, 7]}, {"ctwl_nonce": 5}, "ctwl_provider or ctwl_codes"),
        ({}, {"ctwl_provider": 42, "ctwl_layout": 3}, "ctwl_codes"),
        ({}, {"ctwl_provider": 42, "ctwl_layout": "foo"}, "layout is 'foo'; it must be a whole number"),
        ({}, {"ctwl_codes": "43211"}, "codes is '43211'; it must be a list"),
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
