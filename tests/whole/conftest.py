"""Imports fixtures of the host's tests: simulated boards, for tests of the command line."""

from tests.host.conftest import fake, tcp_board  # noqa: F401
