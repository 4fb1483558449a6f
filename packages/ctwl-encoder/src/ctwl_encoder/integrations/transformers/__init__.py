"""The marker as transformers' ``generate`` takes it: a watermarking config, and a logits processor."""

from . import guard  # noqa: F401 - it looks after transformers from here on
from .config import CTWLWatermarkingConfig
from .in_turn import WatermarksInTurn
from .processor import CTWLLogitsProcessor, ProcessorConfig

__all__ = ["CTWLLogitsProcessor", "CTWLWatermarkingConfig", "ProcessorConfig", "WatermarksInTurn"]
