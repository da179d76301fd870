"""Fixtures that these tests share with those of the host: a board for the command line in this process."""

from tests.host.conftest import fake  # noqa: F401
