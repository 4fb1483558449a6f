"""The llama.cpp plug-in, for llama-cpp-python; see :mod:`ctwl_encoder.integrations.llama_cpp.processor`."""

from .processor import CTWLLogitsProcessor

__all__ = ["CTWLLogitsProcessor"]
