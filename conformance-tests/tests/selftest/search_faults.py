"""Decoders with one wrong step each in the search for codes (section 10). The suite must see every step by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
from fault import BOTH, Change, Fault, after, instead

__all__ = ["SEARCH_FAULTS"]

ONE = "read-one-code/100-tokens* "
WHOLE, WINDOW = f"{BOTH}100-tokens-code-0 ", f"{BOTH}a-code-that-one-window-shows "
GUMBEL, UNITS = "decode/*-by-gumbel read-one-code/*-by-gumbel ", "units "
RECORD = f"{BOTH}a-record-of-two-codes "
RECORD_WINDOW = f"{BOTH}a-record-of-two-codes-that-one-window-shows "
RECORDS = RECORD + RECORD_WINDOW
PAIRS = "pairs-that-come-back-"
SLOT_PAIRS = f"{BOTH}{PAIRS}a-record-of-two-codes-second-profile "
SPANS, PLACES = f"{BOTH}two-texts-of-different-codes", "decode-places decode-light-places"
SCRIPTS = "decode-places/*letters-of-other-scripts* decode-light-places/*letters-of-other-scripts*"
P_VALUES = "decode-record-p-values/a-record*"
EACH = "read-one-code/{0} decode{{,-light}}/{0} "
"""A text of a basic reader, a full reader and a light reader."""

# 10.1: units.


def units(
    *, rivals: bool = True, usual: bool = True, half_mean: bool = True, race_mean: bool = True, clear: bool = False
) -> Mapping[str, Change]:
    """The scores of 10.1, with one of their parts left out."""

    def position_scores(given: Any, first: int, seeds: Any, sigma: Any) -> Any:
        from ctwl_decoder.statistics.scores import Score
        from ctwl_protocol.hashing import ranks_of

        share, found = sigma[0] / sigma[1], {each: np.zeros(seeds.shape, np.int8) for each in (Score.HALF, Score.RACE)}
        for i, place in enumerate(given.places - first):
            part = slice(given.starts[i], given.starts[i + 1])
            mass = given.weights[part] / float(given.total[i])
            rest, width = max(1 - mass.sum(), 0), 0.1 + 0.4 * np.sqrt((mass**2).sum())
            at = (ranks_of(seeds[place][:, None], given.tokens[part]) + 0.5) / 2**32
            before = np.array([[mass[row < x].sum() for x in row] for row in at])
            half = np.clip((share + width - before - rest * at) / (mass + (0 if clear else 2 * width)), 0, 1) / share
            race = mass / -np.log1p(-at)
            race /= (rest + race.sum(axis=1, keepdims=True)) if rivals else 1
            race /= race.mean(axis=0) if usual else mass
            for score, ratio, mean in ((Score.HALF, half, half_mean), (Score.RACE, race, race_mean)):
                marked = 0.8 * ratio + 0.2
                shown = marked[:, given.shown[i] - part.start] / ((rest + marked @ mass) if mean else 1)
                found[score][place] = np.floor(8 * np.log(shown) + 0.5)
        return found

    return {"d.statistics.scores:position_scores": instead(position_scores)}


# Steps 5 to 8: evidence, codes, p-values.

TABLE, PAIR = "d.statistics.scored_positions:ScoreTable.of", "d.statistics.scored_positions:ScoredPositions."


def repeating(module: str) -> Mapping[str, Change]:
    """A module that sums pairs that come back."""

    def all_differ(positions: Any) -> Any:
        return replace(positions, pairs=np.column_stack([positions.pairs[:, :-1], np.arange(len(positions))]))

    return {f"d.search.{module}:ScoreTable": lambda table: SimpleNamespace(of=lambda each: table.of(all_differ(each)))}


def dropped_in_the_text(window_of: Any) -> Any:
    def of(text: Any, start: int, end: int, count: int = 1) -> Any:
        kept = text.positions.first_occurrences()
        few = replace(text, positions=text.positions[kept])
        return replace(window_of(few, kept[:start].sum(), kept[:end].sum(), count), start=start, end=end)

    return of


def by_positions(positions: Any) -> Any:
    from ctwl_decoder.statistics.scored_positions import ScoreTable

    kept = positions[positions.first_occurrences()]
    return ScoreTable(kept.seeds, kept.scores.astype(np.int32))


def counted(change: Callable[[Any, Any], Any]) -> Mapping[str, Change]:
    """Another of the positions with one pair counts."""
    return {PAIR + "first_occurrences": lambda f: lambda self, apart=None: (
        f(self, apart) if apart else change(f, self)
    )}  # fmt: skip


def last_of_equals(*scores: str) -> Mapping[str, Change]:
    """Of the codes with the best score under some scores the last is taken."""

    def change(candidate: Any) -> Any:
        def last(self: Any, code: int, code_set: Any, *tests: float) -> Any:
            from ctwl_decoder.statistics.code_scores import score_all

            every = score_all(self.table, code_set.codes)
            best = code_set.codes[every == every.max()]
            if self.by.value in scores and code in best:
                code = int(best[-1])
            return candidate(self, code, code_set, *tests)

        return last

    return {"d.search.candidates:Window.candidate": change}


def passing(change: Callable[..., bool]) -> Mapping[str, Change]:
    """Other windows pass: of the right answer, the candidate, the level."""
    return {"d.search.candidates:Candidate.passes": after(lambda right, one, alpha, _: change(right, one, alpha))}


def factor_where(pays: Callable[[int], bool]) -> Change:
    """Light p-values pay for all codes only where a window has so many contexts."""
    return lambda f: (
        lambda *given, contexts, factor, **more: f(
            *given, contexts=contexts, factor=factor if pays(contexts) else 1.0, **more
        )
    )


def e_value_pays(change: Callable[[float], float]) -> Mapping[str, Change]:
    """The e-value pays for another number of choices, made of the right one; both are logarithms."""
    held_by = "d.search.candidates:held_by"
    return {held_by: lambda f: lambda *given, log_choices, **more: f(*given, log_choices=change(log_choices), **more)}


def low(one: Any, alpha: float) -> bool:
    return not one.by.light and one.p_value <= alpha


def smaller_p_alone(found: Any, *_: Any, **__: Any) -> Any:
    """Of the candidates of one window, those by the score with the smaller p-value."""
    least: dict[Any, Any] = {}
    for each in sorted(found, key=lambda each: each.order):
        least.setdefault((each.start, each.end, each.record_codes, len(each.code_set.codes)), each)
    return list(least.values())


def contexts(change: Callable[[Any, Any], float]) -> Mapping[str, Change]:
    """Another number of contexts, of a window and the text."""
    return {"d.search.candidates:Window.of": after(
        lambda found, text, *_: replace(found, contexts=change(found, text))
    )}  # fmt: skip


def of_slot_0(found: Any, text: Any) -> float:
    """So many contexts that all positions have as many each as those of slot 0 have of theirs."""
    part = text.positions[found.start : found.end]
    carried = part[part.indices_of_slot(found.record_codes, 0)]
    return float(len(np.unique(carried.pairs[:, :-1], axis=0)) * len(part) / len(carried))


def all_codes(over: Callable[[Any], float]) -> Mapping[str, Change]:
    """Where the p-value or e-value pays for all codes, the searched ones are taken for another number."""
    return {"d.search.candidates:Candidate.held_by": lambda f: (
        lambda one, alpha, every: f(one, alpha, every * over(one.code_set))
    )}  # fmt: skip


BOUND = "decode/{0} read-one-code/{0}"
MEAN = "e-value " + BOUND.format("*mean-of-the-four-products*")
EVIDENCE = (
    Fault("rank-alone", UNITS + GUMBEL, units(rivals=False)),
    Fault("race-without-its-usual", UNITS + GUMBEL, units(usual=False)),
    Fault("race-without-its-mean", UNITS + GUMBEL, units(race_mean=False)),
    Fault("half-without-its-mean", UNITS + ONE + "decode/100-tokens-code-0", units(half_mean=False)),
    Fault("a-clear-border", UNITS + ONE + "decode/100-tokens-code-0", units(clear=True)),
    Fault("repeats-counted", f"{BOTH}{PAIRS}one-code* {BOTH}{PAIRS}slot-0-alone-second-profile read-one-code/pairs*",
          repeating("candidates")),
    Fault("every-pair-counted", "counted-positions/a-pair*", {PAIR + "first_occurrences": after(
        lambda first, *_: first | True
    )}),
    Fault("repeats-counted-in-slots", SLOT_PAIRS, repeating("records")),
    Fault("repeats-dropped-before-slots", SLOT_PAIRS, {PAIR + "indices_of_slot": after(
        lambda indices, self, *_: indices[self.first_occurrences()[indices]]
    )}),
    Fault("repeats-dropped-in-the-text", f"{BOTH}a-window-with-pairs-that-stand-before-it-too",
          {"d.search.candidates:Window.of": dropped_in_the_text}),
    Fault("first-of-repeats", f"decode/{PAIRS}*-second-profile",
          counted(lambda f, self: f(replace(self, slots=np.zeros_like(self.slots))))),
    Fault("last-of-repeats", f"decode/{PAIRS}one-code* read-one-code/pairs*",
          counted(lambda f, self: f(self[::-1])[::-1])),
    Fault("null-by-positions", WHOLE + ONE, {TABLE: instead(by_positions)}),
    Fault("scores-above", WHOLE + ONE, {"d.statistics.null:tail_of": lambda f: lambda table, n: f(table, n + 1)}),
    Fault("sums-above", RECORD + P_VALUES, {"d.statistics.null:Null.tail": lambda f: lambda self, n: f(self, n + 1)}),
    Fault("slot-from-context", f"decode-record/*-second-profile {BOTH}a-record-of-two-codes-second-profile",
          {"p.records.slots:TAIL": instead(1)}),
    Fault("units-in-8-bits", EACH.format("units-of-a-context-beyond-8-bits*"), {TABLE: after(
        lambda table, *_, **__: replace(table, scores=table.scores.astype(np.int8).astype(np.int32))
    )}),
    Fault("scores-in-16-bits", "scores/scores-beyond-16-bits scores/scores-below*",
          {"d.statistics.code_scores:score_all": after(lambda scores, *_: scores.astype(np.int16))}),
    Fault("window-scores-in-16-bits", "window-scores/scores-beyond-16-bits window-scores/scores-below*", {
        "d.statistics.window_scores:search_windows": after(lambda found, *_: (found[0], found[1].astype(np.int16)))
    }),
    Fault("all-codes-but-the-last", f"read-one-code/code-1048575* {BOTH}*code-1048575",
          {"d.statistics.code_scores:code_space": after(lambda codes, _: codes[:-1])}),
    Fault("codes-from-1", WHOLE + "read-one-code/code-0*",
          {"d.statistics.code_scores:code_space": after(lambda codes, _: codes[1:])}),
    Fault("last-of-equals-by-half", f"{BOUND.format('two-*-by-half')} decode-light/two-*-soft",
          last_of_equals("half", "light-soft")),
    Fault("last-of-equals-by-race", f"{BOUND.format('two-*-by-race')} decode-light/two-*-rank",
          last_of_equals("race", "light-rank")),
    Fault("any-level", EACH.format("a-level-of-1"), {"d.options:check_alpha": instead(lambda *_: None)}),
    Fault("below-the-level", EACH.format("a-p-value-of-1e-300*"),
          passing(lambda right, one, a: right and one.p_value < a)),
    Fault("no-bound-on-the-e-value", BOUND.format("a-p-value-below*"), passing(lambda right, *of: right or low(*of))),
    Fault("a-bound-on-the-score", BOUND.format("*bound-the-score*") + " " + BOUND.format("*every-fifth*"),
          passing(lambda right, one, a: one.score >= -8 * np.log(a) if low(one, a) else right)),
    Fault("one-share-of-edited-contexts", BOUND.format("*bound-the-e-value-reaches"),
          {"d.statistics.e_value:UNMARKED_CONTEXTS": lambda _: (0.875,)}),
    Fault("e-value-without-the-windows", "decode/*does-not-pay-for-the-windows", e_value_pays(lambda _: 0.0)),
    Fault("e-value-pays-for-all-codes", BOUND.format("*bound-the-e-value-reaches"),
          e_value_pays(lambda choices: choices + np.log(2**20))),
    Fault("least-share-of-edited-contexts", MEAN, {"d.statistics.e_value:UNMARKED_CONTEXTS": instead((0.125,))}),
    Fault("sum-of-the-products", MEAN, {"d.statistics.e_value:log_e_value": after(lambda log, _: log + np.log(4))}),
    Fault("smaller-p-value-alone", BOUND.format("*smaller-p-value*"), {
        "d.search.windows:find_candidates": after(smaller_p_alone),
        "c.families.decoding:min": instead(lambda found, key: min(found, key=lambda each: each.order)),
    }),
    Fault("more-than-64-contexts", "decode-light/64-contexts*", {"d.search.candidates:MANY_CONTEXTS": lambda n: n + 1}),
    Fault("63-contexts", "decode-light/63-contexts*", {"d.search.candidates:MANY_CONTEXTS": lambda n: n - 1}),
    Fault("square-of-the-level-for-searched-codes", "decode-light-registered/few-contexts*", {
        "d.search.candidates:held_by": factor_where(lambda contexts: contexts >= 64)
    }),
    Fault("the-level-for-searched-codes", "decode-light-registered/many-contexts*", {
        "d.search.candidates:held_by": factor_where(lambda contexts: contexts < 64)
    }),
    Fault("contexts-of-slot-0", "decode-light/*-contexts-in-all-slots",
          contexts(lambda found, _: len(found.table.seeds))),
    Fault("contexts-of-the-text", "decode-light/few-contexts-in-a-window*",
          contexts(lambda _, text: len(np.unique(text.positions.pairs[:, :-1], axis=0)))),
    Fault("a-code-that-fits-a-kind", "decode-light/few-contexts-and*",
          passing(lambda right, one, a: right or (one.by.light and one.p_value <= a))),
    Fault("mends-surrogates", f"{BOTH}a-*-surrogate-alone read-one-code/*surrogate*",
          {"d.text.tokens:tokenize_variants": lambda f: lambda text, *more: f(
              text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), *more
          )}),
)  # fmt: skip

# 10.2: one factor each.


def repaid(factor: Callable[[Any, Any], float]) -> Mapping[str, Change]:
    """So many times the tests, in view of a candidate and of what is searched: ``window`` says whether the candidate is
    one, ``windows`` how many there are, ``both`` whether they and the whole text are tested, ``numbers`` of codes."""

    def change(found: Any, texts: Any, code_sets: Any, counts: Any = (1,), **_: Any) -> Any:
        from ctwl_decoder.search.windows import LENGTHS, windows_of

        length, again = len(texts[0].positions), []
        for each in found:
            windows = len(windows_of(length, each.record_codes))
            searched = SimpleNamespace(
                window=(each.start, each.end) != (0, length), windows=windows,
                both=windows and length <= LENGTHS[-1], numbers=len(counts),
            )  # fmt: skip
            tests = each.tests * factor(each, searched)
            again.append(replace(each, tests=tests, p_value=min(1.0, max(tests * each.chance, 1e-300))))
        return again

    return {"d.search.windows:find_candidates": after(change)}


def windows_as_wholes(found: Any, texts: Any, *_: Any, **__: Any) -> Any:
    from ctwl_decoder.search.candidates import Window

    whole = {(text.score, n): Window.of(text, 0, len(text.positions), n) for text in texts for n in (1, 2, 3, 4)}
    fields = attrgetter("code", "code_set", "tests")
    again = [(each, whole[each.by, each.record_codes].candidate(*fields(each))) for each in found]
    return [replace(other, start=each.start, end=each.end) for each, other in again]


def shares(first: float, second: float, mapping: str = "SCORE_SHARES") -> Mapping[str, Change]:
    """Other shares of the level; the mapping itself changes, as others hold it."""

    def change(those: Any) -> Any:
        those.update(zip(those, (first, second), strict=True))
        return those

    return {f"d.search.plan:{mapping}": change}


def whole_level(few: bool) -> Mapping[str, Change]:
    """The whole level for registered codes, or for all beside them."""
    return {"d.search.plan:CodeSet": lambda code_set: lambda codes, share=1.0, parts=1.0: code_set(
        codes, 1.0 if (len(codes) < 2**20) == few else share, parts
    )}  # fmt: skip


LIGHT = "LIGHT_SHARES"
FACTORS = (
    Fault("no-factor-for-codes", WHOLE, repaid(lambda each, _: 1 / each.code_set.number)),
    Fault("half-the-codes", WHOLE, repaid(lambda *_: 1 / 2)),
    Fault("whole-level-for-registered-codes", "decode-registered", whole_level(few=True)),
    Fault("whole-level-for-all-codes", "decode-registered", whole_level(few=False)),
    Fault("nine-positions-for-each-context", "decode-registered/*eight-positions*", {
        "d.search.candidates:POSITIONS_PER_CONTEXT": lambda n: n + 1
    }),
    Fault("seven-positions-for-each-context", "decode-registered/*repeats-itself", {
        "d.search.candidates:POSITIONS_PER_CONTEXT": lambda n: n - 1
    }),
    Fault("eight-positions-of-slot-0-for-each-context", "decode-registered/a-record-in*", contexts(of_slot_0)),
    Fault("eight-positions-of-slot-0-for-each-context-of-all-slots", "decode-registered/*context-of-all-slots",
          contexts(lambda found, _: found.contexts * found.record_codes)),
    Fault("all-codes-over-those-of-few-nonces", "decode-registered/few-declared*", all_codes(lambda each: each.parts)),
    Fault("all-codes-with-the-whole-level", "decode-light-registered/*share-of-the-level-alone",
          all_codes(lambda each: each.share)),
    Fault("all-nonces-of-registered-codes", "decode-registered", {
        "d.search.plan:codes_by_nonces": lambda real: lambda profile, given, _: real(profile, given, None)
    }),
    Fault("a-level-for-each-number-of-nonces", "decode-registered", {
        "d.search.plan:CodeSet": lambda code_set: lambda codes, share=1.0, parts=1.0: code_set(codes, share)
    }),
    Fault("no-factor-for-forms", "decode-forms", {"d.text.tokens:tokenize_variants": after(
        lambda found, *_: [replace(each, variants=1) for each in found]
    )}),
    Fault("no-factor-for-scores", WHOLE, {**shares(1, 1), **shares(1, 1, LIGHT)}),
    Fault("no-factor-for-half", ONE + "decode/100-tokens-code-0", shares(1, 1 / 2)),
    Fault("no-factor-for-race", GUMBEL, shares(1 / 2, 1)),
    Fault("shares-of-31-and-1", GUMBEL + ONE + "decode/100-tokens-code-0", shares(31 / 32, 1 / 32)),
    Fault("no-factor-for-light-soft", "decode-light/100-tokens-code-0", shares(1, 1 / 2, LIGHT)),
    Fault("no-factor-for-light-rank", "decode-light/*-by-gumbel", shares(1 / 2, 1, LIGHT)),
    Fault("no-factor-for-one-code", WHOLE, repaid(lambda each, _: 3 / 4 if each.record_codes == 1 else 1)),
    Fault("no-factor-for-numbers-of-codes", RECORDS,
          repaid(lambda each, at: 1 / 4 / (at.numbers - 1) if each.record_codes > 1 else 1)),
    Fault("one-number-of-codes", RECORDS,
          repaid(lambda each, at: 1 / (at.numbers - 1) if each.record_codes > 1 else 1)),
    Fault("no-factor-for-two-tests", RECORDS, repaid(lambda each, _: 1 / 2 if each.record_codes > 1 else 1)),
    Fault("no-factor-for-the-whole", f"{BOTH}200-tokens",
          repaid(lambda _, at: 3 / 4 if at.both and not at.window else 1)),
    Fault("no-share-for-windows", WINDOW + RECORD_WINDOW, repaid(lambda _, at: 1 / 4 if at.both and at.window else 1)),
    Fault("no-factor-for-windows", WINDOW + RECORD_WINDOW, repaid(lambda _, at: 1 / at.windows if at.window else 1)),
    Fault("tested-windows-alone", f"{BOTH}one-of-more-than-24-windows",
          repaid(lambda _, at: min(1, 24 / at.windows) if at.window else 1)),
    Fault("whole-text-for-a-window", WINDOW, {"d.search.windows:find_candidates": after(windows_as_wholes)}),
    Fault("no-windows", WINDOW, {"d.search.windows:windows_of": lambda f: lambda *_: f(0)}),
)  # fmt: skip

# 10.3 and step 9: places and what is reported.

ASSEMBLER = "d.report.assembly:Assembler."


def span(**places: Callable[[str, int], int]) -> Mapping[str, Change]:
    """Other places of each span, in view of the text and the right place."""
    return {ASSEMBLER + "_span": after(lambda found, self, text, *_: found.model_copy(
        update={name: at(text, getattr(found, name)) for name, at in places.items()}
    ))}  # fmt: skip


def tokens(change: Callable[[int, int, int], tuple[int, int]]) -> Mapping[str, Change]:
    """Other tokens of each span, in view of ``L_prefix``."""

    def other(found: Any, self: Any, _: Any, finding: Any) -> Any:
        first, last = change(*found, self.reader.profile.prefix_length)
        return max(first, 0), min(last, finding.variant.tokens)

    return {ASSEMBLER + "_tokens_of": after(other)}


def reporting(change: Callable[[Any], dict[str, Any]]) -> Mapping[str, Change]:
    return {ASSEMBLER + "analysis": after(
        lambda found, *_, **__: replace(found, report=found.report.model_copy(update=change(found.report)))
    )}  # fmt: skip


def in_the_normalized_text(found: Any, text: str, tokenizer: Any, *_: Any) -> Any:
    return [replace(each, starts=np.append(tokenizer.locate(each.text)[1], len(each.text))) for each in found]


def utf_16(text: str, at: int) -> int:
    return len(text[:at].encode("utf-16-le")) // 2


def in_bytes(text: str, at: int) -> int:
    return len(text[:at].encode())


PLACED = (
    Fault("span-0-to-1", PLACES, span(start=lambda *_: 0, end=lambda *_: 1)),
    Fault("span-begins-late", PLACES, tokens(lambda first, last, _: (first + 1, last))),
    Fault("span-begins-early", PLACES, tokens(lambda first, last, _: (first - 1, last))),
    Fault("span-ends-early", PLACES, tokens(lambda first, last, _: (first, last - 1))),
    Fault("span-ends-late", PLACES, tokens(lambda first, last, _: (first, last + 1))),
    Fault("span-in-positions", PLACES, tokens(lambda first, last, prefix: (first - prefix, last - prefix))),
    Fault("span-without-the-first-prefix", PLACES, tokens(lambda first, last, prefix: (max(first, prefix), last))),
    Fault("span-in-the-normalized-text", SCRIPTS + " decode-forms",
          {"d.text.tokens:tokenize_variants": after(in_the_normalized_text)}),
    Fault("span-begins-in-utf-16", SCRIPTS, span(start=utf_16)),
    Fault("span-begins-in-bytes", SCRIPTS, span(start=in_bytes)),
    Fault("span-ends-in-utf-16", SCRIPTS, span(end=utf_16)),
    Fault("span-ends-in-bytes", SCRIPTS, span(end=in_bytes)),
    Fault("span-ends-with-the-text", SCRIPTS, span(end=lambda text, _: len(text))),
    Fault("one-p-value-for-all-spans", SPANS, reporting(
        lambda report: {"spans": [each.model_copy(update={"p_value": report.p_value}) for each in report.spans]}
    )),
    Fault("last-span-for-the-clearest", SPANS, reporting(
        lambda report: {name: getattr(report.spans[-1], name) for name in ("code", "p_value")}
    )),
    Fault("one-span-alone", SPANS, reporting(lambda report: {"spans": report.spans[:1]})),
)  # fmt: skip

# 10.4: the record as a whole, what may be wrong in it, the authenticator.

READER, HYPOTHESIS = "d.search.records:RecordReader.", "d.search.records:_Hypothesis."


def searched(first: int, last: int | None) -> Any:
    """The product of the codes in some slots."""
    return property(lambda self: prod(float(slot.searched) for slot in self.slots[first:last]))


def as_record(change: Callable[..., Any]) -> Mapping[str, Change]:
    """Another outcome of a record that was read: of it, the window's candidate, the record found and the layouts."""
    return {READER + "_as_record": after(lambda made, self, window, candidate, found, layouts: (
        made if made is candidate else change(made, candidate, found, layouts)
    ))}  # fmt: skip


def without_its_own_test(made: Any, candidate: Any, found: Any, layouts: int) -> Any:
    from ctwl_decoder.search.error_bounds import error_bounds

    nulls, codes = [slot.null for slot in found.slots], [slot.searched for slot in found.slots]
    (beacon, *_), _ = error_bounds(nulls, found.scores(), codes, candidate.tests * layouts * found.records, layouts)
    return replace(made, record=replace(made.record, p_values=(beacon, *made.record.p_values[1:])))


def doubts(change: Callable[..., tuple[Any, ...]]) -> Mapping[str, Change]:
    """Other numbers of what may be wrong: of codes in each slot, of records, of layouts."""
    return {"d.search.error_bounds:error_bounds": lambda f: lambda nulls, scores, *of: f(nulls, scores, *change(*of))}


RECORD_STEPS = (
    Fault("no-factor-for-layouts", RECORD, {READER + "_as_record": lambda f: lambda *given: f(*given[:-1], 1)}),
    Fault("no-factor-for-records", RECORD, {HYPOTHESIS + "records": instead(searched(0, 0))}),
    Fault("check-counted-as-a-code", RECORD, {HYPOTHESIS + "records": instead(searched(1, None))}),
    Fault("null-without-the-check", RECORD, {"d.search.error_bounds:convolve": lambda f: lambda nulls: f(nulls[:-1])}),
    Fault("slot-0-alone", RECORD, as_record(lambda made, candidate, *_: replace(made, p_value=candidate.p_value))),
    Fault("record-alone", f"{BOTH}a-record-whose-slot-0-shows-more-than-the-whole", as_record(
        lambda made, one, found, layouts: replace(made, p_value=found.p_value(one.tests * layouts * found.records))
    )),
    Fault("e-value-of-slot-0", "decode/*that-the-e-value-of-all-slots-reaches*", as_record(
        lambda made, candidate, *_: replace(made, log_e=candidate.log_e)
    )),
    Fault("e-value-without-the-records", "decode/*does-not-pay-for-the-records", as_record(
        lambda made, candidate, *_: replace(made, log_choices=candidate.log_choices)
    )),
    Fault("nonce-left-out", RECORD, {READER + "slot": lambda f: lambda *given: f(*given[:-1], 0)}),
    Fault("errors-under-one-layout", P_VALUES, doubts(lambda rivals, whole, layouts: (rivals, whole, 1))),
    Fault("errors-with-every-beacon", P_VALUES, doubts(lambda rivals, *of: ([2**20] * len(rivals), *of))),
    Fault("errors-in-one-window", P_VALUES,
          doubts(lambda rivals, _, layouts: (rivals, layouts * prod(map(float, rivals[1:-1])), layouts))),
    Fault("beacon-without-its-own-test", P_VALUES, as_record(without_its_own_test)),
    Fault("all-slots-free", P_VALUES, {"d.search.error_bounds:sorted": instead(lambda codes: [*codes, 1.0])}),
    Fault("two-wrong-slots-alone", P_VALUES, {"d.search.error_bounds:combinations": lambda f: lambda slots, size: (
        f(slots, size) if size in (2, len(slots)) else ()
    )}),
    Fault("earlier-hops-of-all-codes", "decode-registered", {READER + "_assume": lambda f: lambda self, *given: (
        f(self, *given[:-1], np.arange(self.profile.codes, dtype=np.uint32))
    )}),
    Fault("no-registered-layouts", "decode-registered/a-record-of-a-*layout*registered*", {READER + "_layouts": after(
        lambda found, *_: [each for each in found if each.number < 64]
    )}),
    Fault("layouts-of-any-provider", "decode-registered/*-another-provider-*", {READER + "_layouts": lambda _: (
        lambda reader, beacon, count: [each for each in reader.layouts if each.codes == count]
    )}),
    Fault("authenticator-ignored", "decode-owner",
          {READER + "_authenticate": after(lambda found, *_: (*found[:2], 1e-300))}),
    Fault("authenticator-without-its-price", "decode-owner", as_record(
        lambda made, *_: replace(made, record=replace(made.record, p_value=made.record.p_value / 2))
    )),
    Fault("authenticator-in-the-profile-s-colours", "decode-owner", {READER + "slot": lambda f: lambda self, *given: f(
        SimpleNamespace(profile=self.profile, keys=None), *given
    )}),
)  # fmt: skip

SEARCH_FAULTS = (*EVIDENCE, *FACTORS, *PLACED, *RECORD_STEPS)
"""The faults."""
