"""Decoders with one wrong step each in the search for codes: a factor of 10.2, a place of 10.3, a test of 10.4.

Each is a change of one place in the reference. So the suite must see every factor by itself.
"""

from __future__ import annotations

from .fault import Fault

__all__ = ["SEARCH_FAULTS"]

_SEARCH, _STATISTICS = "ctwl_decoder.search.", "ctwl_decoder.statistics."
_PLAN, _WINDOWS, _CANDIDATES = _SEARCH + "plan", _SEARCH + "windows", _SEARCH + "candidates"
_RECORDS, _BOUNDS = _SEARCH + "records", _SEARCH + "error_bounds"
_SCORED, _NULL = _STATISTICS + "scored_positions", _STATISTICS + "null"
_TOKENS, _ASSEMBLY = "ctwl_decoder.text.tokens", "ctwl_decoder.report.assembly"

_DECODE, _LIGHT = "vector/decode/*", "vector/decode-light/*"
_ONE, _FORMS = "vector/read-one-code/*", "vector/decode-forms/*"
_PLACES, _LIGHT_PLACES = "vector/decode-places/*", "vector/decode-light-places/*"
_RECORD, _P_VALUES, _OWNER = "vector/decode-record/*", "vector/decode-record-p-values/*", "vector/decode-owner/*"

_TESTS = "tests = len(codes.codes) / (codes.share * text.share * _share_of_count(count, counts))"
_FOUND = "window(start, end, count).candidate(code, codes.codes, paid)"
_PART = "part = text.positions[start:end]"
_SLOT_TABLE = "ScoreTable.of(part[part.indices_of_slot(count, 0)])"
_ORDER = 'np.argsort(-(self.slots == 0).sum(axis=1), kind="stable")'
_START = "start=int(starts[first]),"
_END = "end=len(text[: starts[last]].rstrip()) if last < tokens else int(starts[last]),"
_EDGES = "first, last = span.start + prefix, span.end + prefix"


def _fault(name: str, comment: str, change: tuple[str, str, str], *seen_by: str) -> Fault:
    """A decoder with one change, which cases of each pattern see."""
    return Fault(name, "decoder", comment, seen_by, change, by_each=True)


SEARCH_FAULTS = (
    # 10, steps 5 to 7: the score and its null
    _fault("repeats-counted", "pairs that come back count again in slot 0",
           (_CANDIDATES, _SLOT_TABLE, f"{_SLOT_TABLE[:-1]}, repeats=True)"), _DECODE, _LIGHT, _ONE),
    _fault("repeats-counted-in-slots", "pairs that come back count again behind slot 0",
           (_RECORDS, "table = ScoreTable.of(positions)", "table = ScoreTable.of(positions, repeats=True)"),
           _DECODE, _LIGHT, _P_VALUES),
    _fault("repeats-dropped-before-slots", "a pair counts once in all slots together",
           (_CANDIDATES, _PART, f"{_PART}\n        part = part[part.first_occurrences()]"), _DECODE, _LIGHT),
    _fault("repeats-dropped-in-the-text", "a pair counts once in the text, not once in each window",
           (_CANDIDATES, _PART, f"{_PART}[text.positions.first_occurrences()[start:end]]"), _DECODE, _LIGHT),
    _fault("first-of-repeats", "of a pair's positions the first counts, whatever slots it carries",
           (_SCORED, _ORDER, "np.arange(len(self))"), _DECODE, _LIGHT),
    _fault("last-of-repeats", "of a pair's positions that are alike the last counts",
           (_SCORED, _ORDER, f"len(self) - 1 - {_ORDER.replace('self.slots', 'self.slots[::-1]')}"), _DECODE, _LIGHT, _ONE),
    _fault("null-by-positions", "every position has a term of its own in the null",
           (_SCORED, "np.flatnonzero((np.diff(contexts[order], axis=0, prepend=-1) != 0).any(axis=1))",
            "np.arange(len(order))"), _DECODE, _LIGHT, _ONE),
    _fault("scores-above", "the null's share above the score, not from it on",
           (_NULL, "above = score - int(least.sum())", "above = score + 1 - int(least.sum())"), _DECODE, _LIGHT, _ONE),
    _fault("sums-above", "the same for sums over slots",
           (_NULL, "self.probability[max(score - self.lowest, 0) :]", "self.probability[max(score + 1 - self.lowest, 0) :]"),
           _P_VALUES),
    _fault("slot-from-context", "the slot is hashed from the context",
           ("ctwl_protocol.records.slots", "positions.prefixes[:, -TAIL:]", "positions.contexts"), _RECORD, _DECODE, _LIGHT),
    _fault("mends-surrogates", "lone surrogates are replaced, not refused",
           (_TOKENS, 'raise NotText("the text has lone surrogates, so it is not Unicode text; decode its bytes as UTF-8 first")',
            'text = _SURROGATE.sub("\\ufffd", text)'), _DECODE, _LIGHT, _ONE),
    # 10.2: one factor each
    _fault("no-factor-for-codes", "N is left out", (_WINDOWS, _TESTS, _TESTS.replace("len(codes.codes)", "1")),
           _DECODE, _LIGHT),
    _fault("half-the-codes", "N is half of the codes searched",
           (_WINDOWS, _TESTS, _TESTS.replace("len(codes.codes)", "len(codes.codes) // 2")), _DECODE, _LIGHT),
    _fault("no-factor-for-forms", "F is left out", (_TOKENS, "1 / len(variants)", "1.0"), _FORMS),
    _fault("no-factor-for-scores", "E is left out: the level is not divided among the scores",
           (_WINDOWS, _TESTS, _TESTS.replace(" * text.share", "")), _DECODE, _LIGHT),
    _fault("no-factor-for-soft", "E of soft is left out", (_PLAN, "Score.SOFT: 31 / 32", "Score.SOFT: 1"), _DECODE, _ONE),
    _fault("no-factor-for-rank", "E of rank is left out", (_PLAN, "Score.RANK: 1 / 32", "Score.RANK: 1"), _DECODE, _ONE),
    _fault("no-factor-for-light-soft", "E of light-soft is left out",
           (_PLAN, "Score.LIGHT_SOFT: 1 / 2", "Score.LIGHT_SOFT: 1"), _LIGHT),
    _fault("no-factor-for-light-rank", "E of light-rank is left out",
           (_PLAN, "Score.LIGHT_RANK: 1 / 2", "Score.LIGHT_RANK: 1"), _LIGHT),
    _fault("no-factor-for-one-code", "C is left out for records of one code",
           (_WINDOWS, "return ONE_CODE if len(counts) > 1 else 1.0", "return 1.0"), _DECODE, _LIGHT),
    _fault("no-factor-for-numbers-of-codes", "C is left out for records of several codes",
           (_WINDOWS, "(1 - ONE_CODE) / (len(counts) - 1) / RECORD_TESTS", "1 / RECORD_TESTS"), _DECODE, _LIGHT),
    _fault("one-number-of-codes", "C is 2 for records of several codes, however many numbers are tried",
           (_WINDOWS, "(1 - ONE_CODE) / (len(counts) - 1)", "(1 - ONE_CODE)"), _DECODE, _LIGHT),
    _fault("no-factor-for-two-tests", "Y is left out",
           (_WINDOWS, "(len(counts) - 1) / RECORD_TESTS", "(len(counts) - 1)"), _DECODE, _LIGHT),
    _fault("no-factor-for-the-whole", "P is left out for the whole text",
           (_WINDOWS, "paid = tests / (WHOLE if both else 1)", "paid = tests"), _DECODE, _LIGHT),
    _fault("no-share-for-windows", "P is left out for windows",
           (_WINDOWS, "paid = tests / (1 - WHOLE if both else 1) * len(rows)", "paid = tests * len(rows)"),
           _DECODE, _LIGHT),
    _fault("no-factor-for-windows", "G is left out",
           (_WINDOWS, "(1 - WHOLE if both else 1) * len(rows)", "(1 - WHOLE if both else 1)"), _DECODE, _LIGHT),
    _fault("tested-windows-alone", "G counts only windows that get an exact p-value",
           (_WINDOWS, "(1 - WHOLE if both else 1) * len(rows)", "(1 - WHOLE if both else 1) * min(len(rows), _EVALUATED)"),
           _DECODE, _LIGHT),
    _fault("whole-text-for-a-window", "a window's code has the p-value of the whole text",
           (_WINDOWS, _FOUND, _FOUND.replace("start, end", "0, length")), _DECODE, _LIGHT),
    _fault("no-windows", "the whole text alone is searched", (_WINDOWS, f"[{_FOUND}", f"[] and [{_FOUND}"), _DECODE, _LIGHT),
    # 10.3 and step 9: places, and whose p-value a span has
    _fault("span-0-to-1", "every span is the first character", (_ASSEMBLY, f"{_START}\n            {_END}",
           "start=0,\n            end=1,"), _PLACES, _LIGHT_PLACES),
    _fault("span-begins-late", "spans begin one token late", (_ASSEMBLY, _EDGES, _EDGES.replace("prefix,", "prefix + 1,")),
           _PLACES, _LIGHT_PLACES),
    _fault("span-begins-early", "spans begin one token early",
           (_ASSEMBLY, _EDGES, _EDGES.replace("prefix,", "prefix - 1,")), _PLACES, _LIGHT_PLACES),
    _fault("span-ends-early", "spans end one token early", (_ASSEMBLY, _EDGES, f"{_EDGES} - 1"), _PLACES, _LIGHT_PLACES),
    _fault("span-ends-late", "spans end one token late", (_ASSEMBLY, _EDGES, f"{_EDGES} + 1"), _PLACES, _LIGHT_PLACES),
    _fault("span-in-positions", "a position is taken for the token of the same number",
           (_ASSEMBLY, _EDGES, "first, last = span.start, span.end"), _PLACES, _LIGHT_PLACES),
    _fault("span-without-the-first-prefix", "the first tokens belong to no span",
           (_ASSEMBLY, "first = 0\n", "first = prefix\n"), _PLACES, _LIGHT_PLACES),
    _fault("span-in-the-normalized-text", "places are those of the normalized text",
           (_TOKENS, "places = variant.source[np.append(starts, len(variant.text))]",
            "places = np.append(starts, len(variant.text))"), _PLACES, _LIGHT_PLACES, _FORMS),
    _fault("span-in-utf-16", "a span's start counts UTF-16 units",
           (_ASSEMBLY, _START, 'start=len(text[: starts[first]].encode("utf-16-le")) // 2,'), _PLACES, _LIGHT_PLACES),
    _fault("span-in-bytes", "a span's start counts bytes of UTF-8",
           (_ASSEMBLY, _START, "start=len(text[: starts[first]].encode()),"), _PLACES, _LIGHT_PLACES),
    _fault("one-p-value-for-all-spans", "every span has the p-value of the clearest",
           (_ASSEMBLY, "p_value=span.candidate.p_value,", "p_value=finding.best.p_value,"), _DECODE, _LIGHT),
    _fault("first-span-for-the-clearest", "the text's code is that of its first span",
           (_ASSEMBLY, "min(finding.spans, key=lambda span: span.candidate.p_value, default=None)",
            "next(iter(finding.spans), None)"), _DECODE, _LIGHT),
    _fault("one-span-alone", "the first span alone is reported",
           (_ASSEMBLY, "for span in finding.spans]\n        clearest", "for span in finding.spans[:1]]\n        clearest"),
           "vector/decode-spans/*", _DECODE, _LIGHT),
    # 10.4: the record as a whole, and what may be wrong in it
    _fault("no-factor-for-layouts", "the layouts of so many codes are left out",
           (_RECORDS, "tests = candidate.tests * layouts * found.records", "tests = candidate.tests * found.records"),
           _DECODE, _LIGHT),
    _fault("no-factor-for-records", "the further codes are left out",
           (_RECORDS, "tests = candidate.tests * layouts * found.records", "tests = candidate.tests * layouts"),
           _DECODE, _LIGHT),
    _fault("check-counted-as-a-code", "the check counts among the further codes",
           (_RECORDS, "self.slots[1:-1]", "self.slots[1:]"), _DECODE, _LIGHT),
    _fault("null-without-the-check", "the null of the sum over slots leaves the check out",
           (_RECORDS, "convolve([slot.null for slot in self.slots])", "convolve([slot.null for slot in self.slots[:-1]])"),
           _DECODE, _LIGHT),
    _fault("slot-0-alone", "a record's p-value is that of slot 0",
           (_RECORDS, "p_value = min(p_value, candidate.p_value)", "p_value = candidate.p_value"), _DECODE, _LIGHT),
    _fault("record-alone", "slot 0's own p-value does not count once a record is read",
           (_RECORDS, "p_value = min(p_value, candidate.p_value)", "pass"), _DECODE, _LIGHT),
    _fault("nonce-left-out", "the slots behind slot 0 are coloured without the nonce",
           (_RECORDS, "slot=slot, nonce=nonce, key=key)", "slot=slot, nonce=0, key=key)"), _RECORD),
    _fault("errors-under-one-layout", "a wrong record is taken to have the same layout",
           (_RECORDS, "error_bounds(nulls, scores, searched, tests, layouts)",
            "error_bounds(nulls, scores, searched, tests, 1)"), _P_VALUES),
    _fault("errors-with-every-beacon", "a wrong beacon may have any nonce",
           (_RECORDS, "[slot.searched for slot in found.slots]", "[self.profile.codes for slot in found.slots]"), _P_VALUES),
    _fault("errors-in-one-window", "a record that is wrong in all slots is taken to be in the same window",
           (_RECORDS, "error_bounds(nulls, scores, searched, tests, layouts)",
            "error_bounds(nulls, scores, searched, layouts * found.records, layouts)"), _P_VALUES),
    _fault("beacon-without-its-own-test", "the beacon's p-value is that of the record's slots alone",
           (_RECORDS, "(min(bounds[0], nulls[0].p_value(scores[0], candidate.tests)), *bounds[1:-1])", "bounds[:-1]"),
           _P_VALUES),
    _fault("all-slots-free", "the slot that follows from the others is counted as free",
           (_BOUNDS, "for slot in where)[:-1]", "for slot in where)"), _P_VALUES),
    _fault("two-wrong-slots-alone", "records that are wrong in more than two slots are left out",
           (_BOUNDS, "for size in slots[1:]:", "for size in slots[1:2]:"), _P_VALUES),
    _fault("authenticator-ignored", "every authenticator holds",
           (_RECORDS, "null_of(table.scores).p_value(scores[best], len(values))", "1e-300"), _OWNER),
    _fault("authenticator-in-the-profile-s-colours", "the authenticator's slot is coloured under the profile's key",
           (_RECORDS, "key = self.keys.colour_key() if self.keys and layout.authenticated else None", "key = None"), _OWNER),
)  # fmt: skip
"""The faults by name."""
