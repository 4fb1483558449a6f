"""The vLLM plug-in; see :mod:`ctwl_encoder.integrations.vllm.processor`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .processor import CTWLLogitsProcessor

__all__ = ["CTWLLogitsProcessor"]


def __getattr__(name: str) -> Any:
    """Load the processor when it is asked for: vLLM loads :mod:`.guard` first, before it is ready for more."""
    if name in __all__:
        from .processor import CTWLLogitsProcessor

        return CTWLLogitsProcessor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
