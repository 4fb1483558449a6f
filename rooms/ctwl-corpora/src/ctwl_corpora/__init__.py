"""Many texts by one reader, for pipelines: texts in, a row for each out.

:class:`BatchReader` needs nothing but the decoder. The modules beside it put it into the pipelines of others, each in
a few lines: :mod:`.tables` (Hugging Face datasets, Ray Data, Spark), :mod:`.datatrove` and :mod:`.nemo_curator`.
"""

from .reader import BatchReader, Row
from .settings import Settings

__all__ = ["BatchReader", "Row", "Settings"]
