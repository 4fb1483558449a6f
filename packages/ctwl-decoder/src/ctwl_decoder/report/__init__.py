"""What was found, as data, words, a terminal page and an HTML page."""

from .analysis import Analysis
from .model import Data, Outcome, Report, Signpost
from .signposts import signpost
from .wording import caveats, describe, format_p_value, headline, not_here, why_none

__all__ = [
    "Analysis", "Data", "Outcome", "Report", "Signpost", "caveats", "describe", "format_p_value",
    "headline", "not_here", "signpost", "why_none",
]  # fmt: skip
