"""The measures of the code, one by one: what the figures show, and what remains open.

The numbers of measures are those that summaries of the code quote (docs/compliance.md names them). A measure is
``shown`` where the figures answer it, ``partly`` where they answer a part, ``open`` where they say nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..plan.reading import EDITS
from ..plan.statistics import NINE_IN_TEN
from .figures import Figures, Source

State = Literal["shown", "partly", "open"]


@dataclass(frozen=True)
class Measure:
    """One measure of the code.

    Attributes:
        name: what is asked for.
        state: how far the figures answer it.
        shows: what they show.
        remains: what remains open, in plain words.
    """

    name: str
    state: State
    shows: str
    remains: str


@dataclass(frozen=True)
class Evidence:
    """What the page rests on.

    Attributes:
        log: what ``ctwl-encode audit --json`` says of the logs.
        plan: what ``ctwl-encode plan --json`` printed.
        numbers: the specification's numbers.
        figures: collects each figure that a measure quotes; `show` adds to it.
    """

    log: Source
    plan: Source
    numbers: Source
    figures: Figures

    def ways(self) -> list[str]:
        """How the log's texts were marked, a strategy with its strength, as the plan names it; the commonest first."""
        counts = Counter[str]()
        for each in self.log.data["written"]:
            counts[each["strategy"] + ("" if each["strength"] is None else f" {each['strength']:g}")] += each["texts"]
        return [way for way, _ in counts.most_common()]

    def row(self) -> str | None:
        """The pointer to the plan's row of the commonest way; None where the plan did not measure it."""
        for way in self.ways()[:1]:
            for place in range(len(self.plan.data["rows"])):
                if self.plan.value(f"/rows/{place}/name") == way:
                    return f"/rows/{place}"
        return None


def measures(given: Evidence) -> list[Measure]:
    """All measures, in the code's order."""
    return [
        Measure(
            "Metadata that is digitally signed (1.1.1)", "open", "",
            "CTWL signs no metadata. Sign that of the files that you deliver. Plain text that is copied keeps none.",
        ),
        _watermark(given),
        _logging(given),
        Measure(
            "Markings of inputs are retained (1.2)", "open", "",
            "The log does not say whether marks of inputs were carried on. A service that rewrites texts has relays.",
        ),
        Measure(
            "Users may not remove markings (1.2)", "open", "", "Your terms of use have to say it; no figure can."
        ),
        _provenance(given),
        Measure(
            "A detector, free of charge", "open", "",
            "The software reads these texts for everybody. Say at what address you offer it, and for which profile.",
        ),
        _effective(given),
        _reliable(given),
        _robust(given),
        _quality(given),
        Measure(
            "Interoperable detection (3.4, by 2 February 2027)", "partly",
            "The marks are those of an open protocol, which every reader reads.",
            "If you have a detector of your own, have it named in a registry, and let it answer questions. There is no "
            "public registry yet.",
        ),
        Measure(
            "Documentation and tests", "partly", "This page, made from the files named at its end.",
            "Keep the files. Make the page anew when the model, its settings or the strategy changes.",
        ),
    ]  # fmt: skip


def _watermark(given: Evidence) -> Measure:
    show, total = given.figures.show, given.log.data["totals"]
    marked, unmarked = (show(given.log, f"/totals/{each}", "{:,}") for each in ("marked_texts", "unmarked_texts"))
    why = ", ".join(f"{show(given.log, f'/unmarked/{each}', '{:,}')} {each}" for each in given.log.data["unmarked"])
    ways = ", ".join(_written(given))
    shows = f"Texts that were to be marked: {marked} ({ways}). Texts that were not: {unmarked}{why and f' ({why})'}."
    remains = []
    if total["unmarked_texts"]:
        remains.append("Say why texts may be written without a mark for these reasons, and whether they are exempt.")
    if len(given.ways()) > 1:
        remains.append("Texts were marked in several ways; the plan's figures below are those of the commonest.")
    if not total["marked_texts"]:
        remains.append("No marked text is in the log.")
    state: State = "open" if not total["marked_texts"] else "partly" if remains else "shown"
    name = "An imperceptible watermark in free-form text of more than 200 tokens (1.1.2)"
    return Measure(name, state, shows, " ".join(remains))


def _written(given: Evidence) -> Iterator[str]:
    for place in range(len(given.log.data["written"])):
        at = f"/written/{place}"
        texts = given.figures.show(given.log, f"{at}/texts", "{:,}")
        strength = given.log.data["written"][place]["strength"]
        how = "" if strength is None else f" {given.figures.show(given.log, f'{at}/strength', '{:g}')}"
        yield f"{texts} by {given.log.value(f'{at}/strategy')}{how}"


def _logging(given: Evidence) -> Measure:
    lines, first, last = (given.figures.show(given.log, f"/{each}") for each in ("lines", "first", "last"))
    shows = f"The log has {lines} lines from {first} to {last}. It holds no text."
    name = "Logging (1.1.3, optional)"
    if given.log.value("/complete"):
        return Measure(name, "shown", f"{shows} No line is missing between two others.", "")
    return Measure(name, "partly", shows, "Lines are missing, broken or repeated: ctwl-encode audit names them.")


def _provenance(given: Evidence) -> Measure:
    places: dict[tuple[int, int], int] = {}
    for place, each in enumerate(given.log.data["written"]):
        places.setdefault((each["provider"], each["version"]), place)  # written by several strategies, too
    pairs = []
    for place in places.values():
        provider, version = (
            given.figures.show(given.log, f"/written/{place}/{each}") for each in ("provider", "version")
        )
        pairs.append(f"provider {provider}, model version {version}")
    shows = f"Texts carry the numbers of {'; '.join(pairs)}." if pairs else ""
    return Measure(
        "Information about provenance (1.3, optional)", "partly" if pairs else "open", shows,
        "A number names you to the public only where a public registry lists it. There is none yet.",
    )  # fmt: skip


def _effective(given: Evidence) -> Measure:
    name, show, row = "Effective: the mark is found", given.figures.show, given.row()
    ended, found = (show(given.log, f"/totals/{each}", "{:,.0f}") for each in ("ended", "expected_found"))
    shows = f"Of {ended} texts that ended, a reader is expected to find {found}."
    if given.log.data["without_end"]:
        shows += f" {show(given.log, '/without_end', '{:,}')} have no end in the log, and are not judged."
    if row is None:
        return Measure(name, "partly", shows, f"{_not_measured(given)} Run it at the temperature that you serve.")
    at = f"{row}/effect/found"
    found_shown, trials_shown = (show(given.plan, f"{at}/{each}", "{:d}") for each in ("successes", "trials"))
    low, high = (show(given.plan, f"{at}/{each}", "{:.0%}") for each in ("low", "high"))
    most = show(given.plan, "/settings/sampling/max_new_tokens")
    shows += f" Measured: found in {found_shown} of {trials_shown} texts of up to {most} tokens"
    shows += f" (95 % interval {low} to {high})."
    tokens = given.plan.value(f"{row}/effect/needed/tokens")
    if tokens is not None:
        shows += f" Nine in ten are found from {show(given.plan, f'{row}/effect/needed/tokens')} tokens on."
    remains = [] if _same_profile(given) else ["The plan was measured under another profile than the log's."]
    if given.plan.value(f"{at}/successes") < NINE_IN_TEN * given.plan.value(f"{at}/trials"):
        remains.append("Fewer than nine in ten are found at these settings. Say so, or choose another strategy.")
    return Measure(name, "partly" if remains else "shown", shows, " ".join(remains))


def _same_profile(given: Evidence) -> bool:
    profile = given.plan.value("/settings/profile")
    return all(each["profile"] == profile for each in given.log.data["written"])


def _reliable(given: Evidence) -> Measure:
    level = given.figures.show(given.numbers, "/search/level/value", "{:g}")
    return Measure(
        "Reliable: other texts are not called marked", "partly",
        f"By default the decoder calls a text marked if its exact p-value is at most {level}. That is its rate of "
        "false alarms, over keys.",
        "Count how many texts by people, of your kinds and languages, the decoder calls marked.",
    )  # fmt: skip


def _robust(given: Evidence) -> Measure:
    name, show, row = "Robust against common changes", given.figures.show, given.row()
    if row is None:
        return Measure(name, "open", "", _not_measured(given))
    found = []
    for place in range(len(EDITS)):
        at = f"{row}/effect/edited/{place}"
        share = show(given.plan, f"{at}/0", "{:.0%}")
        right, trials = (show(given.plan, f"{at}/1/{each}", "{:d}") for each in ("successes", "trials"))
        found.append(f"after {share} of the words were replaced in {right} of {trials} texts")
    return Measure(
        name, "partly", f"Measured: found {', '.join(found)}.",
        "Chance drew the words. Change texts of your own as people do, and count how many are still found.",
    )  # fmt: skip


def _not_measured(given: Evidence) -> str:
    ways = given.ways()[:1]
    return f"The plan did not measure {ways[0]}, as most texts are marked." if ways else "No text was marked."


def _quality(given: Evidence) -> Measure:
    name, show, row = "Quality of the text is kept", given.figures.show, given.row()
    if row is None:
        return Measure(name, "open", "", _not_measured(given))
    mean, low, high = (show(given.plan, f"{row}/effect/change/{each}", "{:+.3f}") for each in ("mean", "low", "high"))
    cost = show(given.plan, f"{row}/effect/cost", "{:.2f}")
    return Measure(
        name, "partly",
        f"Marking changes the expected NLL by {mean} nats a token (95 % interval {low} to {high}). A step takes {cost} "
        "times as long.",
        "No task score and no judgement by people is in the files.",
    )  # fmt: skip
