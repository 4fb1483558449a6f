"""A forecast is compared with what was found, over all texts and by tenths; the share found by the choice."""

from evaluation.reading.models import STEP, Read, by_choice, held, tenths


def read(foretold: float, log2_p: float, found: bool, choice: float = 100.0) -> Read:
    return Read(choice, foretold, log2_p, found, found, found, False, (found, False))


TEXTS = [read(-1.0 * i, -0.9 * i, i >= 16, STEP * i / 10) for i in range(40)]


def test_the_forecast_holds_where_as_many_are_found() -> None:
    found = held(TEXTS)
    assert 24 < found["foretold"] < 28 and (found["found"]["successes"], found["right for the text"]) == (24, 38)
    assert found["holds"] and found["median log2 p, foretold"] == -19.5
    assert not held([read(-20.0, -5.0, False)] * 8)["holds"]


def test_tenths_begin_with_the_clearest_forecasts() -> None:
    parts = list(tenths(TEXTS))
    assert [part["found"]["trials"] for part in parts] == [4] * 10
    assert parts[0]["log2 p, foretold"] == [-39, -36] and parts[-1]["found"]["successes"] == 0
    assert len(list(tenths(TEXTS[:3]))) == 3


def test_the_curve_says_how_many_are_found_by_the_choice() -> None:
    points = list(by_choice(TEXTS))
    assert [point["nats of choice"] for point in points] == [[i * STEP, (i + 1) * STEP] for i in range(4)]
    assert [point["found"]["successes"] for point in points] == [0, 4, 10, 10]
