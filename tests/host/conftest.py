"""The command line in this process."""

import subprocess
from pathlib import Path

import pytest

from femtorque import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def here(capfd, monkeypatch):
    """A verb as a user runs it, in this process, which has everything imported already: quicker."""
    monkeypatch.chdir(ROOT)

    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main(list(map(str, arguments)))
        return subprocess.CompletedProcess(arguments, left.value.code, *capfd.readouterr())

    return run
