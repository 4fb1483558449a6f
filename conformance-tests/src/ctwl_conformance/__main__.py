"""``python -m ctwl_conformance`` runs the command."""

import sys

from .command import main

sys.exit(main())
