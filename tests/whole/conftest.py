"""Imports a fixture of the host's tests: a simulated board in this process, for tests of the command line."""

from tests.host.conftest import fake  # noqa: F401
