"""Decoders with one wrong step each in the search for codes: a factor of 10.2, a place of 10.3, a test of 10.4.

Each is a change of one place in the reference. So the suite must see every factor by itself, by the weights and by the
ranks alone.
"""

from __future__ import annotations

from .fault import Fault

__all__ = ["SEARCH_FAULTS"]

_SEARCH, _STATISTICS = "ctwl_decoder.search.", "ctwl_decoder.statistics."
_PLAN, _WINDOWS, _CANDIDATES = _SEARCH + "plan", _SEARCH + "windows", _SEARCH + "candidates"
_RECORDS, _BOUNDS = _SEARCH + "records", _SEARCH + "error_bounds"
_SCORED, _NULL, _COMPILED = _STATISTICS + "scored_positions", _STATISTICS + "null", _STATISTICS + "compiled"
_SLOTS = "ctwl_protocol.records.slots"
_TOKENS, _ASSEMBLY = "ctwl_decoder.text.tokens", "ctwl_decoder.report.assembly"


def _vectors(family: str, name: str = "*") -> str:
    return f"vector/{family}/{name}/*"


def _both(name: str) -> tuple[str, str]:
    """A text that is read by the weights, and by the ranks alone."""
    return _vectors("decode", name), _vectors("decode-light", name)


_WHOLE, _ONE = _both("100-tokens-code-0"), _vectors("read-one-code")
_WINDOW, _MANY = _both("a-code-that-one-window-shows"), _both("one-of-more-than-24-windows")
_GUMBEL = (_vectors("decode", "*-by-gumbel"), _vectors("read-one-code", "*-by-gumbel"))
_UNITS, _BOUND = _vectors("units"), "a-p-value-below-the-level-a-score-below-its-bound"
_RECORD = _both("a-record-of-two-codes")
_RECORD_WINDOW = _both("a-record-of-two-codes-that-one-window-shows")
_SLOT_0 = _both("a-record-whose-slot-0-shows-more-than-the-whole")
_PAIRS = _both("pairs-that-come-back-one-code*")
_SLOT_PAIRS = _both("pairs-that-come-back-a-record-of-two-codes-second-profile")
_SLOT_0_PAIRS = _both("pairs-that-come-back-slot-0-alone-second-profile")
_SPANS = _both("two-texts-of-different-codes")
_PLACES = (_vectors("decode-places"), _vectors("decode-light-places"))
_P_VALUES = _vectors("decode-record-p-values", "a-record*")
_FORMS, _OWNER, _REGISTERED = _vectors("decode-forms"), _vectors("decode-owner"), _vectors("decode-registered")

# Pieces of the reference's source.
_TABLE = "ScoreTable.of(part[part.indices_of_slot(count, 0)])"
_PART = "part = text.positions[start:end]"
_ORDER = 'np.argsort(-(self.slots == 0).sum(axis=1), kind="stable")'
_BEGINS = "np.flatnonzero((np.diff(contexts[order], axis=0, prepend=-1) != 0).any(axis=1))"
_TESTS = "tests = len(codes.codes) / (codes.share * text.share * _share_of_count(count, counts))"
_FOUND = "window(start, end, count).candidate(code, codes.codes, paid)"
_PAID = "paid = tests / (1 - WHOLE if both else 1) * len(rows)"
_SEVERAL = "(1 - ONE_CODE) / (len(counts) - 1) / RECORD_TESTS"
_START = "start=int(starts[first]),"
_END = "end=len(text[: starts[last]].rstrip()) if last < tokens else int(starts[last]),"
_EDGES = "first, last = span.start + prefix, span.end + prefix"
_CLEAREST = "min(finding.spans, key=lambda span: span.candidate.p_value, default=None)"
_RECORD_TESTS = "tests = candidate.tests * layouts * found.records"
_READ = "window, codes = positions[candidate.start : candidate.end], candidate.codes"
_BETTER = "p_value = min(p_value, candidate.p_value)"
_ERRORS = "error_bounds(nulls, scores, searched, tests, layouts)"
_SURROGATES = (
    'raise NotText("the text has lone surrogates, so it is not Unicode text; decode its bytes as UTF-8 first")'
)


def _fault(name: str, comment: str, module: str, old: str, new: str, *seen_by: str) -> Fault:
    """A decoder with one change, which cases of each pattern see."""
    return Fault(name, "decoder", comment, seen_by, (module, old, new), by_each=True)


_SCORES = (
    _fault("rank-alone", "race asks how low a token ranks, not who else ran",
           _COMPILED, "race[a, w] /= whole", "race[a, w] /= 1", _UNITS, *_GUMBEL),
    _fault("race-without-its-usual", "race is not divided by its mean over all colours",
           _COMPILED, "race[a, w] * colours / of_all[w]", "race[a, w] / mass[w]", _UNITS, *_GUMBEL),
    _fault("race-without-its-mean", "race is not divided by its mean over what the model expects",
           _COMPILED, "race[a, this] / race_mean", "race[a, this]", _UNITS, *_GUMBEL),
    _fault("half-without-its-mean", "half is not divided by its mean over what the model expects",
           _COMPILED, "half[a, this] / half_mean", "half[a, this]", _UNITS, _WHOLE[0], _ONE),
    _fault("a-clear-border", "half knows the border of the half",
           _COMPILED, "(mass[w] + 2 * width)", "mass[w]", _UNITS, _WHOLE[0], _ONE),
    _fault("no-bound-on-the-score", "a code is found by its p-value alone",
           _CANDIDATES, "self.score >= -NAT * math.log(alpha)", "True",
           _vectors("decode", _BOUND), _vectors("read-one-code", _BOUND)),
    _fault("a-bound-on-light-scores", "a light score must reach the bound, too",
           _CANDIDATES, "if not self.by.light:", "if True:", _vectors("decode-light", "a-light-score-needs-no-bound")),
)  # fmt: skip
"""10.1 and 10, step 8."""

_EVIDENCE = (
    _fault("repeats-counted", "pairs that come back count again in slot 0",
           _CANDIDATES, _TABLE, f"{_TABLE[:-1]}, repeats=True)", *_PAIRS, *_SLOT_0_PAIRS, _ONE),
    _fault("repeats-counted-in-slots", "pairs that come back count again behind slot 0",
           _RECORDS, "table = ScoreTable.of(positions)", "table = ScoreTable.of(positions, repeats=True)",
           *_SLOT_PAIRS),
    _fault("repeats-dropped-before-slots", "a pair counts once in all slots of a record together",
           _RECORDS, _READ, f"{_READ}\n        window = window[window.first_occurrences()]", *_SLOT_PAIRS),
    _fault("repeats-dropped-in-the-text", "a pair counts once in the text, not once in each window",
           _CANDIDATES, _PART, f"{_PART}[text.positions.first_occurrences()[start:end]]",
           *_both("a-window-with-pairs-that-stand-before-it-too")),
    _fault("first-of-repeats", "of a pair's positions the first counts, whatever slots it carries",
           _SCORED, _ORDER, "np.arange(len(self))", _vectors("decode", "pairs-that-come-back-*-second-profile")),
    _fault("last-of-repeats", "of a pair's positions that are alike the last counts",
           _SCORED, _ORDER, f"len(self) - 1 - {_ORDER.replace('self.slots', 'self.slots[::-1]')}", _PAIRS[0], _ONE),
    _fault("null-by-positions", "every position has a term of its own in the null",
           _SCORED, _BEGINS, "np.arange(len(order))", *_WHOLE, _ONE),
    _fault("scores-above", "a p-value is the null's part above the score",
           _NULL, "above = score - int(", "above = score + 1 - int(", *_WHOLE, _ONE),
    _fault("sums-above", "the same for sums over slots",
           _NULL, "max(score - self.lowest, 0) :]", "max(score + 1 - self.lowest, 0) :]", _P_VALUES, *_RECORD),
    _fault("slot-from-context", "the slot is hashed from the context",
           _SLOTS, "positions.prefixes[:, -TAIL:]", "positions.contexts",
           _vectors("decode-record", "*-second-profile"), *_both("a-record-of-two-codes-second-profile")),
    _fault("mends-surrogates", "lone surrogates are replaced, not refused",
           _TOKENS, _SURROGATES, 'text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")',
           *_both("a-*-surrogate-alone"), _ONE),
)  # fmt: skip
"""10, steps 1 to 7."""

_FACTORS = (
    _fault("no-factor-for-codes", "N is left out", _WINDOWS, _TESTS, _TESTS.replace("len(codes.codes)", "1"), *_WHOLE),
    _fault("half-the-codes", "N is half of the codes searched",
           _WINDOWS, _TESTS, _TESTS.replace("len(codes.codes)", "len(codes.codes) // 2"), *_WHOLE),
    _fault("whole-level-for-registered-codes", "the registered codes have the whole level",
           _PLAN, "CodeSet(registered, 1 / 2)", "CodeSet(registered, 1)", _REGISTERED),
    _fault("whole-level-for-all-codes", "all codes have the whole level beside registered ones",
           _PLAN, "CodeSet(code_space(profile), 1 / 2)", "CodeSet(code_space(profile), 1)", _REGISTERED),
    _fault("no-factor-for-forms", "F is left out", _TOKENS, "1 / len(variants)", "1.0", _FORMS),
    _fault("no-factor-for-scores", "E is left out: the level is not divided among the scores",
           _WINDOWS, _TESTS, _TESTS.replace(" * text.share", ""), *_WHOLE),
    _fault("no-factor-for-half", "E of half is left out",
           _PLAN, "Score.HALF: 1 / 2", "Score.HALF: 1", _WHOLE[0], _ONE),
    _fault("no-factor-for-race", "E of race is left out", _PLAN, "Score.RACE: 1 / 2", "Score.RACE: 1", *_GUMBEL),
    _fault("shares-of-31-and-1", "race has a thirty-second of the level, half the rest",
           _PLAN, "{Score.HALF: 1 / 2, Score.RACE: 1 / 2}", "{Score.HALF: 31 / 32, Score.RACE: 1 / 32}",
           _WHOLE[0], _ONE, *_GUMBEL),
    _fault("no-factor-for-light-soft", "E of light-soft is left out",
           _PLAN, "Score.LIGHT_SOFT: 1 / 2", "Score.LIGHT_SOFT: 1", _WHOLE[1]),
    _fault("no-factor-for-light-rank", "E of light-rank is left out",
           _PLAN, "Score.LIGHT_RANK: 1 / 2", "Score.LIGHT_RANK: 1", _vectors("decode-light", "*-by-gumbel")),
    _fault("no-factor-for-one-code", "C is left out for records of one code",
           _WINDOWS, "return ONE_CODE if len(counts) > 1 else 1.0", "return 1.0", *_WHOLE),
    _fault("no-factor-for-numbers-of-codes", "C is left out for records of several codes",
           _WINDOWS, _SEVERAL, "1 / RECORD_TESTS", *_RECORD, *_RECORD_WINDOW),
    _fault("one-number-of-codes", "C is 2 for records of several codes, however many numbers are tried",
           _WINDOWS, _SEVERAL, "(1 - ONE_CODE) / RECORD_TESTS", *_RECORD, *_RECORD_WINDOW),
    _fault("no-factor-for-two-tests", "Y is left out",
           _WINDOWS, _SEVERAL, "(1 - ONE_CODE) / (len(counts) - 1)", *_RECORD, *_RECORD_WINDOW),
    _fault("no-factor-for-the-whole", "Q is left out for the whole text",
           _WINDOWS, "paid = tests / (WHOLE if both else 1)", "paid = tests", *_both("200-tokens")),
    _fault("no-share-for-windows", "Q is left out for windows",
           _WINDOWS, _PAID, "paid = tests * len(rows)", *_WINDOW, *_RECORD_WINDOW),
    _fault("no-factor-for-windows", "W is left out",
           _WINDOWS, _PAID, _PAID.replace(" * len(rows)", ""), *_WINDOW, *_RECORD_WINDOW),
    _fault("tested-windows-alone", "W counts only windows that get an exact p-value",
           _WINDOWS, _PAID, _PAID.replace("len(rows)", "min(len(rows), _EVALUATED)"), *_MANY),
    _fault("whole-text-for-a-window", "a window's code has the p-value of the whole text",
           _WINDOWS, _FOUND, _FOUND.replace("start, end", "0, length"), *_WINDOW),
    _fault("no-windows", "the whole text alone is searched", _WINDOWS, f"[{_FOUND}", f"[] and [{_FOUND}", *_WINDOW),
)  # fmt: skip
"""10.2: one factor each."""

_SPAN_PLACES = (
    _fault("span-0-to-1", "every span is the first character",
           _ASSEMBLY, f"{_START}\n            {_END}", "start=0,\n            end=1,", *_PLACES),
    _fault("span-begins-late", "spans begin one token late",
           _ASSEMBLY, _EDGES, _EDGES.replace("prefix,", "prefix + 1,"), *_PLACES),
    _fault("span-begins-early", "spans begin one token early",
           _ASSEMBLY, _EDGES, _EDGES.replace("prefix,", "prefix - 1,"), *_PLACES),
    _fault("span-ends-early", "spans end one token early", _ASSEMBLY, _EDGES, f"{_EDGES} - 1", *_PLACES),
    _fault("span-ends-late", "spans end one token late", _ASSEMBLY, _EDGES, f"{_EDGES} + 1", *_PLACES),
    _fault("span-in-positions", "a position is taken for the token of the same number",
           _ASSEMBLY, _EDGES, "first, last = span.start, span.end", *_PLACES),
    _fault("span-without-the-first-prefix", "the first tokens belong to no span",
           _ASSEMBLY, "first = 0\n", "first = prefix\n", *_PLACES),
    _fault("span-in-the-normalized-text", "places are those of the normalized text",
           _TOKENS, "places = variant.source[np.append(starts, len(variant.text))]",
           "places = np.append(starts, len(variant.text))", *_PLACES, _FORMS),
    _fault("span-in-utf-16", "a span's start counts UTF-16 units",
           _ASSEMBLY, _START, 'start=len(text[: starts[first]].encode("utf-16-le")) // 2,', *_PLACES),
    _fault("span-in-bytes", "a span's start counts bytes of UTF-8",
           _ASSEMBLY, _START, "start=len(text[: starts[first]].encode()),", *_PLACES),
    _fault("one-p-value-for-all-spans", "every span has the p-value of the clearest",
           _ASSEMBLY, "p_value=span.candidate.p_value,", "p_value=finding.best.p_value,", *_SPANS),
    _fault("last-span-for-the-clearest", "the text's code is that of its last span",
           _ASSEMBLY, _CLEAREST, "(finding.spans or [None])[-1]", *_SPANS),
    _fault("one-span-alone", "the first span alone is reported",
           _ASSEMBLY, "for span in finding.spans]\n        clear",
           "for span in finding.spans[:1]]\n        clear", *_SPANS),
)  # fmt: skip
"""10.3 and 10, step 9."""

_RECORD_STEPS = (
    _fault("no-factor-for-layouts", "the layouts of so many codes are left out",
           _RECORDS, _RECORD_TESTS, "tests = candidate.tests * found.records", *_RECORD),
    _fault("no-factor-for-records", "the further codes are left out",
           _RECORDS, _RECORD_TESTS, "tests = candidate.tests * layouts", *_RECORD),
    _fault("check-counted-as-a-code", "the check counts among the further codes",
           _RECORDS, "self.slots[1:-1]", "self.slots[1:]", *_RECORD),
    _fault("null-without-the-check", "the null of the sum over slots leaves the check out",
           _RECORDS, "for slot in self.slots])", "for slot in self.slots[:-1]])", *_RECORD),
    _fault("slot-0-alone", "a record's p-value is that of slot 0",
           _RECORDS, _BETTER, "p_value = candidate.p_value", *_RECORD),
    _fault("record-alone", "slot 0's own p-value does not count once a record is read",
           _RECORDS, _BETTER, "pass", *_SLOT_0),
    _fault("nonce-left-out", "the slots behind slot 0 are coloured without the nonce",
           _RECORDS, "slot=slot, nonce=nonce, key=key)", "slot=slot, nonce=0, key=key)", *_RECORD),
    _fault("errors-under-one-layout", "a wrong record is taken to have the same layout",
           _RECORDS, _ERRORS, "error_bounds(nulls, scores, searched, tests, 1)", _P_VALUES),
    _fault("errors-with-every-beacon", "a wrong beacon may have any nonce",
           _RECORDS, "[slot.searched for slot in found.slots]", "[self.profile.codes for slot in found.slots]",
           _P_VALUES),
    _fault("errors-in-one-window", "a record that is wrong in all slots is taken to be in the same window",
           _RECORDS, _ERRORS, _ERRORS.replace("tests", "layouts * found.records"), _P_VALUES),
    _fault("beacon-without-its-own-test", "the beacon's p-value is that of the record's slots alone",
           _RECORDS, "(min(bounds[0], nulls[0].p_value(scores[0], candidate.tests)), *bounds[1:-1])", "bounds[:-1]",
           _P_VALUES),
    _fault("all-slots-free", "the slot that follows from the others is counted as free",
           _BOUNDS, "for slot in where)[:-1]", "for slot in where)", _P_VALUES),
    _fault("two-wrong-slots-alone", "records that are wrong in more than two slots are left out",
           _BOUNDS, "for size in slots[1:]:", "for size in slots[1:2]:", _P_VALUES),
    _fault("authenticator-ignored", "every authenticator holds",
           _RECORDS, "null_of(table.scores).p_value(scores[best], len(values))", "1e-300", _OWNER),
    _fault("authenticator-in-the-profile-s-colours", "the authenticator's slot is coloured under the profile's key",
           _RECORDS, "key = self.keys.colour_key() if self.keys and layout.authenticated else None", "key = None",
           _OWNER),
)  # fmt: skip
"""10.4: the record as a whole, what may be wrong in it, the authenticator."""

SEARCH_FAULTS = (*_SCORES, *_EVIDENCE, *_FACTORS, *_SPAN_PLACES, *_RECORD_STEPS)
"""The faults by name."""
