"""The fixtures of the registry's tests, which other tests take too."""

from registry_fixtures import *  # noqa: F403
