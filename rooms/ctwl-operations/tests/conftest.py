"""The fixtures of the encoder's and of the registry's tests."""

from encoder_fixtures import *  # noqa: F403
from registry_fixtures import *  # noqa: F403
