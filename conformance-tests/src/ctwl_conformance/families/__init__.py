"""The families of exact vectors (spec section 14): a name and the reference's answer, a pure function of the input.

The vectors themselves are data: each family's file holds its section, what is asked, and the inputs.
"""

from importlib import import_module
from pkgutil import iter_modules

from .agreement import agree
from .family import FAMILIES, Family

for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __name__)  # adds its families

__all__ = ["FAMILIES", "Family", "agree"]
