"""The fixtures of the encoder's tests."""

from encoder_fixtures import *  # noqa: F403
