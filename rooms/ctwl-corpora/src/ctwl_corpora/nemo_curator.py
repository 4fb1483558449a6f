"""A filter of NeMo Curator's, for its stages ``Score``, ``Filter`` and ``ScoreFilter``. It needs ``nemo-curator``."""

from __future__ import annotations

import math

from nemo_curator.stages.text.filters import DocumentFilter

from .reader import BatchReader


class WatermarkFilter(DocumentFilter):  # type: ignore[misc]
    """Keeps the documents in which no code is found. A document's score is its p-value.

    The p-value is 1 where the screen showed nothing, unless the reader's settings have ``p_values``; and where a small
    one decides nothing, because the text is of a narrow kind (spec section 12). It is not a number where the text could
    not be read. Such documents are kept.
    """

    def __init__(self, reader: BatchReader) -> None:
        super().__init__()
        self._name, self.reader = "ctwl_p_value", reader

    def load_model(self) -> None:
        """Open the reader; because there is this, Curator keeps each worker for many batches."""
        _ = self.reader.decoders

    def score_document(self, text: str) -> float:
        """A document's p-value."""
        (row,) = self.reader.read([text])
        if row.error:
            return math.nan
        decided = row.detected or row.p_value is None or row.p_value > self.reader.settings.alpha
        return row.p_value if decided and row.p_value is not None else 1.0

    def keep_document(self, scores: float) -> bool:
        """Whether a p-value is above the level."""
        return not scores <= self.reader.settings.alpha
