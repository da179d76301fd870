"""The tours of docs/pc.md, typed with virtual drives behind the PC's program."""

import os
import re
import signal
import subprocess
import sys

import pytest

from tests.support.suite import HANG, ROOT

PAGE = (ROOT / "docs" / "pc.md").read_text(encoding="utf-8").split("## From pip", 1)[1].split("\n## ", 1)[0]
LINES = [line for line in re.findall(r"^    (.*)$", PAGE, re.MULTILINE) if not line.startswith("pip ")]


@pytest.mark.assure
@pytest.mark.parametrize("arm", ["so101", "openarm"])
def test_the_lines_of_a_tour_move_the_arm(arm, tmp_path):
    env = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}

    def typed(line: str) -> str:
        line = line.replace("femtorque", f"{sys.executable} -m femtorque", 1)
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=HANG)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    *before, move = [line for line in LINES if arm in line]
    for line in before:
        typed(line)
    with subprocess.Popen([sys.executable, "-m", "femtorque", "hil", "serve", f"my_{arm}.toml"], cwd=tmp_path, env=env,
                          stderr=subprocess.PIPE, text=True) as board:
        try:
            while "unix:" not in (line := board.stderr.readline()):
                assert line, "it ended"
            assert typed(move).startswith("done: ")
        finally:
            board.send_signal(signal.SIGINT)
        assert board.wait(HANG) == 0
