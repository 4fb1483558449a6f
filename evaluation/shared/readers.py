"""Decoders that keep what the proxy LM says, and what they say of a text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_decoder import Decoder, Report
from ctwl_decoder.statistics.evidence import permutations
from ctwl_decoder.statistics.scored_positions import ScoredPositions
from ctwl_decoder.statistics.scores import Score, position_scores
from ctwl_protocol import Profile
from ctwl_protocol.proxy import Proxy, ProxyTokenizer, open_proxy
from ctwl_protocol.text.positions import positions

from .cache import kept_rivals
from .experiment import OFFLINE


def reader(proxy: Proxy | None = None, **options: Any) -> Decoder:
    """A decoder that keeps the rivals of each text, by default of the offline profile.

    Args:
        proxy: the proxy LM.
        **options: see :class:`ctwl_decoder.Decoder`.
    """
    proxy = proxy or open_proxy(OFFLINE)
    return Decoder(proxy, weigh=lambda variant, progress: kept_rivals(proxy, variant.ids), **options)


def likeliest(report: Report) -> int | None:
    """The decoder's best code, whether or not it was found; None where the text has no position to score."""
    return (report.likeliest or report).code


def first_tokens(tokenizer: ProxyTokenizer, text: str, tokens: int) -> str:
    """The first so many proxy tokens of a text."""
    return tokenizer.decode(tokenizer.encode(text)[:tokens])


def scored_positions(
    proxy: Proxy, ids: NDArray[np.int64], profile: Profile | None = None
) -> dict[Score, ScoredPositions]:
    """What a text's proxy tokens, int64 (tokens,), say about every code by each score.

    Args:
        proxy: the proxy LM.
        ids: the tokens.
        profile: another one with the same proxy LM, under whose key they are read.
    """
    profile = profile or proxy.profile
    cut = positions(ids, profile.prefix_length, profile.context_length)
    seeds = permutations(profile, cut.contexts)
    units = position_scores(kept_rivals(proxy, ids), profile.prefix_length, seeds, profile.sigma)
    return {score: ScoredPositions.of(profile, cut, each) for score, each in units.items()}
