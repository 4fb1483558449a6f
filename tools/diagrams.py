"""Draw the pictures of ARCHITECTURE.md: boxes for data or packages, arrows for what makes one of another.

python tools/diagrams.py         # into docs/figures/
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures"

COLUMN, ROW, WIDTH, HEIGHT, MARGIN = 232, 92, 132, 44, 10
"""Pixels: from column to column and from row to row, a box, the margin."""


@dataclass(frozen=True)
class Diagram:
    """A picture.

    Attributes:
        about: what it shows, for who cannot see it.
        boxes: by name a column, a row, and what stands in the box, lines parted by a stroke.
        arrows: from, to, and what stands at the arrow.
    """

    about: str
    boxes: dict[str, tuple[int, int, str]]
    arrows: tuple[tuple[str, str, str], ...]


DIAGRAMS = {
    "packages": Diagram(
        "Who imports whom: encoder and decoder the protocol, the rooms all three, the suite and the experiments all",
        {
            "protocol": (2, 1, "ctwl-protocol"),
            "encoder": (1, 0, "ctwl-encoder|writes codes"),
            "decoder": (1, 2, "ctwl-decoder|reads codes"),
            "rooms": (0, 1, "rooms/|by public names"),
            "suite": (0, 0, "ctwl-conformance"),
            "experiments": (0, 2, "evaluation"),
        },
        (
            ("encoder", "protocol", ""),
            ("decoder", "protocol", ""),
            ("encoder", "decoder", "relays read"),
            ("rooms", "encoder", ""),
            ("rooms", "decoder", ""),
            ("suite", "encoder", ""),
            ("suite", "decoder", ""),
            ("experiments", "decoder", ""),
            ("experiments", "encoder", ""),
        ),
    ),
    "reading": Diagram(
        "How a text is read, from the text to the report",
        {
            "text": (0, 0, "text"),
            "tokens": (1, 0, "tokens,|positions"),
            "rivals": (2, 0, "rivals"),
            "scores": (3, 0, "scores"),
            "candidates": (3, 1, "candidates"),
            "records": (2, 1, "candidates|with records"),
            "spans": (1, 1, "spans"),
            "report": (0, 1, "report"),
        },
        (
            ("text", "tokens", "text.tokens|1 to 3"),
            ("tokens", "rivals", "proxy.runner|4"),
            ("rivals", "scores", "statistics.scores|5"),
            ("scores", "candidates", "search.windows, 6 and 7"),
            ("candidates", "records", "search.records|10.4"),
            ("records", "spans", "search.spans|8"),
            ("spans", "report", "report.assembly|9"),
        ),
    ),
    "writing": Diagram(
        "How a text is written, from a record and the tokens so far to the next token",
        {
            "record": (0, 0, "record"),
            "codes": (1, 0, "codes by slot"),
            "tokens": (0, 1, "tokens so far"),
            "seen": (1, 1, "what a reader|sees"),
            "places": (2, 1, "places, known|before the logits"),
            "logits": (2, 0, "logits"),
            "marked": (3, 0, "marked logits"),
            "next": (3, 1, "next token"),
        },
        (
            ("record", "codes", "core.payload"),
            ("tokens", "seen", "core.texts"),
            ("seen", "places", "core.tails"),
            ("codes", "places", ""),
            ("places", "marked", "core.device.marker"),
            ("logits", "marked", ""),
            ("marked", "next", "model.generate"),
        ),
    ),
}
"""The pictures by the names of their files."""


def drawn(diagram: Diagram) -> str:
    """A picture as SVG."""
    boxes = diagram.boxes.values()
    across, down = 1 + max(column for column, _, _ in boxes), 1 + max(row for _, row, _ in boxes)
    width, height = (across - 1) * COLUMN + WIDTH + 2 * MARGIN, (down - 1) * ROW + HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{html.escape(diagram.about)}" font-family="sans-serif" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for start, end, label in diagram.arrows:
        parts += arrow(diagram.boxes[start], diagram.boxes[end], label)
    for column, row, label in boxes:
        x, y = corner(column, row)
        parts.append(
            f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#deebf7" stroke="#4292c6"/>'
        )
        parts += lines(label, x + WIDTH / 2, y + HEIGHT / 2)
    return "\n".join([*parts, "</svg>"]) + "\n"


def corner(column: int, row: int) -> tuple[int, int]:
    """The upper left corner of a box."""
    return MARGIN + column * COLUMN, MARGIN + row * ROW


def arrow(start: tuple[int, int, str], end: tuple[int, int, str], label: str) -> Iterator[str]:
    """A line from the side of a box to that of another, and its label."""
    (x1, y1), (x2, y2) = corner(*start[:2]), corner(*end[:2])
    side = (x2 > x1) - (x2 < x1)
    if side:
        x1, x2 = x1 + (WIDTH if side > 0 else 0), x2 + (0 if side > 0 else WIDTH)
        y1, y2 = y1 + HEIGHT // 2, y2 + HEIGHT // 2
    else:
        x1, x2, y1 = x1 + WIDTH // 2, x2 + WIDTH // 2, y1 + HEIGHT
    yield f'<path d="M{x1} {y1}L{x2} {y2}" stroke="#555" fill="none" marker-end="url(#tip)"/>'
    if label:
        middle = (x1 + x2) / 2
        yield from lines(label, middle, (y1 + y2) / 2 - (14 if side else 0), "#555", back=not side)


def lines(label: str, x: float, y: float, colour: str = "#000", *, back: bool = False) -> Iterator[str]:
    """Lines of text around a middle; ``back`` puts white behind them."""
    texts = label.split("|")
    halo = ' stroke="white" stroke-width="6" paint-order="stroke"' if back else ""
    for n, text in enumerate(texts):
        place = y + 4 + 15 * (n - (len(texts) - 1) / 2)
        size = ' font-size="10"' if colour != "#000" else ""
        yield (
            f'<text x="{x:g}" y="{place:g}" text-anchor="middle" fill="{colour}"{size}{halo}>{html.escape(text)}</text>'
        )


def draw(folder: Path) -> None:
    """Draw all pictures into a folder."""
    for name, diagram in DIAGRAMS.items():
        (folder / f"{name}.svg").write_text(drawn(diagram), encoding="utf-8")


if __name__ == "__main__":
    draw(FIGURES)
