"""``python -m ctwl_encoder.integrations.llama_cpp``: see :mod:`.server`."""

import sys

from .server import main

sys.exit(main())
