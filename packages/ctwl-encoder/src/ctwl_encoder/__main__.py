"""``python -m ctwl_encoder`` runs the command."""

import sys

from .command import main

sys.exit(main())
