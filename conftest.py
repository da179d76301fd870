"""One set of options, fixtures and rules for tests/ and assurance/."""

pytest_plugins = ["tests.support.suite"]
