"""Decoding, in the steps of spec section 10: text -> windows -> weights -> hits -> scores -> code -> report."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from ctwl_protocol import Beacon, Profile
from ctwl_protocol.codes import BEACON_BITS
from ctwl_protocol.profile import STANDARD
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.windows import positions

from .errors import InputTooLarge, NotText
from .hits import find_hits, first_occurrences, gather
from .null import null_of
from .posterior import THRESHOLD, posterior
from .report import Report
from .scores import score_all

__all__ = ["ALPHA", "MAX_CHARACTERS", "Decoder", "decode"]

ALPHA = 1e-4
"""Default level of the test: one human text in ten thousand passes by chance."""

MAX_CHARACTERS = 1 << 20
"""Longest text that is decoded, in characters; a longer one is refused before any work."""

MAX_TOKENS = 1 << 17
"""Longest text that is decoded, in proxy tokens: about 20 minutes on two cores."""

_SURROGATE = re.compile("[\ud800-\udfff]")


class Decoder:
    """A profile's decoder, with its proxy loaded once for many texts."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy

    @classmethod
    def open(
        cls,
        profile: str | Path | Profile = STANDARD,
        *,
        proxy_path: str | Path | None = None,
        device: str | torch.device = "auto",
    ) -> Decoder:
        """Load a profile's proxy; see :func:`ctwl_protocol.proxy.open_proxy` for the errors."""
        return cls(open_proxy(profile, path=proxy_path, device=device))

    def decode(
        self,
        text: str,
        *,
        alpha: float = ALPHA,
        test: Literal["exact", "posterior"] = "exact",
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Report:
        """Read the code that a text carries, and how likely chance would be to show one as clearly.

        Args:
            text: the text; a text too short to judge gives a report that says so.
            alpha: level of the test, on the p-value corrected for the whole code space.
            test: "exact", or "posterior" for the paper's rule.
            progress: called with the positions done and their number.

        Raises:
            NotText: the string holds lone surrogates.
            InputTooLarge: the text exceeds :data:`MAX_CHARACTERS` or :data:`MAX_TOKENS`.
            ValueError: alpha is not strictly between 0 and 1.
        """
        if not 0 < alpha < 1:
            raise ValueError(f"alpha is {alpha}; it must lie between 0 and 1")
        if len(text) > MAX_CHARACTERS:
            raise InputTooLarge(f"the text has {len(text)} characters; at most {MAX_CHARACTERS} are decoded at once")
        if not text.isascii() and _SURROGATE.search(text):
            raise NotText("the text holds lone surrogates, so it is no Unicode text; decode its bytes as UTF-8 first")
        profile = self.proxy.profile
        # 1 to 3: normalise, tokenise, cut into positions.
        ids = self.proxy.tokenizer.encode(text)
        if len(ids) > MAX_TOKENS:
            raise InputTooLarge(f"the text has {len(ids)} tokens; at most {MAX_TOKENS} are decoded at once")
        cut = positions(ids, profile.prefix_length, profile.context_length)
        # 4 and 5: weigh the vocabulary at each position, look up which colours' halves hold the token; drop repeats.
        hits = find_hits(self.proxy, cut, progress=lambda done: progress(done, len(cut)))
        evidence = gather(cut, hits, first_occurrences(cut))
        # 6: score every code.
        scores = score_all(profile, evidence)
        code = int(scores.argmax())
        # 7: the exact null gives the p-value.
        null = null_of(evidence.table)
        probability = None
        if test == "posterior":
            every = score_all(profile, gather(cut, hits, np.ones(len(cut), dtype=np.bool_)))
            code = int(every.argmax())
            probability = posterior(every, code)
        p_value = null.p_value(int(scores[code]), profile.codes)
        detected = p_value <= alpha if probability is None else probability >= THRESHOLD
        # 8: report.
        found = code if len(cut) else None
        beacon = Beacon.from_code(code) if found is not None and profile.code_bits == BEACON_BITS else None
        return Report(
            detected=detected,
            code=found,
            provider=beacon.provider if beacon else None,
            version=beacon.version if beacon else None,
            nonce=beacon.nonce if beacon else None,
            p_value=p_value,
            alpha=alpha,
            test=test,
            posterior=probability,
            score=int(scores[code]),
            expected=float(evidence.table.mean(axis=1).sum()) if len(cut) else 0.0,
            tokens=len(ids),
            scored=evidence.counted,
            needed=needed_tokens(profile, alpha),
            profile=profile.name,
            profile_digest=profile.digest,
        )


def needed_tokens(profile: Profile, alpha: float) -> int:
    """Tokens below which the test will hardly pass: a hit is worth about ``-log2(sigma)`` bits at most."""
    bits = profile.code_bits - math.log2(alpha)
    return profile.prefix_length + math.ceil(bits / math.log2(profile.sigma[1] / profile.sigma[0]))


def decode(
    text: str,
    profile: str | Path | Profile = STANDARD,
    *,
    alpha: float = ALPHA,
    proxy_path: str | Path | None = None,
    device: str | torch.device = "auto",
) -> Report:
    """Decode one text; for many, keep a :class:`Decoder`.

    Raises:
        CTWLError: see :meth:`Decoder.open` and :meth:`Decoder.decode`.
    """
    return Decoder.open(profile, proxy_path=proxy_path, device=device).decode(text, alpha=alpha)
