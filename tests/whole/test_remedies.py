"""Tests that every command in an error's hint works."""

import errno
import os
import pty
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import serial

from femtorque.codegen.common import EXTRAS, MECHANISMS, BadInput, installing
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.commands import completion
from femtorque.commands.answer import Answer, show
from femtorque.hil.board import FAULTS
from femtorque.hil.papers.reproduce import PAPERS, SUBJECTS, chosen
from femtorque.hil.scenarios import scenario
from femtorque.host.link import link
from femtorque.host.plan import effort
from femtorque.host.stream import preflight
from tests.support.suite import ROOT

ARM = MECHANISMS / "three_link.toml"


@pytest.mark.parametrize("extra", EXTRAS)
def test_pip_takes_the_line_that_installs_an_extra(extra):
    """The packages are already installed, so pip does not search an index."""
    words = shlex.split(installing(extra))
    assert words[:2] == ["pip", "install"]
    done = subprocess.run([sys.executable, "-m", *words, "--dry-run", "--no-index", "--no-deps"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("already satisfied") == len(EXTRAS[extra]), done.stderr


def test_brackets_in_an_answer_are_printed_as_they_are(capsys):
    show(Answer({}, "see [safety] jog_speed, [[joint]] and package[hil]"))
    assert capsys.readouterr().out == "see [safety] jog_speed, [[joint]] and package[hil]\n"


def test_xacro_writes_another_file_than_it_reads(tmp_path, monkeypatch, here):
    """The file has the suffix .urdf and contains xacro. A shell script in place of xacro inserts the number."""
    source = tmp_path / "arm.urdf"
    source.write_text(URDF.replace('value="1.5"', 'value="${1.5}"'))
    shown = here("init", "arm", "--from", source, "-o", tmp_path / "arm.toml")
    assert shown.returncode == 2 and "holds xacro" in shown.stderr
    line = re.search(r"run: (xacro \S+ -o \S+)", shown.stderr)[1]
    tool = tmp_path / "bin" / "xacro"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\nsed "s/\\${1.5}/1.5/" "$1" > "$3"\n')
    tool.chmod(0o755)
    before = source.read_text()
    subprocess.run(shlex.split(line), cwd=tmp_path, check=True,
                   env=os.environ | {"PATH": f"{tool.parent}:{os.environ['PATH']}"})
    assert source.read_text() == before, "the input is as it was"
    made = here("init", "arm", "--from", tmp_path / line.split()[-1], "-o", tmp_path / "arm.toml")
    assert made.returncode == 0, made.stderr


URDF = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <link name="root"/>
  <link name="upper"><inertial><origin xyz="0.1 0 0"/><mass value="1.5"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="root"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
</robot>
"""


def test_an_unknown_figure_is_answered_by_all_names(here):
    shown = here("reproduce", "nosuch")
    assert shown.returncode == 2 and "..." not in shown.stderr
    names = shown.stderr.split("known: ")[1].strip().split(", ")
    assert len(names) > 20 and all(chosen(name) for name in names)


def test_a_port_without_rights_names_the_group_that_has_them(tmp_path, monkeypatch):
    device = tmp_path / "ttyUSB0"
    device.touch()

    def refused(*_, **__):
        raise serial.SerialException(errno.EACCES, "could not open port: Permission denied")  # as pyserial does

    monkeypatch.setattr(link.serial, "serial_for_url", refused)
    with pytest.raises(BadInput) as error:
        link.open_port(str(device), 115200)
    words = error.value.hint
    assert f"`sudo usermod -aG {device.group()} $USER`" in words and "log out and in" in words


def test_a_file_that_is_no_port_is_refused_as_a_port(here, tmp_path):
    (tmp_path / "arm.log").touch()
    for place in (tmp_path / "arm.log", "/dev/null"):
        shown = here("monitor", "--port", place)
        assert shown.returncode == 2 and f"{place}: port: cannot be opened (it is no serial port)" in shown.stderr


def test_a_full_device_is_refused_in_one_line(here):
    shown = here("torque", ARM, ARM.with_suffix(".csv"), "-o", "/dev/full")
    assert shown.returncode == 1 and shown.stderr == "femtorque: a file cannot be written: No space left on device\n"


def test_a_port_that_another_program_has_open_says_so():
    main, device = pty.openpty()
    name = os.ttyname(device)
    try:
        with serial.Serial(name, exclusive=True):
            with pytest.raises(BadInput, match="another program has it open"):
                link.open_port(name, 115200)
        link.open_port(name, 115200).close()  # the port is closed now
    finally:
        os.close(main)
        os.close(device)


def test_degrees_in_a_motion_are_recognised(tmp_path):
    arm = load_mechanism(ARM)
    table = np.array([[0.0, 0.0, 0.0, 0.0], [3.0, 45.0, 30.0, 10.0]])

    def written(rows):
        head = ",".join(["t", *(joint.name for joint in arm.streamed)])
        np.savetxt(tmp_path / "motion.csv", rows, delimiter=",", header=head, comments="")
        return Trajectory.load(tmp_path / "motion.csv", arm)

    with pytest.raises(BadInput, match="these look like degrees: multiply by pi/180"):
        written(table)
    table[:, 1:] *= np.pi / 180.0
    assert written(table).duration == 3.0
    table[1, 1] = 4.0
    with pytest.raises(BadInput) as error:
        written(table)
    assert "look like degrees" not in str(error.value)


@pytest.mark.parametrize("at, said", [
    ("elbow=30", "is outside the joint's limits -2.6 .. 2.6; angles are in rad: 30 degrees are 0.5236"),
    ("elbow=3", "is outside the joint's limits -2.6 .. 2.6"), ("elbow=30deg", "a number in rad or m"),
    ("elbow", "must be JOINT=POSITION"), ("elbo=0.5", "no such joint; did you mean 'elbow'?"),
    ("elbow=nan", "of elbow must be finite"),
])
def test_degrees_given_to_home_are_answered_in_radians(here, fake, at, said):
    shown = here("home", ARM, "--port", "/dev/ttyFAKE", "--at", at)
    assert shown.returncode == 2 and said in shown.stderr, shown.stderr
    assert ("degrees" in shown.stderr) == (at == "elbow=30")


def test_the_answer_in_radians_homes(here, fake):
    shown = here("home", ARM, "--port", "/dev/ttyFAKE", "--at", "elbow=30")
    told = shown.stderr.split("degrees are ")[1].strip()
    assert here("home", ARM, "--port", "/dev/ttyFAKE", "--at", f"elbow={told}").returncode == 0


def test_a_motion_that_is_not_there_is_not_looked_for_among_logs(tmp_path, here):
    for name in ("run1.mcap", "run1.csv", "reach.csv"):
        (tmp_path / name).touch()
    shown = here("torque", ARM, tmp_path / "run.csv", "-o", tmp_path / "out.csv")
    assert shown.returncode == 2 and "'run1" not in shown.stderr and "'reach.csv'" in shown.stderr


def test_the_recommended_speed_is_slow_enough():
    arm = load_mechanism(ARM)
    motion = Trajectory.load(MECHANISMS / "three_link.csv", arm)
    share = 0.8 * effort.heaviest(arm, motion).share
    weak = replace(arm,
                   joints=tuple(replace(j, limits=replace(j.limits, effort=share * j.limits.effort))
                                for j in arm.joints))
    with pytest.raises(BadInput) as error:
        preflight.examine(motion, weak)
    speed = float(re.search(r"`--speed ([\d.]+)` is slow enough", error.value.hint)[1])
    assert preflight.examine(motion.faster(speed), weak).heaviest.share <= 1.001


HEAVY = ("numpy", "scipy", "matplotlib", "unicorn", "mcap", "serial.serialposix", "pydantic")


@pytest.mark.parametrize("line, words", [
    ("pl", {"plan", "plot"}), ("stream --dry", {"--dry-run"}), ("torque --backend c", {"c", "chip"}),
    ("init arm --board nucleo", {"nucleo-g474re-6", "nucleo-g474-can"}),
    ("hil scenario three", {"three_axis", "three_link"}),
    ("hil run arm.toml --fault encoder-", {"encoder-stuck", "encoder-jump", "encoder-reversed"}),
    ("reproduce isobe-eq", {"isobe-eq-16", "isobe-eq-16-modes"}),
    ("reproduce tsu",
     {"tsujita", "tsujita-slew", "tsujita-spin-up", "tsujita-table-1", "tsujita-fig-2", "tsujita-board",
      "tsujita-fig-3", "tsujita-path", "tsujita-fig-4"}),
    (f"jog {ARM} sh", {"shoulder"}), (f"identify {ARM} --joint el", {"elbow"}), ("jog nowhere.toml sh", set()),
])
def test_completion_offers_existing_names_and_imports_nothing_slow(line, words):
    """Completion takes only a little longer than the start of Python."""
    code = (f"import sys, atexit; atexit.register(lambda: print(' '.join(set({HEAVY!r}) & set(sys.modules)), "
            f"file=sys.stderr))\n"
            "import femtorque; femtorque.main([])")
    environment = os.environ | {"_FEMTORQUE_COMPLETE": "complete_bash", "COMP_WORDS": f"femtorque {line}",
                                "COMP_CWORD": str(len(line.split()))}
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert set(shown.stdout.split()) == words, shown.stderr
    assert shown.stderr.strip() == "", "imported for nothing"


def test_help_of_every_verb_imports_no_more_than_the_command_line():
    """Help is quick, because it imports neither NumPy nor drawing nor emulator. The only lower package that it may
    import is codegen.common."""
    code = ("import contextlib, io, sys\nfrom femtorque import command_line\n"
            "for verb in [[], *map(str.split, command_line.VERBS)]:\n"
            "    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):\n"
            "        command_line.main([*verb, '--help'])\n    assert 'Usage: femtorque' in said.getvalue(), verb\n"
            "print(*sys.modules)")
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    imported = set(shown.stdout.split())
    assert not imported & {*HEAVY, "rich", "jinja2", "cffi", "ruckig"}
    ours = {name for name in imported if name.startswith(("femtorque.codegen.", "femtorque.host.", "femtorque.hil."))}
    assert {".".join(name.split(".")[:3]) for name in ours} <= {"femtorque.codegen.common"}


def test_completing_a_port_imports_only_the_list_of_ports():
    code = "from femtorque.commands import completion; import sys; print(*completion.ports('a'), *sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    imported = set(shown.stdout.split())
    heavy = {*HEAVY, "femtorque.codegen.board"} - {"serial.serialposix"}
    assert {"auto", "serial.tools.list_ports"} <= imported and not imported & heavy


def test_completion_reads_the_names_that_the_verbs_know():
    """Completion reads the names from the source, and every offered name exists."""
    assert completion.faults("") == list(FAULTS) and completion.scenarios("") == scenario.names()
    assert completion.figures("") == [s.name for s in SUBJECTS] + [p.key for p in PAPERS]
    assert all(Path(ROOT / "firmware" / "boards" / f"{name}.toml").is_file() for name in completion.boards(""))
