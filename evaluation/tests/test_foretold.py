"""A forecast is compared with what was found, over all texts and by tenths."""

from evaluation.writing.foretold import Read, held, tenths

TEXTS = [Read(-1.0 * i, i >= 14, -0.9 * i, i >= 16) for i in range(40)]


def test_the_forecast_holds_where_as_many_are_found() -> None:
    found = held(TEXTS)
    assert (found["foretold"], found["found"]["successes"], found["right for the text"]) == (26, 24, 38)
    assert found["holds"] and found["median log2 p, foretold"] == -19.5
    assert not held([Read(-20.0, True, -5.0, False)] * 8)["holds"]


def test_tenths_begin_with_the_clearest_forecasts() -> None:
    parts = list(tenths(TEXTS))
    assert [part["found"]["trials"] for part in parts] == [4] * 10
    assert parts[0]["log2 p, foretold"] == [-39, -36] and parts[-1]["found"]["successes"] == 0
    assert len(list(tenths(TEXTS[:3]))) == 3
