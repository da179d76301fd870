"""Bring-up of an arm on a virtual board, in the way that a user types it."""

import json
import sys

import pytest

from femtorque.codegen.mechanism import load_mechanism
from tests.support.plugged import Hand, plugged_in


@pytest.fixture
def brought_up(here, monkeypatch, tmp_path):
    """Run `femtorque bringup` on a file with this text, by default the existing file. hand: the person who moves the
    joints. spoil: injects faults. plant, world: arguments of plugged_in. Returns the report by joint, the file's
    mechanism afterwards, and the board."""
    file = tmp_path / "arm.toml"

    def look(text, *options, hand=Hand, spoil=lambda board: None, plant=None, world=None):
        if text is not None:
            file.write_text(text, encoding="utf-8")
        with plugged_in(load_mechanism(file), plant, tmp_path / "image", world) as board:
            monkeypatch.setattr(sys, "stdin", hand(board))
            spoil(board)
            done = here("bringup", file, "--port", "auto", "--json", *options)
            board.run(0.05)
            assert board.outputs_safe()
        assert "joints" in done.stdout, done.stdout + done.stderr
        joints = {joint["joint"]: joint for joint in json.loads(done.stdout)["joints"]}
        assert done.returncode == int(any(joint["problem"] for joint in joints.values()))
        return joints, load_mechanism(file), board

    return look
