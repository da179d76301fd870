"""The processor time of commands, as a multiple of the time of scripts (anchor.py).

The bench writes build/bench-commands.md."""

import sys
import time
from functools import partial
from pathlib import Path

import pytest

from assurance.bench import table
from assurance.bench.anchor import START, WORK, spent
from tests.support.suite import ROOT

pytestmark = pytest.mark.bench

COMMAND = Path(sys.executable).with_name("femtorque")
CHANGED = "build three_link, changed"
MOST = {"--help": (START, 1.6), "build --help": (START, 1.6), "completion": (START, 1.6),
        "check six_axis": (WORK, 4.2), "check delta": (WORK, 5.6), "build three_link, unchanged": (WORK, 3.2),
        CHANGED: (WORK, 30.0)}
TYPED = "femtorque jog mechanisms/three_link.toml "  # the beginning of a command line that the shell completes


def test_commands_take_no_longer_than_some_scripts(tmp_path):
    mechanisms = ROOT / "mechanisms"
    changed = tmp_path / "changed.toml"  # has a mass that no earlier build has
    text = (mechanisms / "three_link.toml").read_text(encoding="utf-8")
    changed.write_text(text.replace("mass = 0.3575", f"mass = 0.3575{time.time_ns()}", 1), encoding="utf-8")
    assert changed.read_text(encoding="utf-8") != text
    typed = {
        "--help": ("--help",), "build --help": ("build", "--help"),
        "check six_axis": ("check", mechanisms / "six_axis.toml"), "check delta": ("check", mechanisms / "delta.toml"),
        "build three_link, unchanged": ("build", mechanisms / "three_link.toml", "--output", tmp_path / "same")}
    commands = {name: partial(spent, COMMAND, *arguments) for name, arguments in typed.items()}
    commands["completion"] = partial(spent, COMMAND, _FEMTORQUE_COMPLETE="complete_bash", COMP_WORDS=TYPED,
                                     COMP_CWORD=str(len(TYPED.split())))
    found = {}
    for name, command in commands.items():
        command()  # fills the caches
        found[name] = MOST[name][0].beside(command, runs=4)
    new = partial(spent, COMMAND, "build", changed, "--output", tmp_path / "new")
    found[CHANGED] = MOST[CHANGED][0].beside(new, runs=1)
    reference = {name: ratio * MOST[name][0].reference for name, (_, ratio) in found.items()}
    rows = [[name, f"{took:.2f} s", f"{ratio:.2f} {MOST[name][0].name}", MOST[name][1], f"{reference[name]:.2f} s"]
            for name, (took, ratio) in found.items()]
    table.keep("bench-commands.md", table.show(
        "How long commands take", ("command", "took", "that is", "at most", "on the reference machine"), rows))
    assert all(found[name][1] <= most for name, (_, most) in MOST.items()), found
