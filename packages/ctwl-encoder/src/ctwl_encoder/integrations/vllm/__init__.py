"""The vLLM plug-in; see :mod:`ctwl_encoder.integrations.vllm.processor`."""

from .processor import CTWLLogitsProcessor

__all__ = ["CTWLLogitsProcessor"]
