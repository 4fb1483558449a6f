"""A forecast is compared with what was found, over all texts and by tenths; the share found by the choice."""

from evaluation.reading.models import STEP, Read, by_choice, held, tenths


def read(foretold: float, found: bool, choice: float = 100.0) -> Read:
    return Read(choice, foretold, found, found, found, False, (found, False), (found, found, False))


TEXTS = [read(i / 40, i >= 16, STEP * i / 10) for i in range(40)]


def test_the_forecast_holds_where_as_many_are_found() -> None:
    found = held(TEXTS)
    assert (found["foretold"], found["found"]["successes"], found["right for the text"]) == (19.5, 24, 36)
    assert found["holds"] and not held([read(0.9, False)] * 8)["holds"]


def test_tenths_begin_with_the_clearest_forecasts() -> None:
    parts = list(tenths(TEXTS))
    assert [part["found"]["trials"] for part in parts] == [4] * 10
    assert parts[0]["chances"] == [0.97, 0.9] and parts[-1]["found"]["successes"] == 0
    assert len(list(tenths(TEXTS[:3]))) == 3


def test_the_curve_says_how_many_are_found_by_the_choice() -> None:
    points = list(by_choice(TEXTS))
    assert [point["nats of choice"] for point in points] == [[i * STEP, (i + 1) * STEP] for i in range(4)]
    assert [point["found"]["successes"] for point in points] == [0, 4, 10, 10]
