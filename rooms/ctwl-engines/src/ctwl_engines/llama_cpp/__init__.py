"""The llama.cpp plug-in, for llama-cpp-python; see :mod:`ctwl_engines.llama_cpp.processor`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .processor import CTWLLogitsProcessor, mark_all

__all__ = ["CTWLLogitsProcessor", "mark_all"]


def __getattr__(name: str) -> Any:
    """Load what needs llama-cpp-python when it is asked for: the help of the command does not."""
    if name in __all__:
        from . import processor

        return getattr(processor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
