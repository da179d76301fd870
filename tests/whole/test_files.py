"""Tests that no command destroys a file by accident, or when the command is interrupted."""

import csv
import errno
import io
import os
from pathlib import Path

import pytest

from femtorque.codegen.common import BadInput, output
from femtorque.codegen.mechanism import load_mechanism, set_joint
from femtorque.codegen.toolchain import platformio
from femtorque.host.link import Configuration
from femtorque.host.record import Log
from tests.support.fake_board import FakeBoard, ManualClock
from tests.support.suite import ROOT

MECHANISM, MOTION = ROOT / "mechanisms" / "three_link.toml", ROOT / "mechanisms" / "three_link.csv"
PORT = ("--port", "/dev/ttyUSB7")


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "way.csv").write_text("shoulder\n-0.7\n")
    (tmp_path / "played.csv").write_bytes(MOTION.read_bytes())
    return tmp_path


@pytest.fixture
def logged(desk, fake):
    write_log(desk / "old.mcap")
    return desk / "old.mcap"


def write_log(path):
    configuration = Configuration.of(load_mechanism(MECHANISM))
    board = FakeBoard(ManualClock(), configuration)
    with Log(path, configuration) as log:
        for tick in range(1, 4):
            board.tick = 10 * tick
            log.write(board.status())


def verbs(desk):
    """Return verbs that write each kind of file. The options come before the file's name."""
    out = desk / "made"
    return {
        "plan": (["plan", MECHANISM, desk / "way.csv", "-o", f"{out}.csv"], f"{out}.csv"),
        "plan npz": (["plan", MECHANISM, desk / "way.csv", "-o", f"{out}.npz"], f"{out}.npz"),
        "plan --figure": (["plan", MECHANISM, desk / "way.csv", "-o", desk / "free.csv", "--figure", f"{out}.png"],
                          f"{out}.png"),
        "plan --page": (["plan", MECHANISM, desk / "way.csv", "-o", desk / "free.csv", "--page", f"{out}.html"],
                        f"{out}.html"),
        "check --page": (["check", MECHANISM, "--page", f"{out}.html"], f"{out}.html"),
        "torque": (["torque", MECHANISM, MOTION, "-o", f"{out}.csv"], f"{out}.csv"),
        "torque --figure": (["torque", MECHANISM, MOTION, "-o", desk / "free.csv", "--figure", f"{out}.svg"],
                            f"{out}.svg"),
        "generate": (["generate", MECHANISM, "-o", out], out / "README.md"),
        "generate --library": (["generate", MECHANISM, "-o", out, "--library"], out / "library.json"),
        "plot html": (["plot", desk / "old.mcap", "-o", f"{out}.html"], f"{out}.html"),
        "plot png": (["plot", desk / "old.mcap", "-o", f"{out}.png"], f"{out}.png"),
        "plot pdf": (["plot", desk / "old.mcap", "-o", f"{out}.pdf"], f"{out}.pdf"),
        "plot csv": (["plot", desk / "old.mcap", "-o", f"{out}.csv"], f"{out}.csv"),
        "reproduce": (["reproduce", "isobe-figs-1-3", "-o", out], out / "reproduce.html"),
        "stream --log": (["stream", MECHANISM, MOTION, *PORT, "--rezero", "--log", f"{out}.mcap"], f"{out}.mcap")}


@pytest.mark.parametrize("verb", verbs(Path()))
def test_a_changed_file_is_replaced_only_with_force_and_only_if_of_the_same_kind(here, desk, logged, fake, verb):
    command, file = verbs(desk)[verb]
    file = Path(file)

    def run(*more):
        (desk / "free.csv").unlink(missing_ok=True)
        return here(*command, *more)

    first = run()
    # exit status 1: the results differ from a paper's numbers
    assert first.returncode in (0, 1) and file.is_file(), first.stderr
    # an unchanged file is replaced, unless it is a log
    assert run().returncode == (2 if "--log" in verb else first.returncode)
    made = file.read_bytes()
    file.write_bytes(made + b"\n")  # a valid file like the old file, with different content
    second = run()
    assert second.returncode == 2 and "--force" in second.stderr and second.stderr.count("\n") == 1, second.stderr
    assert file.read_bytes() == made + b"\n"
    forced = run("--force")
    assert forced.returncode == first.returncode, forced.stderr
    assert file.read_bytes() != made + b"\n"
    sign = file.parent / "ft_model.h" if verb == "generate" else file
    sign.write_bytes(b"somebody's own\n")
    for more in ((), ("--force",)):
        refused = run(*more)
        assert refused.returncode == 2 and "choose another name" in refused.stderr, refused.stderr
        assert sign.read_bytes() == b"somebody's own\n"
    assert not list(desk.glob("**/*.part*"))


LOGGING = {
    "stream": lambda desk: ["stream", MECHANISM, desk / "played.csv", *PORT, "--home"],
    "hil": lambda desk: ["hil", "run", MECHANISM, desk / "played.csv"],
    "float": lambda desk: ["float", MECHANISM, *PORT, "--home", "--seconds", "0"],
}


@pytest.mark.parametrize("verb", LOGGING)
def test_a_log_never_lands_on_a_motion_and_on_a_log_only_with_force(here, desk, logged, fake, verb):
    """The CSV beside the log must not destroy a file either. The command checks all files before any motion."""
    (desk / "played.status.csv").write_bytes((desk / "played.csv").read_bytes())
    before = {p.name: p.read_bytes() for p in desk.iterdir()}
    for more in ((), ("--force",)):
        refused = here(*LOGGING[verb](desk), "--log", desk / "played.mcap", *more)
        assert refused.returncode == 2
        assert "played.status.csv: file: is there already and is not a log" in refused.stderr
    refused = here(*LOGGING[verb](desk), "--log", logged)
    assert (refused.returncode == 2 and "old.mcap: file: is there already; " in refused.stderr
            and "--force" in refused.stderr)
    assert {p.name: p.read_bytes() for p in desk.iterdir()} == before
    assert not fake.commands


def test_a_verification_lands_on_no_other_page(here, desk, logged):
    page = desk / "old.html"
    assert here("plot", logged, "-o", page).returncode == 0
    kept = page.read_bytes()
    for more in ((), ("--force",)):
        refused = here("verify", MECHANISM, "--report", page, *more)
        assert refused.returncode == 2 and "is not a page of `femtorque verify`" in refused.stderr
    page.write_text(kept.decode().replace("femtorque plot", "femtorque verify"))
    refused = here("verify", MECHANISM, "--report", page)
    assert refused.returncode == 2 and "--force" in refused.stderr


def test_the_figure_of_one_command_is_not_replaced_by_another(here, desk, logged):
    drawn = logged.with_suffix(".png")
    assert here("plan", MECHANISM, desk / "way.csv", "-o", desk / "m.csv", "--figure", drawn).returncode == 0
    kept = drawn.read_bytes()
    for more in ((), ("--force",)):
        refused = here("plot", logged, "-o", logged.with_suffix(".html"), "-o", drawn, *more)
        assert (refused.returncode == 2
                and "old.png: file: is there already and is not a figure of `femtorque plot`" in refused.stderr)
    assert drawn.read_bytes() == kept and not logged.with_suffix(".html").exists()


def test_torques_never_land_on_a_motion_of_positions_alone(here, desk):
    rows = list(csv.reader(io.StringIO(MOTION.read_text())))
    keep = [i for i, name in enumerate(rows[0]) if "." not in name]
    bare = "\n".join(",".join(row[i] for i in keep) for row in rows) + "\n"
    (desk / "bare.csv").write_text(bare)
    refused = here("torque", MECHANISM, desk / "bare.csv", "-o", desk / "bare.csv", "--force")
    assert refused.returncode == 2 and (desk / "bare.csv").read_text() == bare


def test_a_plan_never_lands_on_its_waypoints_and_init_on_nothing(here, desk):
    refused = here("plan", MECHANISM, desk / "way.csv", "-o", desk / "way.csv", "--force")
    assert refused.returncode == 2 and (desk / "way.csv").read_text() == "shoulder\n-0.7\n"
    (desk / "arm.toml").write_text("mine\n")
    refused = here("init", "arm", "-o", desk / "arm.toml")
    assert refused.returncode == 2 and "is there already" in refused.stderr
    assert (desk / "arm.toml").read_text() == "mine\n"


def test_generate_with_force_replaces_only_files_that_it_made(here, desk):
    out = desk / "c"
    assert here("generate", MECHANISM, "-o", out).returncode == 0
    made = {p.name: p.read_bytes() for p in out.iterdir()}
    (out / "README.md").write_text("what I know of this arm\n")
    (out / "main.c").write_text("my own\n")
    (out / "ft_step.c").write_bytes(made["ft_step.c"] + b"\n")
    refused = here("generate", MECHANISM, "-o", out, "--force")
    assert (refused.returncode == 2
            and f"{out / 'README.md'}: file: is there already and is not of `femtorque generate`" in refused.stderr)
    assert (out / "ft_step.c").read_bytes() != made["ft_step.c"]  # no file was written before all checks
    (out / "README.md").unlink()
    assert here("generate", MECHANISM, "-o", out, "--force").returncode == 0
    assert {p.name: p.read_bytes() for p in out.iterdir()} == made | {"main.c": b"my own\n"}


def test_build_never_lands_on_somebody_elses_folder(here, desk):
    own = desk / "src" / "application" / "main.c"
    own.parent.mkdir(parents=True)
    own.write_text("my own\n")
    refused = here("build", MECHANISM, "-o", desk)
    assert (refused.returncode == 2
            and f"{desk}: folder: is not empty and holds no project of `femtorque build`" in refused.stderr)
    assert own.read_text() == "my own\n" and not (desk / "platformio.ini").exists()


def test_a_build_that_is_broken_off_leaves_the_old_files_and_is_taken_up_again(tmp_path, monkeypatch):
    files, real, count = {"src/emitted/a.c": b"a", "platformio.ini": b"; " + platformio.SIGN}, Path.write_bytes, []

    def full(path, content):
        count.append(path.name)
        if path.name.startswith(".a.c"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as error:
        platformio._write(tmp_path, files)
    assert error.value.filename == str(tmp_path / "src/emitted/a.c")
    monkeypatch.undo()
    assert count[0].startswith(".platformio.ini") and not (tmp_path / "src/emitted/a.c").exists()
    platformio._claim(tmp_path)
    platformio._write(tmp_path, files)
    assert (tmp_path / "src/emitted/a.c").read_bytes() == b"a"


# -- broken off --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_a_broken_off_command_leaves_the_old_file_and_names_it(tmp_path, error):
    file = tmp_path / "m.csv"
    file.write_text("old")
    with pytest.raises(type(error)) as broken, output.replacing(file) as part:
        part.write_text("ha")
        raise error
    assert file.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["m.csv"]
    assert getattr(broken.value, "filename", str(file)) == str(file)


def test_a_full_disk_leaves_the_mechanism_file_that_identify_writes(tmp_path, monkeypatch):
    file = tmp_path / "arm.toml"
    file.write_bytes(MECHANISM.read_bytes())

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        set_joint(file, "elbow", {"friction": {"viscous": 1.0}})
    assert file.read_bytes() == MECHANISM.read_bytes() and [p.name for p in tmp_path.iterdir()] == ["arm.toml"]
    monkeypatch.undo()
    (tmp_path / "link.toml").symlink_to(file)
    file.chmod(0o640)
    set_joint(tmp_path / "link.toml", "elbow", {"friction": {"viscous": 1.0}})
    assert (tmp_path / "link.toml").is_symlink() and file.stat().st_mode & 0o777 == 0o640
    assert load_mechanism(file).moving[1].friction.viscous == 1.0


def test_a_log_replaces_the_old_log_when_it_is_whole(logged):
    kept = logged.read_bytes(), logged.with_suffix(".status.csv").read_bytes()
    configuration = Configuration.of(load_mechanism(MECHANISM))
    grows = Log(logged, configuration)  # this log is never closed, as if the host had been killed
    grows.write(FakeBoard(ManualClock(), configuration).status())
    assert (logged.read_bytes(), logged.with_suffix(".status.csv").read_bytes()) == kept
    with pytest.raises(BadInput, match=r"old\.new\.mcap: log: exists already, from an interrupted run"):
        Log(logged, configuration)
    grows.close()
    assert logged.read_bytes() != kept[0] and not list(logged.parent.glob("*.new.*"))
