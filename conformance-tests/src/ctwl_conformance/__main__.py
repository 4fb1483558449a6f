"""``python -m ctwl_conformance`` runs the command."""

import sys

from .cli import main

sys.exit(main())
