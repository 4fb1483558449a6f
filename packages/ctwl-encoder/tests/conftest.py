"""The fixtures of the encoder's tests, which other tests take too."""

from encoder_fixtures import *  # noqa: F403
