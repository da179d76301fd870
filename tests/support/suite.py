"""Set-up that all tests share. Linear algebra runs in one thread. The matrices are small, so synchronising threads
costs more than they save, especially in parallel tests. The number of threads must be set before NumPy is imported."""

import os

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import gc  # noqa: E402
import importlib  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from femtorque import main  # noqa: E402
from femtorque.host.link import WallClock  # noqa: E402
from femtorque.host.link import link  # noqa: E402
from tests.support import emitted_once, rows  # noqa: E402
from tests.support.processor_time import ProcessorTime  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
HANG = 600.0  # time until a test stops waiting for another process, s; no result depends on this time
LONG = (  # files that need more than 6 s of processor time (--cpu), the longest first
    "test_drives", "test_lab", "test_identify_arms", "test_mutants", "test_discrete_flexible", "test_current",
    "test_web", "test_platformio", "test_bringup_gears", "test_bringup_servos", "test_verify", "test_closed_plan",
    "test_readme",
    "test_first_power_up", "test_flexible_plan", "test_flexible", "test_command_line", "test_tsujita",
    "test_loop_assembly", "test_files", "test_wheel", "test_torque", "test_accesses", "test_scenarios",
    "test_tip_exact", "test_servos", "test_bus", "test_qemu", "test_architecture", "test_library", "test_closed",
    "test_stream_command", "test_scene", "test_faults", "test_safety", "test_step", "test_chip", "test_everywhere",
    "test_flexible_at_speed", "test_same_bytes", "test_mujoco", "test_reproduce", "test_frames", "test_campaign",
    "test_campaign_drives", "test_mimic", "test_flash", "test_gears", "test_report", "test_answers",
    "test_remedies", "test_check", "test_proofs", "test_flexible_arm", "test_stream",
    "test_teach_and_repeat", "test_plan", "test_start", "test_pictures", "test_sentences", "test_log", "test_fuzz",
    "test_new_family")


def until(true: Callable[[], bool], look_s: float = 0.05) -> None:
    """Wait until another process or thread makes `true` return true. look_s: time between two calls of `true`."""
    end = time.monotonic() + HANG
    while not true():
        assert time.monotonic() < end
        time.sleep(look_s)

CLOCKLESS = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("clockless", CLOCKLESS)
if hypothesis.settings.get_current_profile_name() == "default":
    hypothesis.settings.load_profile("clockless")


def pytest_sessionstart(session):
    """Let each worker import different test files first. Rewriting the asserts by pytest costs more than all imports.

    The remaining workers use the resulting bytecode."""
    worker = getattr(session.config, "workerinput", None)
    if worker and not sys.dont_write_bytecode:
        files = [path for folder in session.config.args for path in sorted(Path(folder).rglob("test_*.py"))]
        first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        for path in files[first:] + files[:first]:
            importlib.import_module(".".join(path.resolve().relative_to(ROOT).with_suffix("").parts))


def pytest_collection_finish():
    """Exclude the objects of the tests from garbage collection.

    These objects exist until the end, so the garbage collector need not examine them repeatedly."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser):
    parser.addoption("--cpu", action="store_true", help="fail where tests cost more than `make test` may")


def pytest_configure(config):
    emitted_once.install()
    config.pluginmanager.register(ProcessorTime(config))


@pytest.hookimpl(tryfirst=True)  # runs before marks select tests
def pytest_collection_modifyitems(config, items):
    """Run long files first. If a long file began last, all but one processor would wait for its end."""
    for item in items:
        if item.path.is_relative_to(ROOT / "assurance"):
            item.add_marker(pytest.mark.assure)
    whole = not any("::" in argument for argument in config.args)
    rows.leave_to_assure(items, whole)
    rows.leave_to_bench(items, whole)
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))


@pytest.fixture
def here(capfd, monkeypatch):
    """Run a `femtorque` command in the checkout as a user would, but in this process with its imports."""
    monkeypatch.chdir(ROOT)

    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main(list(map(str, arguments)))
        return subprocess.CompletedProcess(arguments, left.value.code, *capfd.readouterr())

    return run


class PatientClock(WallClock):
    """A slow clock for a host. With this clock a host does not time out if a busy computer delays another process."""

    def now(self) -> float:
        return super().now() / 100.0


@pytest.fixture
def patient(monkeypatch):
    """Use the slow clock for hosts in this process whose board is in another thread or process.

    These hosts do not move an arm."""
    monkeypatch.setattr(link, "WallClock", PatientClock)
