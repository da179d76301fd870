"""What README and docs tell a reader to type works, their links lead somewhere, and the reference pages are up to date."""

import json
import re
import runpy
import shlex
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
import typer
from serial.tools import list_ports

import femtorque
from codegen.mechanism import Mechanism
from host.configuration import Configuration
from tests.codegen.test_urdf import robot
from tests.host.conftest import ROOT
from tests.host.tcp_board import TcpBoard

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "firmware" / "README.md", ROOT / "codegen" / "THEORY.md", *sorted((ROOT / "docs").glob("*.md"))]
# what sets itself up or takes hardware; each has tests of its own
ELSEWHERE = ("make ", "python3 -m venv", "pip install", *(f"femtorque {verb}" for verb in ("flash", "bringup", "home", "float",
                                                                                        "identify")))


def typed(text=README):
    """Every command in a block of indented lines, without its comment."""
    lines = re.findall(r"^    ((?:femtorque|make|python3|pip) .*)$", text, re.MULTILINE)
    return [line.split("  #")[0].strip() for line in lines]


def block(language):
    return re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)[1]


def section(title):
    return README.split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """The folder of someone who follows the README: the checkout's examples, and the URDF where pip puts it."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "mechanisms").symlink_to(ROOT / "mechanisms")
    (folder / "venv").mkdir()
    (folder / "venv" / "so101.urdf").write_bytes(robot("so101.urdf").read_bytes())
    (folder / "reach.toml").write_text(block("toml"))
    return folder


@pytest.fixture
def run(desk, monkeypatch, capfd):
    """A line as it stands there, in the reader's folder; what it prints. In this process, which is quicker."""
    monkeypatch.chdir(desk)

    def typed_in(line):
        words = shlex.split(line)
        assert words[0] == "femtorque"
        with pytest.raises(SystemExit) as left:
            femtorque.main(words[1:])
        shown = capfd.readouterr()
        assert left.value.code == 0, f"{line}\n{shown.out}\n{shown.err}"
        return shown.out

    return typed_in


def test_the_tour_from_a_urdf_to_an_arm_that_moves(desk, run):
    """Steps 1 to 4, line by line, as they stand there."""
    lines = [line for line in typed(section("Ten minutes")) if not line.startswith("python3 -m venv")]
    fetch, *lines = lines
    assert fetch.startswith("pip install example-robot-data && cp ")
    subprocess.run(fetch.split("&& ")[1], shell=True, cwd=desk, check=True)
    serve = next(line for line in lines if "--serve" in line)
    before, after = lines[:lines.index(serve)], [x for x in lines[lines.index(serve) + 1:] if "--fault" not in x]
    said = {line.split()[1]: run(line) for line in before}
    assert set(said) == {"init", "check", "plan", "build", "hil", "plot"}
    assert "shoulder_lift" in said["check"] and "warning" not in said["check"]
    assert "every limit kept" in said["plan"] and (desk / "reach.png").stat().st_size > 20_000
    assert said["hil"].startswith("done; ") and "Tracking was worst at" in said["plot"] and (desk / "run.html").is_file()

    board = subprocess.Popen([sys.executable, ROOT / "femtorque.py", *shlex.split(serve.replace("5555", "0"))[1:]], cwd=desk,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:  # two more words let a busy machine be late
        port = board.stderr.readline().strip()
        dry, played = (run(line.replace("socket://localhost:5555", port).replace("8420", "0") + patience)
                       for line, patience in zip(after, ("", " --resume 99"), strict=True))
    finally:
        board.send_signal(signal.SIGINT)
        board.communicate(timeout=30)
    assert dry.startswith("ready to move: ") and "nothing was armed" in dry
    assert re.match(r"done: 3.000 s, 751 knots in \d+ frames", played)


def test_the_real_board_commands_on_a_board_that_pretends(desk, run, monkeypatch):
    """`--port auto` finds a board by what it carries; the motion of the tour, slowly."""
    if not (desk / "so101.toml").is_file():
        run("femtorque init so101 --from venv/so101.urdf --board f405rg-6")
        run("femtorque plan so101.toml reach.toml -o reach.csv --back")
    board = TcpBoard(Configuration.of(Mechanism.load(desk / "so101.toml")))
    monkeypatch.setattr(list_ports, "comports", lambda: [SimpleNamespace(device=board.port, description="board", vid=1)])
    lines = [line for line in typed(section("A real board")) if "so101" in line or line == "femtorque ports"]
    lines = [line for line in lines if not line.startswith(ELSEWHERE)]
    assert [line.split()[1] for line in lines] == ["ports", "monitor", "stream"]
    for line in lines:
        run(line.replace("--speed 0.2", "--speed 0.8") + (" --json" if " monitor " in line else ""))
    board.close()
    assert board.board.received and (desk / "run.mcap").is_file()


def test_the_python_of_the_readme(monkeypatch, tmp_path):
    """As it stands there; the board that `auto` finds only pretends."""
    monkeypatch.chdir(ROOT)
    board = TcpBoard(Configuration.of(Mechanism.load(ROOT / "mechanisms" / "three_link.toml")))
    monkeypatch.setattr(list_ports, "comports", lambda: [SimpleNamespace(device=board.port, description="board", vid=1)])
    script = tmp_path / "readme.py"
    script.write_text(block("python").replace("run.mcap", str(tmp_path / "run.mcap")))
    runpy.run_path(str(script))
    board.close()
    assert len(board.board.received) == 751 and (tmp_path / "run.mcap").is_file()


@pytest.mark.parametrize("line", [line for line in typed() if line.startswith("femtorque")])
def test_every_command_can_be_typed(line):
    words = shlex.split(line)[1:]
    typer.main.get_command(femtorque.app).commands[words[0]].make_context(words[0], words[1:])


def test_every_command_is_executed_by_a_test():
    """Here, in the bench below, or by tests of its own."""
    here_too = [*typed(section("Ten minutes")), *typed(section("A real board"))]
    for line in typed():
        assert line in here_too or line in REST or line.startswith(ELSEWHERE), line


REST = [line for line in [*typed(section("More")), *typed(section("Closed and changing mechanisms")), *typed(section("Ten minutes"))]
        if line.startswith("femtorque") and ("mechanisms/" in line or "reproduce" in line or "verify" in line)]


@pytest.mark.bench
@pytest.mark.parametrize("line", REST)
def test_the_rest_of_the_commands(desk, line):
    if "so101.urdf" in line:
        (desk / "so101.urdf").write_bytes((desk / "venv" / "so101.urdf").read_bytes())
    if "--fault" in line:
        words = [sys.executable, str(ROOT / "femtorque.py"), *shlex.split(line)[1:], "--json"]
        done = subprocess.run(words, cwd=desk, capture_output=True, text=True, timeout=300)
        assert done.returncode == 1 and json.loads(done.stdout)["outputs_safe"] is True
        return
    words = [sys.executable, str(ROOT / "femtorque.py"), *shlex.split(line)[1:]]
    done = subprocess.run(words, cwd=desk, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr


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


def test_reference_pages_are_those_of_the_tables():
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    for name, text in made.items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, f"docs/{name} is old: python docs/generate.py"


def test_the_picture_comes_first():
    paragraphs = README.split("\n\n")
    assert any(p.startswith("![") for p in paragraphs[:3])
    assert [line.split()[1] for line in typed(README.split("## Ten minutes")[0])] == ["demo", "test"]


def test_the_waypoints_of_the_page_on_motions_are_planned(tmp_path):
    from host import plan, waypoints

    page = (ROOT / "docs" / "motions.md").read_text(encoding="utf-8")
    (tmp_path / "points.toml").write_text(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1].replace("rpy =", "# rpy ="))
    arm = Mechanism.load(ROOT / "mechanisms" / "three_link.toml")
    found = plan.plan(arm, waypoints.load(tmp_path / "points.toml", arm))
    assert [name for _, name in found.arrivals] == ["waypoint.1", "waypoint.2", "waypoint.3"]
