"""``python -m ctwl_decoder`` runs the command."""

import sys

from .apps.command import main

sys.exit(main())
