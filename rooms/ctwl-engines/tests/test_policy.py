"""What a server's operator decides, and what a request may say beside it."""

from pathlib import Path
from typing import Any

import pytest

from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.errors import NotLeftToClients, OptionOutOfRange
from ctwl_engines.policy import Policy
from ctwl_protocol import Beacon

PROFILE = "org.ctwl.smollm2-135m.1"
CODES = (Beacon(42, 3, 11).code, 207_942, 380_826)
ASKED: list[dict[str, Any]] = [
    {"ctwl_provider": 42},
    {"ctwl_version": 3},
    {"ctwl_nonce": 5},
    {"ctwl_strategy": "off"},
    {"ctwl_strategy": "race"},
    {"ctwl_delta": 2.0},
    {"ctwl_share": 0.5},
    {"ctwl_codes": [CODES[0]]},
    {"ctwl_layout": 3, "ctwl_codes": list(CODES)},
]
"""A request with each field."""


def policy(**told: Any) -> Policy:
    return Policy(**{"provider": 42, "version": 3, "profile": PROFILE, **told})


def open_policy(**told: Any) -> Policy:
    return Policy(profile=PROFILE, clients="any", **told)


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_clients_may_be_left_nothing_the_switch_alone_or_all(asked: dict[str, Any]) -> None:
    """A value that the server has too is refused with the others: what is allowed must not depend on it."""
    with pytest.raises(NotLeftToClients, match="the operator of this server lets them choose nothing"):
        policy().request(asked, 1.0)
    if asked == {"ctwl_strategy": "off"}:
        assert policy(clients="off").request(asked, 1.0) is None
    else:
        with pytest.raises(NotLeftToClients, match=r"lets them choose ctwl_strategy \(off\)"):
            policy(clients="off").request(asked, 1.0)
    assert policy(clients="any").request(asked, 1.0) is not None or asked == {"ctwl_strategy": "off"}


def test_a_strategy_that_there_is_not_is_refused_with_those_that_are_left() -> None:
    with pytest.raises(OptionOutOfRange, match=r"ctwl_strategy is 'none'; clients may choose off$"):
        policy(clients="off").request({"ctwl_strategy": "none"}, 1.0)


@pytest.mark.parametrize(
    ("clients", "fits", "refused"),
    [
        ({"nonce": "any"}, {"ctwl_nonce": 63}, {"ctwl_version": 3}),
        ({"version": [3, 5]}, {"ctwl_version": 5}, {"ctwl_version": 4}),
        ({"delta": {"least": 1, "most": 3}}, {"ctwl_delta": 3.0}, {"ctwl_delta": 100.0}),
        ({"delta": {"least": 1}}, {"ctwl_delta": 99.0}, {"ctwl_delta": 0.5}),
        ({"strategy": "any"}, {"ctwl_strategy": "race"}, {"ctwl_strategy": "off"}),
        ({"strategy": ["race", "off"]}, {"ctwl_strategy": "off"}, {"ctwl_strategy": "delta"}),
    ],
    ids=str,
)
def test_fields_are_left_within_bounds(clients: dict[str, Any], fits: dict[str, Any], refused: dict[str, Any]) -> None:
    policy(clients=clients).request(fits, 1.0)
    with pytest.raises(NotLeftToClients, match=f"ctwl_{next(iter(clients))}"):
        policy(clients=clients).request(refused, 1.0)


@pytest.mark.parametrize("field", ["codes", "nonce", "delta", "strategy", "layout"])
def test_no_value_is_no_way_around_the_servers_record(field: str) -> None:
    """Null codes would leave a server that has codes with a beacon of nobody."""
    served = Policy(profile=PROFILE, codes=CODES, layout=3, clients={field: "any"})
    with pytest.raises(OptionOutOfRange, match=f"'ctwl_{field}' has no value; leave it out"):
        served.request({f"ctwl_{field}": None}, 1.0)


def test_a_beacon_over_a_servers_codes_keeps_the_version_that_is_not_left_to_clients() -> None:
    served = Policy(profile=PROFILE, codes=CODES, layout=3, clients={"provider": "any"})
    with pytest.raises(NotLeftToClients, match="ctwl_version 0 is not left to clients"):
        served.request({"ctwl_provider": 42}, 1.0)
    both = Policy(profile=PROFILE, codes=CODES, layout=3, clients={"provider": "any", "version": [0]})
    request = both.request({"ctwl_provider": 42}, 1.0)
    assert request is not None and (request.provider, request.version, request.codes) == (42, 0, None)


def test_a_record_of_a_clients_codes_stays_the_operators() -> None:
    """A gateway adds a user to each request; neither provider nor version changes by that."""
    gateway = policy(clients={"codes": "any", "layout": [3]})
    request = gateway.request({"ctwl_layout": 3, "ctwl_codes": list(CODES)}, 1.0)
    assert request is not None and request.payload(0).carried[:3] == CODES
    for beacon in (Beacon(7, 3, 11), Beacon(42, 4, 11)):
        with pytest.raises(NotLeftToClients, match=r"provider 7|version 4"):
            gateway.request({"ctwl_layout": 3, "ctwl_codes": [beacon.code, *CODES[1:]]}, 1.0)
    with pytest.raises(NotLeftToClients, match="ctwl_layout 2"):
        gateway.request({"ctwl_layout": 2, "ctwl_codes": [CODES[0], 1]}, 1.0)
    among = Policy(profile=PROFILE, clients={"codes": "any", "provider": [7, 42], "version": [3]})
    assert among.request({"ctwl_codes": [CODES[0]]}, 1.0) is not None
    with pytest.raises(NotLeftToClients, match="ctwl_provider 0"):
        among.request({"ctwl_codes": [5]}, 1.0)


@pytest.mark.parametrize(("temperature", "chosen"), [(1.0, "race"), (0.7, "race"), (0.0, "delta")])
def test_the_strategy_follows_from_a_requests_temperature_unless_it_is_named(temperature: float, chosen: str) -> None:
    request = policy().request({"temperature": temperature}, temperature)
    assert request is not None and (request.provider, request.version, request.strategy) == (42, 3, chosen)
    named = policy(strategy="race").request(None, temperature)
    assert named is not None and named.strategy == ("race" if temperature else "delta")


def test_a_requests_own_beacon_stands_over_the_servers_record() -> None:
    server = open_policy(layout=2, codes=[43_211, 7])
    own = server.request({"ctwl_provider": 7, "ctwl_nonce": 5}, 1.0)
    assert own is not None and own.payload(0).carried == (Beacon(7, 0, 5).code,)
    servers = server.request({}, 1.0)
    assert servers is not None and servers.payload(0).carried[:2] == (43_211, 7)
    with pytest.raises(OptionOutOfRange, match="not both"):
        server.request({"ctwl_provider": 7, "ctwl_codes": [1, 2]}, 1.0)


def test_codes_of_a_requests_own_have_a_layout_of_their_own() -> None:
    single = open_policy(layout=2, codes=[43_211, 7]).request({"ctwl_codes": [43_211]}, 1.0)
    assert single is not None and single.payload(0).carried == (43_211,)
    several = open_policy(codes=[43_211]).request({"ctwl_codes": [5, 6], "ctwl_layout": 2}, 1.0)
    assert several is not None and several.payload(0).carried[:2] == (5, 6)


@pytest.mark.parametrize(
    ("server", "given", "says"),
    [
        ({}, {"ctwl_strategy": "race"}, "ctwl_provider or ctwl_codes"),
        ({}, {"ctwl_version": 3}, "a beacon of your own needs ctwl_provider"),
        ({"provider": 42}, {"ctwl_delta": 0}, "ctwl_delta is 0; it must be a number"),
        ({}, {"ctwl_provider": "x"}, "ctwl_provider is 'x'; it must be a whole number"),
        ({}, {"ctwl_strategy": "loud"}, f"ctwl_strategy is 'loud'; clients may choose off or {' or '.join(Strategy)}"),
        ({"layout": 2, "codes": [43_211, 7]}, {"ctwl_nonce": 5}, "a beacon of your own needs ctwl_provider"),
        ({}, {"ctwl_provider": 42, "ctwl_layout": 3}, "ctwl_layout goes with ctwl_codes; give both"),
        ({}, {"ctwl_codes": "43211"}, "ctwl_codes is '43211'; it must be a list"),
        ({}, {"ctwl_codes": [[1]]}, "codes.0: "),
        ({"provider": 42}, {"ctwl_proxy_path": "/tmp"}, "no option of a request"),
        ({"provider": 42}, {"ctwl_clients": "any"}, "no option of a request"),
        ({"provider": 42}, {"ctwl-provider": 7}, "'ctwl-provider' is no option of a request"),
        ({"provider": 42}, {"CTWL_PROVIDER": 7}, "'CTWL_PROVIDER' is no option of a request"),
    ],
)
def test_who_asks_for_a_mark_in_vain_is_told(server: dict[str, Any], given: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionOutOfRange, match=says):
        open_policy(**server).request(given, 1.0)


def test_a_server_without_a_record_marks_nothing_unless_a_request_names_one() -> None:
    assert open_policy().request({"ctwl_strategy": "off"}, 1.0) is None
    assert open_policy().request({}, 1.0) is None


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"proxy": "/tmp"}, "there is no option 'proxy'; there are .*proxy_path.*clients"),
        ({"clients": "all"}, "clients is 'all'; it must be none, off, any"),
        ({"clients": {"profile": "any"}}, "clients: there is no field 'profile'"),
        ({"clients": {"nonce": []}}, 'nonce is .*; it must be "any" or a list of numbers'),
        ({"clients": {"delta": {"max": 3}}}, 'an object of "least" and "most"'),
        ({"clients": {"delta": {"most": "3"}}}, 'an object of "least" and "most"'),
        ({"clients": {"nonce": {"most": 10**400}}}, 'an object of "least" and "most"'),
        ({"clients": {"strategy": ["loud"]}}, f"a list of off, {', '.join(Strategy)}"),
        ({"clients": {"strategy": [{}]}}, "a list of off"),
        ({"clients": {"codes": [[1]]}}, 'codes is .*; it must be "any"'),
        ({"strategy": "off"}, "strategy is 'off'"),
    ],
    ids=str,
)
def test_a_policy_that_cannot_be_kept_is_refused(told: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionOutOfRange, match=says):
        policy(**told)


def test_a_server_that_would_mark_nothing_is_refused() -> None:
    for clients in ("none", "off", {"codes": "any"}):
        with pytest.raises(OptionOutOfRange, match="name a provider or codes"):
            Policy(profile=PROFILE, clients=clients)


def test_a_policy_has_a_digest_that_knows_no_machine() -> None:
    assert policy().digest == policy(log="/var/log/ctwl.log", device="cpu").digest
    assert len({policy(clients=each).digest for each in ("none", "off", {"nonce": "any"})}) == 3


def test_what_is_left_to_clients_is_checked_of_answers_of_a_fixed_form_too() -> None:
    with pytest.raises(NotLeftToClients):
        policy().request({"ctwl_provider": 7}, 1.0, fixed_form=True)
    assert policy().request({}, 1.0, fixed_form=True) is None
    assert policy(fixed_forms=True).request({}, 1.0, fixed_form=True) == policy().request({}, 1.0)
    with pytest.raises(OptionOutOfRange, match="no option of a request"):
        open_policy().request({"ctwl_fixed_forms": True}, 1.0)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({}, "Provider 42, version 3, profile org.ctwl.smollm2-135m.1."),
        ({}, " Sampled texts: race (share 0.8 at temperature 0.7, 0.5 at 1). Greedy texts: delta (delta 2)."),
        ({}, " Clients may change: nothing. Log: none."),
        ({}, " Reasoning: marked. Calls of tools and other fixed forms: not marked."),
        ({"share": 0.6, "delta": 3.0}, " race (share 0.6). Greedy texts: delta (delta 3)."),
        ({"strategy": "delta"}, " All texts: delta (delta 2)."),
        ({"strategy": "race"}, " Sampled texts: race (share"),
        ({"clients": "off"}, " Clients may change: ctwl_strategy (off)."),
        ({"clients": {"version": [3, 4], "nonce": "any", "share": {"least": 0.4}}},
         " Clients may change: ctwl_version (3 or 4), ctwl_nonce, ctwl_share (at least 0.4)."),
        ({"reasoning": False, "fixed_forms": True},
         " Reasoning: not marked. Calls of tools and other fixed forms: marked."),
        ({"version": 3, "codes": CODES, "layout": 3}, "Provider 42, version 3, layout 3, profile"),
    ],
    ids=str,
)  # fmt: skip
def test_a_policy_says_in_one_line_what_a_server_marks(told: dict[str, Any], says: str) -> None:
    sentence = policy(**told).in_words
    assert says in sentence and "\n" not in sentence and sentence.startswith("the mark is on. Provider 42, version 3")
    assert str(CODES[1]) not in sentence  # it may stand for a person


def test_a_policy_names_the_place_of_its_log_and_whose_record_is_written(tmp_path: Path) -> None:
    assert f" Log: {(tmp_path / 'ctwl.log').resolve()}. " in policy(log=str(tmp_path / "ctwl.log")).in_words
    assert f" Log: {Path('ctwl.log').resolve()}. " in policy(log="ctwl.log").in_words
    assert open_policy().in_words.startswith("the mark is on where a client names a record. Profile org.ctwl.smollm2")
