"""What was measured, as data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ctwl_protocol.records import NONCE_COUNT

from ..budget import Budget
from .markings import Marking
from .statistics import Estimate, Needed, Share


@dataclass(frozen=True)
class Settings:
    """What was asked.

    Attributes:
        model: as it was named.
        profile: as it was named.
        chat: whether the prompts were a chat's messages.
        prompts: as they were given, without repeats.
        provider, version: of all texts.
        nonces: from how many a text's is drawn.
        sampling: temperature, top_p and the like, as :class:`ctwl_encoder.options.GenerationOptions` names them.
        texts: of each marking.
        seed: of the whole measurement.
        proxy_path: the folder with the proxy LM's files; None where none was named.
        device: as it was named.
    """

    model: str
    profile: str
    chat: bool
    prompts: Sequence[str]
    provider: int
    version: int
    sampling: Mapping[str, Any]
    texts: int
    seed: int
    proxy_path: str | None = None
    device: str = "auto"
    nonces: int = NONCE_COUNT


@dataclass(frozen=True)
class Effect:
    """What a marking does. Every NLL is in nats a token, under the model.

    Attributes:
        found: texts whose code the decoder finds at its default level.
        by_length: the same of the first tokens of the texts that have as many, each with their number.
        edited: the same after a share of the words was replaced, each with the share.
        needed: tokens until nine texts in ten are found.
        curve: lengths at which the share that is found rises, each with the share from there on.
        change: what marking changes in the NLL that is expected, step by step.
        decided: the part of the choice that the mark decides, nats a token.
        nll_over_plain: how the NLL of the texts differs from that of the plain ones, paired by prompt.
        shared_over_plain: how often as many runs of tokens two texts of a prompt share as plain ones do.
        shared_with_one_nonce: the share of runs that two texts of a prompt share where their nonces are equal; None
            where these are the same text.
        cost: how many times as long a step takes with the mark.
        budget: where the evidence of its texts goes; None where nothing is drawn.
    """

    found: Share
    by_length: Sequence[tuple[int, Share]]
    edited: Sequence[tuple[float, Share]]
    needed: Needed
    curve: Sequence[tuple[int, float]]
    change: Estimate
    decided: float
    nll_over_plain: Estimate
    shared_over_plain: float
    shared_with_one_nonce: Estimate | None
    cost: float
    budget: Budget | None = None


@dataclass(frozen=True)
class Row:
    """What was measured of a marking's texts.

    Attributes:
        marking: how they were marked.
        tokens: of the text in the middle.
        entropy: nats a token, of what tokens are drawn from, but for the mark: the room that a mark has.
        nll: nats a token, under the model.
        nll_less_entropy: nats a token, under what the tokens were drawn from but for the mark; 0 but for chance where
            tokens are sampled and no mark is. NaN where nothing is drawn.
        wrong: texts in which a code is found that they do not carry; a plain text carries none.
        shared: the share of a text's runs of three tokens that another text of its prompt has, too, with nonces that
            are drawn.
        effect: what the marking does; None for plain texts.
    """

    marking: Marking
    tokens: float
    entropy: float
    nll: Estimate
    nll_less_entropy: Estimate
    wrong: Share
    shared: Estimate
    effect: Effect | None = None


@dataclass(frozen=True)
class Recommendation:
    """What is recommended.

    Attributes:
        place: of the marking among the rows.
        agreement: the share of resamples of the prompts in which the rule takes the same one.
        default: the marking that the encoder takes by itself at this temperature.
    """

    place: int
    agreement: float
    default: Marking


@dataclass(frozen=True)
class Result:
    """The table and the recommendation.

    Attributes:
        settings: what was asked.
        plain: the row of plain texts.
        rows: one for each marking, the gentlest first.
        recommendation: which of them to take.
    """

    settings: Settings
    plain: Row
    rows: Sequence[Row]
    recommendation: Recommendation

    @property
    def taken(self) -> Row:
        """The row that is recommended."""
        return self.rows[self.recommendation.place]

    def as_json(self) -> dict[str, Any]:
        """Plain data; a figure that is not known is None."""
        found: dict[str, Any] = _plain(asdict(self))
        for row, given in zip([found["plain"], *found["rows"]], [self.plain, *self.rows], strict=True):
            row["name"] = given.marking.name
        chosen = {"marking": self.taken.marking, "default": self.recommendation.default}
        found["recommendation"] |= {name: dict(marking.options) for name, marking in chosen.items()}
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
