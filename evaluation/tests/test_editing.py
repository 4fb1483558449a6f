"""The edits: what each does to a text, and that a seed decides it."""

import difflib
import re
from itertools import pairwise

import numpy as np
import pytest

from ctwl_decoder.text.variants import variants_of
from ctwl_protocol.proxy import open_proxy
from ctwl_protocol.text.normalization import normalize
from evaluation.robustness.edits import Reader, Reading
from evaluation.shared.editing import (
    EDITS,
    american,
    between,
    british,
    contracted,
    dropped,
    expanded,
    reordered,
    replaced,
    wrapped,
)
from evaluation.shared.texts import Text
from evaluation.shared.words import ALWAYS_S, ALWAYS_Z, AMERICAN, BRITISH, SYNONYMS

TEXT = (
    'The council doesn\'t organise "first class" flights to the harbour -- it said so on Tuesday. Many people (there '
    "are some 1/2 million of them, a rumour says) believe otherwise & realise that it's a prize worth having... The "
    "mayor said that the size of the neighbouring theatre would color everyone!\n"
    "Analyse that? I can't. We modernised the offices in Burnley in 1996-97, and the staff will not forget it."
)


def edited(name: str, text: str = TEXT) -> str:
    return EDITS[name](text, np.random.default_rng(7))


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_the_text_and_a_seed_decides_how(name: str) -> None:
    assert edited(name) == edited(name)
    assert (edited(name) == TEXT) is (name in ("none", "straight quotes and dashes"))
    assert edited(name, "") is not None  # nothing is asked of a text


@pytest.mark.parametrize(
    "name", ["curly quotes, long dashes, ellipsis", "spaces that do not break", "soft hyphens", "line ends of Windows"]
)
def test_what_no_reader_sees_normalization_undoes(name: str) -> None:
    plain = TEXT.replace("--", "to").replace("1996-97", "1996")
    assert edited(name, plain) != plain and normalize(edited(name, plain)) == plain


@pytest.mark.parametrize(
    "name",
    [
        "characters without width", "wrapped at 72 columns", "wrapped, quoted by `>`", "wrapped, words divided",
        "two spaces behind sentences", "ligatures",
    ],
)  # fmt: skip
def test_what_copying_does_a_variant_undoes(name: str) -> None:
    assert TEXT in {variant.text for _, variant in variants_of(edited(name))}


def test_lines_are_wrapped_at_spaces() -> None:
    assert max(map(len, edited("wrapped at 72 columns").split("\n"))) <= 72
    assert wrapped(TEXT, np.random.default_rng()).split() == TEXT.split()


def test_spelling_has_two_directions() -> None:
    rng = np.random.default_rng()
    assert american("Colour, ORGANISED theatres: wise, promised, rising", rng) == (
        "Color, ORGANISED theaters: wise, promised, rising"
    )
    assert british("Color and organization; the size of prizes", rng) == "Colour and organisation; the size of prizes"
    assert british(american("A coloured centre modernises.", rng), rng) == "A coloured centre modernises."
    assert all(AMERICAN[there] == here for here, there in BRITISH.items()) and len(AMERICAN) > 150
    for stem, letter, edit in [*((each, "s", american) for each in ALWAYS_S), *((e, "z", british) for e in ALWAYS_Z)]:
        assert edit(f"{stem}i{letter}e", rng) == f"{stem}i{letter}e"


def test_contractions_have_two_directions() -> None:
    rng = np.random.default_rng()
    assert expanded("It’s late; I can't, they WON'T.", rng) == "It is late; I cannot, they WILL NOT."
    assert contracted("It is late; I cannot.", rng) == "It's late; I can't."


def test_sentences_move_or_go_as_they_are() -> None:
    text = "One is here. Two is there. Three? Four goes!\n\nFive stays. Six too. Seven. Eight."
    sentences = set(text.split()) and {"One is here.", "Two is there.", "Three?", "Four goes!", "Five stays."}
    moved, less = (edit(text, np.random.default_rng(3)) for edit in (reordered, dropped))
    assert moved != text and all(sentence in moved for sentence in sentences) and "\n\n" in moved
    assert len(moved) == len(text)
    assert sum(word in less for word in ("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight")) == 6


def test_passages_stand_between_those_of_the_text() -> None:
    found = between(["Elsewhere."], "A. B. C. D.\nE.", np.random.default_rng())
    assert found == "A. B. C.\n\nElsewhere.\n\nD.\n\nElsewhere.\n\nE.\n\nElsewhere."


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2, 0.3])
def test_so_many_words_are_reworded(share: float) -> None:
    text = " ".join(SYNONYMS)
    before, after = text.split(), edited(f"{100 * share:.0f} % of words by synonyms", text).split()
    differ = sum(a != b for a, b in zip(before, after, strict=True))
    assert differ == round(share * len(before))


def test_a_smaller_share_replaces_some_of_the_same_words() -> None:
    texts = [replaced(share, TEXT, np.random.default_rng(5)) for share in (0.0, 0.2, 0.4, 1.0)]
    steps = [re.findall("[A-Za-z']+", text) for text in texts]
    assert texts[0] == TEXT
    for before, after in pairwise(steps):
        kept = {i for i, (a, b) in enumerate(zip(steps[0], before, strict=True)) if a != b}
        assert all(after[i] == before[i] for i in kept)
    assert difflib.SequenceMatcher(a=steps[0], b=steps[3]).ratio() < 0.3


def test_an_edit_of_the_last_token_alone_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def noted(_: Reader, edited: str, __: object) -> Reading:
        read.append(edited)
        return Reading(changed=True, left=1.0, given=1.0, found=True, light=True, p_value=0.0)

    monkeypatch.setattr(Reader, "_read", noted)
    reader = Reader(open_proxy("org.ctwl.toy.1"), Text(TEXT, 7, [], [], [], []))
    for edited in (TEXT, TEXT[:-1] + "!", TEXT):
        reader.read(edited)
    assert read == [TEXT, TEXT[:-1] + "!"]
