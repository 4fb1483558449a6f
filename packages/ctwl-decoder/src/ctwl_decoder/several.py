"""The verdicts on several texts: a line for each, and a line on all of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ctwl_protocol.command import closed_output_is_fine, harmless

from .errors import DecoderError, TextRefused
from .files import Found, texts_of
from .report.model import Report
from .report.wording import format_p_value, headline, not_tried, why_none
from .words import ENOUGH_TOKENS, say


@dataclass(frozen=True)
class Verdict:
    """What came of one text.

    Attributes:
        name: of the text.
        result: its report, or why it has none.
    """

    name: str
    result: Report | DecoderError

    def __str__(self) -> str:
        name = harmless(self.name)
        if isinstance(self.result, DecoderError):
            why = str(self.result).removeprefix(f"{self.name}: ")
            return f"{name}: not read: {harmless(why)} ({self.result.code})"
        none = self.result.outcome == "none"
        told = why_none(self.result) if none else f"p = {format_p_value(self.result.p_value)}"
        return f"{name}: {headline(self.result)} ({told}; {self.result.tokens} tokens)"


def texts_in(names: Iterable[str]) -> Iterator[Found]:
    """The texts in the files that are named, or why a file has none."""
    for name in names:
        try:
            yield from texts_of(name)
        except DecoderError as error:
            yield Found(name, error)


def main_text(found: Sequence[Found], name: str) -> Found | None:
    """Of what is in a file the text that it is there for: its own words, as a mail has them, or its only text.

    None where there are several, as in an archive, and where the file ends in an error behind what could be read.
    """
    if len(found) > 1 and any(each.name == name and isinstance(each.text, DecoderError) for each in found):
        return None
    own = [each for each in found if each.name == name] or [each for each in found if isinstance(each.text, str)]
    return own[0] if len(own) == 1 else found[0] if len(found) == 1 else None


def read_all(found: Iterable[Found], read: Callable[[str, str], Report], *, lines: bool) -> list[Verdict]:
    """The verdict on each text, which ``read`` gives by the text and its name.

    It is printed as soon as it is there where ``lines`` are asked for.

    Raises:
        CTWLError: a text cannot be read for a reason that is no fault of the text, see :meth:`.Decoder.decode`.
    """
    verdicts = []
    for each in found:
        try:
            result = each.text if isinstance(each.text, DecoderError) else read(each.text, each.name)
        except TextRefused as error:
            result = error
        verdicts.append(Verdict(each.name, result))
        if lines:
            with closed_output_is_fine():
                print(verdicts[-1], flush=True)
    return verdicts


def in_all(verdicts: Sequence[Verdict], alpha: float) -> str:
    """All verdicts in lines for people."""
    outcomes = Counter("error" if isinstance(each.result, DecoderError) else each.result.outcome for each in verdicts)
    told = {"found": "with a watermark", "none": "without a finding", "too-short": "too short", "error": "not read"}
    counted = ", ".join(f"{outcomes[each]} {words}" for each, words in told.items() if outcomes[each])
    read = len(verdicts) - outcomes["error"]
    lines = [f"{len(verdicts)} {'text' if len(verdicts) == 1 else 'texts'}: {counted}."]
    if read > 1:
        lines.append(
            f"Each text is a test of its own: of {read} unmarked texts chance marks {read * alpha:.2g} on average."
        )
    reports = [each.result for each in verdicts if isinstance(each.result, Report)]
    names = dict.fromkeys(each.name for report in reports for each in report.profiles)
    if len(names) > 1:
        lines.append(f"Each was read by {' and '.join(names)}; its p-value pays for {len(names)} profiles.")
    lines += dict.fromkeys(line for report in reports for line in not_tried(report.profiles))
    if sum(not report.detected and report.tokens < ENOUGH_TOKENS for report in reports) > 1:
        lines.append(say("report-together"))
    return "\n".join([*lines, *([say("no-proof")] if outcomes["none"] else [])])


def as_json(verdicts: Sequence[Verdict]) -> str:
    """All verdicts for programs: a list, in each the name and a report or an error."""
    rows = [
        {"name": each.name, "error": {"code": each.result.code, "message": str(each.result)}}
        if isinstance(each.result, DecoderError)
        else {"name": each.name, "report": each.result.model_dump(mode="json")}
        for each in verdicts
    ]
    return json.dumps(rows, indent=2)


def status(verdicts: Sequence[Verdict]) -> int:
    """The exit status: 0 where a watermark was found, else 2 where a text was not read, else 1."""
    if any(isinstance(each.result, Report) and each.result.detected for each in verdicts):
        return 0
    return 2 if any(isinstance(each.result, DecoderError) for each in verdicts) or not verdicts else 1
