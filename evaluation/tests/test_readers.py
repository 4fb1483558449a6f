"""What the readers say of a text."""

from ctwl_decoder import Decoder
from ctwl_decoder.statistics.scores import Score
from ctwl_encoder import Strategy
from evaluation.shared.outcomes import own_score
from evaluation.shared.readers import first_tokens, likeliest

NUMBERS = " ".join(str(number) for number in range(60))


def test_the_likeliest_code_needs_not_be_found() -> None:
    decoder = Decoder.open("org.ctwl.toy.1")
    report = decoder.decode(NUMBERS)
    assert report.code is None and report.likeliest is not None
    assert likeliest(report) == report.likeliest.code
    assert likeliest(report.model_copy(update={"likeliest": None})) is None
    assert likeliest(report.model_copy(update={"likeliest": None, "code": 7})) == 7
    assert first_tokens(decoder.tokenizer, NUMBERS, 9) == NUMBERS[:9]  # its tokens are bytes


def test_each_strategy_has_a_score_that_was_made_for_it() -> None:
    assert {own_score(strategy) for strategy in Strategy} == {Score.RACE, Score.HALF}
