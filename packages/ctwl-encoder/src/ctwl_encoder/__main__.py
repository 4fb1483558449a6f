"""``python -m ctwl_encoder`` runs the command."""

import sys

from .cli import main

sys.exit(main())
