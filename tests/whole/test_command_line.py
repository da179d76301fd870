"""Tests the command line in separate processes: exit statuses, diagnoses of one line, and output that is pure JSON."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from femtorque import command_line
from femtorque.commands.answer import Answer, dump
from tests.support import rig
from tests.support.suite import HANG

ROOT = Path(__file__).resolve().parents[2]
MECHANISM, MOTION = "mechanisms/three_link.toml", "mechanisms/three_link.csv"
NOWHERE = ("--port", "/dev/ttyNOPE")


def femtorque(*arguments, **keys):
    return subprocess.run([sys.executable, ROOT / "femtorque", *map(str, arguments)], cwd=ROOT, text=True,
                          capture_output=True, timeout=HANG, **keys)


FIRST = "See it:"  # of the groups of verbs


def test_the_list_of_verbs_says_each_in_one_line_of_a_narrow_terminal():
    shown = femtorque("--help", env=os.environ | {"COLUMNS": "80"}).stdout
    assert "..." not in shown.split(FIRST)[1] and max(map(len, shown.splitlines())) <= 80


def test_version():
    shown = femtorque("--version")
    assert shown.returncode == 0 and shown.stdout == "femtorque 0.3.0\n"


@pytest.mark.parametrize("arguments, words", [
    (["chek", MECHANISM], "femtorque: No such command 'chek'. Did you mean 'check'? Try `femtorque --help`\n"),
    (["check"], "Missing argument 'MECH'"),
    (["check", MECHANISM, "--bogus"], "No such option: --bogus"),
    (["stream", MECHANISM, MOTION], "Missing option '--port'"),
    (["stream", MECHANISM, MOTION, "--port", "x", "--resume", "many"], "'--resume': must be a whole number; try"),
    (["check", "mechanisms/absent.toml"], "mechanisms/absent.toml"),
    (["check", "pyproject.toml"], "pyproject.toml"),
    (["stream", MECHANISM, MOTION, "--port", "/dev/ttyNOPE"], "/dev/ttyNOPE: port: cannot be opened"),
    (["stream", MECHANISM, MOTION, "--port", "socket://localhost:1"],
     "a virtual board there: `femtorque hil serve MECH`"),
    (["stream", MECHANISM, MOTION, "--port", "socket://localhost"], "cannot be opened (host or port is missing)"),
    (["stream", MECHANISM, MOTION, "--port", "socket://nowhere.invalid:1"], "cannot be opened ("),
    (["plot", "absent.mcap"], "absent.mcap: log: does not exist"),
    (["plot", "hil"], "hil: log: is a directory"),
    (["torque", MECHANISM, MOTION, "-o", "/tmp/x.csv", "--figure", "x.xyz"],
     "x.xyz: figure: must end in one of .png, .svg, .pdf"),
    (["plan", MECHANISM, "absent.toml", "-o", "/tmp/x.csv", "--figure", "x.xyz"], "x.xyz: figure: must end in one of"),
    (["torque", MECHANISM, MOTION, "-o", "/tmp/x.csv", "--wrench", "hand", "1"],
     "'--wrench' requires 7 arguments; try `femtorque torque --help`"),
    (["verify", MECHANISM, "--report", "absent/x.html"],
     "absent/x.html: report: cannot be written: there is no folder absent"),
    (["torque", MECHANISM, MECHANISM, "-o", "/tmp/x.csv"], MECHANISM),
    (["torque", MECHANISM, MOTION, "-o", "absent/x.csv"], "absent/x.csv: there is no folder absent"),
    (["generate", MECHANISM, "-o", "pyproject.toml"], "pyproject.toml: File exists"),
    (["hil", "run", MECHANISM], "Missing argument 'TRAJ'; try `femtorque hil run --help`"),
    (["torque", MECHANISM, MOTION, "-o", "/tmp/x.csv", "--backend", "chip", "--precision", "double"],
     "the chip computes in single precision"),
    (["torque", MECHANISM, MOTION, "-o", "/tmp/x.csv", "--precision", "single"],
     "the reference always computes in double precision"),
    (["home", MECHANISM, *NOWHERE], "/dev/ttyNOPE: port: cannot be opened"),
    (["home", MECHANISM, *NOWHERE, "--at", "shoulder"], "--at = 'shoulder': must be JOINT=POSITION, a number"),
    (["identify", MECHANISM, *NOWHERE, "-j", "sholder"], "no such joint; did you mean 'shoulder'?"),
    (["identify", MECHANISM, *NOWHERE, "--weighed", "2"], "--weighed: does not go with the other"),
    (["identify", MECHANISM, *NOWHERE, "--without"], "--without: does not go with the other"),
    (["identify", MECHANISM, *NOWHERE, "--payload", "weight", "--weighed", "0"], "--weighed = 0.0: must be positive"),
    (["identify", MECHANISM, *NOWHERE, "--payload", "weight", "--weighed", "2"],
     "--weighed = 2.0: asks for the payload to be fixed on; run it at a terminal"),
    (["float", MECHANISM, *NOWHERE, "--friction", "90"], "femtorque: '--friction': must be at most 80; try"),
    (["jog", MECHANISM, "sholder", *NOWHERE], "joint = 'sholder': no such joint; did you mean 'shoulder'?"),
    (["float", MECHANISM, *NOWHERE], "/dev/ttyNOPE: port: cannot be opened"),
])
def test_bad_input_is_status_2_and_one_line(here, arguments, words):
    plain, as_json = here(*arguments), here(*arguments, "--json")
    assert plain.returncode == as_json.returncode == 2
    assert plain.stdout == ""
    assert re.match(r"femtorque( \w+)?: ", plain.stderr) and plain.stderr.count("\n") == 1 and words in plain.stderr
    told = json.loads(as_json.stdout)
    assert as_json.stdout.count("\n") == 1 and words.removeprefix("femtorque: ").rstrip("\n") in told["error"]
    assert told["faults"] == []


def test_output_of_libraries_and_child_processes_does_not_reach_the_json():
    code = (
        "import femtorque, subprocess, femtorque.codegen.verify.check\n"
        "examine = femtorque.codegen.verify.check.examine\n"
        "def noisy(m, *_):\n"
        "    print('from a library'); subprocess.run(['echo', 'from a child']); return examine(m)\n"
        "femtorque.codegen.verify.check.examine = noisy\n"
        f"femtorque.main(['check', '{MECHANISM}', '--json'])\n")
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert json.loads(shown.stdout)["name"] == "three-link" and shown.stdout.count("\n") == 1
    assert "from a library" in shown.stderr and "from a child" in shown.stderr


@pytest.mark.parametrize("error, status, line", [
    ("femtorque.codegen.common.errors.Refused('the answer is no')", 1, "femtorque: the answer is no\n"),
    ("KeyboardInterrupt()", 1, "femtorque: interrupted\n"),
    ("MemoryError('unable to allocate 7 TiB')", 1, "femtorque: there is not enough memory: unable to allocate 7 TiB\n"),
])
def test_a_no_is_status_1_and_one_line(error, status, line):
    code = (
        "import femtorque.command_line, femtorque.codegen.verify.check, femtorque.codegen.common.errors\n"
        f"def no(*_): raise {error}\n"
        "femtorque.codegen.verify.check.examine = no\n"
        f"femtorque.main(['check', '{MECHANISM}'])\n")
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (shown.returncode, shown.stdout, shown.stderr) == (status, "", line)


def test_an_unexpected_error_is_one_line_that_says_where_the_traceback_is(tmp_path):
    code = (
        "import femtorque, femtorque.codegen.verify.check\n"
        "def broken(*_): raise ZeroDivisionError('of its own\\nmaking')\n"
        "femtorque.codegen.verify.check.examine = broken\n"
        f"femtorque.main(['check', '{MECHANISM}'])\n")
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                           env=os.environ | {"TMPDIR": str(tmp_path)})
    assert shown.returncode == 1 and shown.stderr.count("\n") == 1
    assert "unexpected ZeroDivisionError: of its own making; the traceback is in " in shown.stderr
    log = Path(shown.stderr.split()[-1])
    assert log.parent == tmp_path and "in broken" in log.read_text()


def test_tracebacks_do_not_pile_up_and_other_files_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "femtorque-own.log").write_text("somebody's")
    for n in range(12):
        line, status = command_line._explain(ZeroDivisionError(str(n)))
        last = Path(line.split()[-1])
        os.utime(last, ns=(n, n))
        assert status == 1 and last.is_file()
    assert len(list(tmp_path.iterdir())) == command_line.TRACEBACKS + 1 and (tmp_path / "femtorque-own.log").is_file()


def test_an_error_line_holds_nothing_that_a_terminal_obeys(capsys):
    status = command_line._run(["check", "]0;owned.toml"], lambda answer: None)
    assert status == 2 and "?]0;owned?.toml" in capsys.readouterr().err


def test_a_reader_that_leaves_early_is_no_error():
    shown = subprocess.run(f"{sys.executable} femtorque check {MECHANISM} | true", shell=True, cwd=ROOT,
                           capture_output=True, text=True)
    assert shown.stderr == ""


def test_numbers_that_are_not_finite_and_arrays_become_json():
    data = {"a": np.array([1.0, np.nan]), "b": np.float32(0.5), "c": float("inf"), "d": Path("x"), "e": b"\1\xff"}
    assert json.loads(dump(Answer(data))) == {"a": [1.0, None], "b": 0.5, "c": None, "d": "x", "e": "01ff"}


@pytest.mark.parametrize("options, precision, error", [
    ([], "double", 1e-5), (["--backend", "c"], "single", 1e-4),
    (["--backend", "c", "--precision", "double"], "double", 1e-5),
])
def test_torque_writes_a_row_a_tick(here, tmp_path, options, precision, error):
    out = tmp_path / "tau.csv"
    shown = here("torque", MECHANISM, MOTION, "-o", out, "--json", *options)
    assert shown.returncode == 0, shown.stderr
    told, rows = json.loads(shown.stdout), out.read_text().splitlines()
    assert told["ticks"] == len(rows) - 1 == 3000
    assert rows[0] == "t,shoulder,elbow,wrist" and rows[1].startswith("0.0005,")
    assert told["precision"] == precision and 0.0 < told[f"max_error_{precision}"] < error
    assert ("max_error_single" in told) != ("max_error_double" in told)


def test_torque_says_that_the_reference_is_double(here, tmp_path):
    shown = here("torque", MECHANISM, MOTION, "-o", tmp_path / "tau.csv")
    assert "3000 ticks by reference, in double precision" in shown.stdout


def test_torque_in_one_mode_equals_the_torque_of_the_motion_in_this_mode(here, tmp_path):
    """In the motion of this file, the arm carries an object from 0.9 to 2.1 s."""
    arm, out, tau = "mechanisms/pick_and_place", tmp_path / "tau.csv", {}
    for mode in (None, "empty", "loaded"):
        shown = here("torque", f"{arm}.toml", f"{arm}.csv", "-o", out, "--force", *(mode and ("--mode", mode) or ()))
        assert shown.returncode == 0, shown.stderr
        tau[mode] = np.loadtxt(out, delimiter=",", skiprows=1)
    holds = (0.9 < tau[None][:, 0]) & (tau[None][:, 0] < 2.1)
    for mode, within in (("empty", ~holds), ("loaded", holds)):
        assert np.array_equal(np.max(np.abs(tau[mode] - tau[None]), axis=1) < 1e-9, within)
    shown = here("torque", f"{arm}.toml", f"{arm}.csv", "-o", out, "--force", "--mode", "laoded")
    assert shown.returncode == 2 and "--mode = 'laoded': no such mode; did you mean 'loaded'?" in shown.stderr


def test_torque_of_the_chip_is_that_of_this_computer_to_the_last_digit(here, tmp_path):
    for backend in ("c", "chip"):
        shown = here("torque", MECHANISM, MOTION, "-o", tmp_path / backend, "--backend", backend)
        assert shown.returncode == 0, shown.stderr
    assert (tmp_path / "c").read_bytes() == (tmp_path / "chip").read_bytes()


@pytest.fixture
def brief(tmp_path):
    rig.short_motion().save(tmp_path / "brief.csv")
    return tmp_path / "brief.csv"


def test_hil_reports_the_fault_that_ended_a_motion(here, brief):
    shown = here("hil", "run", MECHANISM, brief, "--fault", "encoder-jump", "--json")
    told = json.loads(shown.stdout)
    assert shown.returncode == 1 and told["faults"] and told["outputs_safe"] is True
    wrong = here("hil", "run", MECHANISM, brief, "--fault", "bogus")
    assert wrong.returncode == 2 and "faults: estop, " in wrong.stderr


def test_build_reports_sizes_and_digest(here):
    shown = here("build", MECHANISM, "--json")
    assert shown.returncode == 0, shown.stderr
    told = json.loads(shown.stdout)
    assert Path(told["image"]).stat().st_size <= told["flash_bytes"]
    assert told["ram_bytes"] > 0 and told["stack_bytes"] > 0 and len(told["digest"]) == 64


def test_a_second_build_answers_the_same_without_emitting_compiling_or_running():
    first = femtorque("build", MECHANISM)
    code = (
        "import atexit, sys, femtorque\n"
        "heavy = {'femtorque.codegen.emit.sources', 'femtorque.hil.cost.measurement', 'scipy', "
        "'unicorn', 'platformio',\n"
        "         'elftools', 'jinja2'}\n"
        "atexit.register(lambda: print(*heavy & set(sys.modules), file=sys.stderr))\n"
        f"femtorque.main(['build', '{MECHANISM}'])\n")
    again = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert first.returncode == again.returncode == 0 and "instructions per tick" in first.stdout
    assert again.stdout == first.stdout and again.stderr == "\n"


def test_build_tells_of_the_image_before_its_cost_is_counted(here, tmp_path, monkeypatch):
    """The cost of an image is counted once, for images in any folder."""
    from femtorque.codegen.toolchain import build_cache
    from femtorque.hil import cost
    from femtorque.hil.cost import Cost

    said = []

    def counted(mechanism, built, feedforward, on_progress):
        said.append(built.image.stat().st_size)
        return Cost(1, 2, 3.0, 4, 5, 6, 0, 11, 100, 15_270, ("the end",))

    # an unknown version, so that the build cache stores no cost
    monkeypatch.setattr(build_cache, "_version", lambda package: str(tmp_path))
    monkeypatch.setattr(cost, "measure", counted, raising=False)
    for folder in ("a", "b"):
        shown = here("build", MECHANISM, "-o", tmp_path / folder)
        assert shown.returncode == 0 and "a tick takes at most 11 of 100 cycles, margin 89.0%" in shown.stdout
        assert "bound of the code that no tick ran\nthat fits into ticks at up to 15.2 kHz\nnot gone " \
            "through to its end: the end" in shown.stdout
        assert shown.stderr.count("is built; what its ticks cost is being counted") == (folder == "a")
    assert len(said) == 1 and said[0] > 1000
    assert "ticks fit at up to 15.2 kHz, as `femtorque build` has found" in here("check", MECHANISM).stdout
    assert json.loads(here("check", MECHANISM, "--json").stdout)["most_hz"] == 15_270


def test_ctrl_c_while_the_program_still_starts_is_one_line():
    code = ("import sys\nclass Hurried:\n    def find_spec(self, name, path=None, target=None):\n"
            "        if name == 'femtorque.command_line':\n            raise KeyboardInterrupt\n"
            "sys.meta_path.insert(0, Hurried())\nimport femtorque\nfemtorque.main(['check', 'arm.toml'])")
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (shown.returncode, shown.stderr) == (1, "femtorque: interrupted\n")


def test_input_nested_beyond_pythons_depth_gets_one_line():
    assert command_line._explain(RecursionError("maximum recursion depth exceeded")) == (
        "what was given is nested too deeply", 2)


def test_a_mesh_that_cannot_be_drawn_is_one_line(tmp_path):
    (tmp_path / "arm.urdf").write_text(
        '<robot name="arm"><link name="base"/><link name="hand"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
        'izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual><geometry><mesh filename="hand.dae"/></geometry></visual>'
        '</link><joint name="j" type="revolute"><parent link="base"/><child link="hand"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>')
    (tmp_path / "hand.dae").write_text("<")
    shown = subprocess.run([sys.executable, "-m", "femtorque", "check", "arm.urdf", "--page", "arm.html"], cwd=tmp_path,
                           capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert shown.stderr.count("\n") == 1 and shown.stderr.startswith("femtorque: ")
    assert "hand.dae: cannot be read (" in shown.stderr and (tmp_path / "arm.html").is_file()
