"""Tests that commands in README and docs work, that links have targets, and that reference pages are up to date."""

import json
import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from serial.tools import list_ports

import femtorque
from femtorque.codegen.mechanism import load_mechanism
from femtorque.host.link import Configuration
from tests.codegen.mechanism.test_urdf import robot
from tests.host.flash.test_flash import OPENOCD, tool
from tests.support.plugged import Hand, ctrl_c, plugged_in
from tests.support.suite import HANG, ROOT
from tests.whole.test_wheel import copied

README = (ROOT / "README.md").read_text(encoding="utf-8")
MORE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "firmware" / "README.md", ROOT / "codegen" / "THEORY.md",
         *sorted((ROOT / "docs").glob("*.md"))]


def typed(text):
    """Return every command of the indented blocks, without the comment behind it."""
    lines = re.findall(r"^    ((?:femtorque|make|git|python3|pip) .*)$", text, re.MULTILINE)
    return [line.split("  #")[0].strip() for line in lines]


def block(language):
    return re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)[1]


def section(title):
    return (README + MORE).split(f"## {title}\n")[1].split("\n## ")[0]


# Each command of the README and of docs/commands.md is in one of these lists. A test below runs each list.
MAKE = typed(README.split("## Ten minutes")[0])
CLONE, INSTALL, FETCH, *TOUR = typed(section("Ten minutes"))
SERVOS, FAULT = TOUR.pop(), TOUR.pop()
PORTS, MONITOR, *DESK = typed(section("With a board"))
FLASH, BRINGUP, HOME, IDENTIFY, STREAM = typed(section("A real board"))
LONG, BOARD = [BRINGUP, IDENTIFY], [FLASH, PORTS, MONITOR, HOME, STREAM]
REST = [FAULT, SERVOS, *typed(section("Torques, C and figures")), *typed(section("Closed and changing mechanisms"))]


def test_every_command_is_executed_by_a_test():
    assert sorted(typed(README + MORE)) == sorted([*MAKE, CLONE, INSTALL, FETCH, *TOUR, *BOARD, *LONG, *DESK, *REST])
    assert [line.split()[1] for line in MAKE] == ["demo", "test"]
    assert INSTALL.startswith("python3 -m venv") and FETCH.startswith("pip install example-robot-data && cp ")
    assert [line.split()[1] for line in TOUR] == [
        "init", "check", "plan", "build", "hil", "plot", "hil", "home", "stream", "stream"]
    assert [line.split()[1] for line in BOARD] == ["flash", "ports", "monitor", "home", "stream"]
    assert [line.split()[1] for line in DESK] == ["build", "hil"] and "--fault" in FAULT
    assert SERVOS.split()[1:4] == ["hil", "run", "mechanisms/so101_sts.toml"]
    assert all(line.startswith("femtorque ") for line in REST)


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Return a working folder like a reader's, with the checkout's examples and images, and pip's URDF."""
    folder = tmp_path_factory.mktemp("desk")
    (ROOT / "build").mkdir(exist_ok=True)
    for name in ("mechanisms", "build"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").mkdir()
    for place in (folder, folder / ".venv"):
        (place / "so101.urdf").write_bytes(robot("so101.urdf").read_bytes())
    (folder / "reach.toml").write_text(block("toml"))
    return folder


@pytest.fixture
def run(desk, monkeypatch, capfd):
    """Type an unchanged line of the README, in the reader's folder and in this process. Return the output."""
    monkeypatch.chdir(desk)

    def typed_in(line, status=0):
        words = shlex.split(line)
        assert words[0] == "femtorque"
        with pytest.raises(SystemExit) as left:
            femtorque.main(words[1:])
        shown = capfd.readouterr()
        assert left.value.code == status, f"{line}\n{shown.out}\n{shown.err}"
        return shown.out

    return typed_in


@pytest.fixture
def so101(desk, run):
    """Return the robot that the first steps of the tour produce."""
    if not (desk / "reach.csv").is_file():
        for line in TOUR[:3]:
            run(line)
    return load_mechanism(desk / "so101.toml")


@contextmanager
def served(line, desk):
    """Run a README command that serves a board, at a free port. Yield its address; the result is its ticks."""
    board = subprocess.Popen([sys.executable, ROOT / "femtorque", *shlex.split(line.replace("5555", "0"))[1:]],
                             cwd=desk,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    at = SimpleNamespace(port=board.stderr.readline().strip(), ticks=0)
    try:
        yield at
    finally:
        board.send_signal(signal.SIGINT)
        said, _ = board.communicate(timeout=HANG)
    assert board.returncode == 0
    at.ticks = int(said.removesuffix(" ticks\n"))


def at(port, line):
    """Return a command of the README, with this board's port and with any free port for the page."""
    return line.replace("socket://localhost:5555", port).replace("8420", "0")


PLAYED = r"done: 3.000 s, 751 knots in \d+ frames"


def test_the_tour_from_a_urdf_to_an_arm_that_moves(desk, run, patient):
    """Steps 1 to 4 are typed unchanged. The last moves the arm on a board whose time the host advances."""
    subprocess.run(FETCH.split("&& ")[1], shell=True, cwd=desk, check=True)
    *before, serve, home, dry_run, play = TOUR
    said = {line.split()[1]: run(line) for line in before}
    assert "shoulder_lift" in said["check"] and "warning" not in said["check"]
    assert "every limit kept" in said["plan"] and (desk / "reach.png").stat().st_size > 20_000
    assert said["hil"].startswith("done; ") and "Tracking was worst at" in said["plot"]
    assert (desk / "run.report.html").is_file()
    with served(serve, desk) as board:
        run(at(board.port, home))
        dry = run(at(board.port, dry_run))
    assert dry.startswith("ready to move: ") and "nothing was armed" in dry and board.ticks > 100
    with plugged_in(load_mechanism(desk / play.split()[2])) as own:
        run(at(own.url, home))
        for _ in range(2):  # the second motion starts at the end pose of the first motion
            assert re.match(PLAYED, run(at(own.url, play)))


def test_a_board_that_is_flashed_and_plays_the_motion_of_the_tour(desk, run, so101, tmp_path, monkeypatch):
    """The test types all lines except bring-up and identification. The virtual board replaces the real board."""
    tool(tmp_path, "openocd", OPENOCD)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with plugged_in(so101) as board:
        said = {}
        for line in BOARD:
            if line.split()[1] == "monitor":
                ctrl_c(board, 0.5)
            said[line.split()[1]] = run(line.replace("--speed 0.2", "--speed 0.8"))
        assert board.outputs_safe()
    digest = Configuration.of(so101).digest.hex()
    assert (f"the board reports digest {digest[:16]}" in said["flash"]
            and f"so101 on f405rg-6, digest {digest[:8]}" in said["ports"])
    assert "DISARMED" in said["monitor"] and said["stream"].startswith("done: 0.420 s, 106 knots in 106 frames (0 "
                                                                       "resent)")
    assert said["home"].count("start, now at 0.0000 rad") == 6


@pytest.mark.bench
@pytest.mark.parametrize("line", LONG, ids=lambda line: line.split()[1])
def test_an_arm_that_is_brought_up_and_measured(run, so101, monkeypatch, line):
    with plugged_in(so101) as board:
        monkeypatch.setattr(sys, "stdin", Hand(board, push=12.0))
        if "identify" in line:
            run("femtorque home so101.toml --port auto")
        said = run(line)
    if "bringup" in line:
        # the bring-up finds no problem, although the arm sinks during the first probe until friction holds it
        assert said == "".join(f"{joint.name}: good\n" for joint in so101.streamed)
    for joint in so101.streamed if "identify" in line else ():
        found = re.search(rf"^{joint.name}: viscous friction (\S+) .*Coulomb friction (\S+) ", said, re.MULTILINE)
        assert float(found[2]) == pytest.approx(joint.friction.coulomb, rel=0.1), said


@pytest.mark.bench
def test_a_board_on_the_desk_plays_against_the_plant_here(desk, run):
    run(DESK[0])
    board = subprocess.Popen([sys.executable, ROOT / "femtorque", "hil", "serve",
                              "mechanisms/three_link.toml", "--port", "0", "--pil"],
                             cwd=desk, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert run(DESK[1].replace("/dev/ttyUSB0", board.stderr.readline().strip())).startswith("done; ")
    finally:
        board.send_signal(signal.SIGINT)
        board.communicate(timeout=HANG)


@pytest.mark.bench
@pytest.mark.parametrize("line", REST)
def test_the_rest_of_the_commands(desk, line):
    words = [sys.executable, str(ROOT / "femtorque"), *shlex.split(line)[1:]]
    done = subprocess.run([*words, "--json"], cwd=desk, capture_output=True, text=True, timeout=1800)
    assert done.returncode == (line == FAULT), done.stderr
    if line == FAULT:
        assert json.loads(done.stdout)["outputs_safe"] is True


def test_the_python_of_the_readme(fake, monkeypatch, tmp_path):
    """The unchanged code runs. A simulated board answers at the port `auto`."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(list_ports, "comports", lambda: [SimpleNamespace(device="/dev/ttyUSB7", description="", vid=1)])
    script = tmp_path / "readme.py"
    script.write_text(block("python").replace("run.mcap", str(tmp_path / "run.mcap")))
    runpy.run_path(str(script))
    assert len(fake.received) == 751 and (tmp_path / "run.mcap").is_file()


# -- make --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path):
    """Return an otherwise empty checkout whose environment is complete. The checkout uses the present environment."""
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    for stamp in (".demo", ".test"):
        (tmp_path / ".venv" / stamp).touch()
    return tmp_path


def test_a_clone_can_be_installed(tmp_path):
    """In the command, <clone address> may be replaced by any address of the repository."""
    line = CLONE.replace("<clone address>", shlex.quote(str(ROOT))) + " && ls pyproject.toml"
    done = subprocess.run(["bash", "-ec", line], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split() == ["pyproject.toml"], done.stderr


def test_make_test_runs_the_tests_that_are_no_campaigns(checkout):
    (checkout / "tests").mkdir()
    (checkout / "tests"
     / "test_it.py").write_text("import pytest\ndef test_good(): pass\ndef test_bad(): raise AssertionError\n"
                                                   "@pytest.mark.bench\ndef test_long(): raise AssertionError\n")
    done = subprocess.run(MAKE[1].split(), cwd=checkout, capture_output=True, text=True)
    assert done.returncode != 0 and "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.bench
def test_an_installation_by_hand_inits_from_the_urdf_of_a_package(tmp_path):
    """The commands need nothing but a checkout."""
    lines = [INSTALL, FETCH, *TOUR[:2]]
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(["bash", "-ec", "\n".join(lines)], cwd=copied(tmp_path / "checkout"), env=environment,
                          capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "so101.toml: edit it" in done.stdout and "shoulder_lift" in done.stdout


@pytest.mark.bench
def test_make_demo_prints_the_table_and_draws_the_figure(checkout):
    copied(checkout)
    (checkout / ".venv" / ".demo").touch()  # newer than the copied files, so that make does not install again
    done = subprocess.run(MAKE[0].split(), cwd=checkout, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "shoulder" in done.stdout and list(checkout.rglob("*.png"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            heads = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}, target


def test_reference_pages_equal_the_tables():
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    for name, text in made.items():
        assert (ROOT / "docs"
                / name).read_text(encoding="utf-8") == text, f"docs/{name} is old: python docs/generate.py"


def test_the_readme_says_early_which_motors_and_that_no_hardware_has_run_it():
    """The README states before its first command which motors are supported, and that no hardware has been tested. The
    tour says that the motors in its files are not real products."""
    before, after = " ".join(README.split()).split("## Ten minutes")
    first = before.split(" make demo")[0]
    assert "**brushed** DC motors" in first and "femtorque has not run on real hardware" in first
    tour = after.split("**2.")[0]
    assert "`init` chooses are invented" in tour and "`--motor NAME` uses a motor" in tour


def test_the_picture_comes_first():
    assert any(p.startswith("![") for p in README.split("\n\n")[:3])


def test_the_waypoints_of_the_page_on_motions_are_planned(tmp_path):
    from femtorque.host.plan import planning as plan, waypoints

    page = (ROOT / "docs" / "motions.md").read_text(encoding="utf-8")
    (tmp_path
     / "points.toml").write_text(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1].replace("rpy =", "# rpy ="))
    arm = load_mechanism(ROOT / "mechanisms" / "three_link.toml")
    found = plan.plan(arm, waypoints.load_waypoints(tmp_path / "points.toml", arm))
    assert [name for _, name in found.arrivals] == ["waypoint.1", "waypoint.2", "waypoint.3"]
