"""The marker of :mod:`.marker` for logits that are NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .marker import DeviceMarker


class OnHost(DeviceMarker):
    """A :class:`.marker.DeviceMarker` for engines whose logits are NumPy's."""

    def mark(self, texts: Sequence[int], logits: NDArray[np.float32], **how: Any) -> None:  # type: ignore[override]
        """See :meth:`ctwl_encoder.core.marker.Marker.mark`; ``logits``: float32 (rows, size)."""
        super().mark(texts, torch.from_numpy(logits), **how)
