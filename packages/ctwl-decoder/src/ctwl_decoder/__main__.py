"""``python -m ctwl_decoder`` runs the command."""

import sys

from .cli import main

sys.exit(main())
