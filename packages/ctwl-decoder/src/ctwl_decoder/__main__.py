"""``python -m ctwl_decoder`` runs the command."""

import sys

from .command import main

sys.exit(main())
