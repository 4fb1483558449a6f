"""What a document may cost before it is refused. All are chosen by hand; real documents are far below them."""

from __future__ import annotations

import sys
from typing import Final

UNPACKED: Final = 64 << 20
"""Bytes of all that is unpacked from one file, however it is nested. They are counted as they come, so what a header
declares decides nothing."""

RATIO: Final = 200
"""A part that is unpacked to more than this many times its packed size, and to more than :data:`SMALL`, is a bomb: the
XML of a real document is packed to a tenth."""

SMALL: Final = 1 << 20
"""Bytes below which no ratio is a bomb's."""

MEMBERS: Final = 2000
"""Parts of all archives and mails in one file. A book has one for each chapter and picture."""

DEPTH: Final = 6
"""Documents inside documents: a mail with a mail with an archive with a DOCX is four."""

NAME: Final = 255
"""Characters of the name of a part. Most file systems have no longer ones."""

NESTING: Final = 200
"""Elements inside elements, or lists inside lists, of one part."""

WORDS: Final = 4 << 20
"""Characters of all words of one file: four of the longest texts that are decoded at once."""

PAGES: Final = 2000
"""Pages of a PDF."""

SECONDS: Final = 3
"""Seconds of computing for one file, where the system can bound them, as all but Windows can. A book of 300 pages takes
two."""

WAIT: Final = 10 if sys.platform == "win32" else 120
"""Seconds after which nobody waits for a file. On Windows nothing else bounds computing. Elsewhere it is for what hangs
without computing, which no known file does; less would refuse good files on a machine that has much else to do."""

MEMORY: Final = 400 << 20
"""Bytes of memory of the process that opens a file, where the system can bound them."""
