"""Shared fixture with the host's tests: a board for the command line in this process."""

from tests.host.conftest import fake  # noqa: F401
