"""Tests of the library of `generate --library` in build tools. The tests run the real CMake and PlatformIO, without
package registries. SimpleFOC and Zephyr are replaced by stand-ins, written from their headers and documentation."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import kconfiglib
import numpy as np
import pytest
import yaml
from platformio.package.manifest.schema import ManifestSchema

import femtorque
from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.emit import sources
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference import instant
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.toolchain.platformio import _offline
from tests.support.oracle import peak
from tests.support.suite import HANG, ROOT

HERE = Path(__file__).parent / "used_as_library"
KINDS = ("three_link", "five_bar", "two_arm_grasp", "flexible_arm", "pick_and_place")  # all sorts
STRICT = "-Wall -Wextra -Wconversion -Wdouble-promotion -Werror -pedantic"
SECOND = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])  # from rest to rest in 1 s


def run(*command: object, **options) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=HANG, **options)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def made(name: str, out: Path) -> Path:
    sources.generate(load_mechanism(MECHANISMS / f"{name}.toml"), out, library=femtorque.__version__)
    return out


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    return made("three_link", tmp_path_factory.mktemp("made") / "three_link")


def torques(text: str) -> np.ndarray:
    rows = np.array([[float(x) for x in line.split(",")] for line in text.splitlines()])
    assert list(rows[:, 0]) == list(range(len(rows)))
    return rows[:, 1:]


def motion_of(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the start position and the travel of every joint in the example."""
    text = (folder / "examples" / "plain_loop" / "plain_loop.c").read_text()
    rows = re.findall(r"\{ FT_C\(([^)]+)\), FT_C\(([^)]+)\), (?:true|false) \}", text)
    start, away = np.array(rows, float).T
    return start, away


@pytest.mark.parametrize("name", ["six_axis", "four_bar", "biped", "flexible_arm"])
def test_a_generated_folder_is_replaced_with_force(name, tmp_path):
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    assert sources.generate(mechanism, tmp_path) == sources.generate(mechanism, tmp_path, force=True)


@pytest.mark.parametrize("name", KINDS)
def test_cmake_builds_it_and_the_plain_loop_prints_the_torques_of_its_motion(name, tmp_path):
    folder, mechanism = made(name, tmp_path / "library"), load_mechanism(MECHANISMS / f"{name}.toml")
    run("cmake", "-S", folder, "-B", tmp_path / "built", f"-DCMAKE_C_FLAGS={STRICT}")
    run("cmake", "--build", tmp_path / "built")
    tau = torques(run(tmp_path / "built" / "plain_loop"))
    (start, away), hz = motion_of(folder), mechanism.control.rate_hz
    assert np.all(away != 0.0) and [j.start for j in mechanism.streamed] == pytest.approx(start)
    s = (np.arange(-1, hz + 1) + 0.5) / hz
    q, v, a = ((0.0 if n else start) + away * SECOND.deriv(n)(s)[:, None] for n in range(3))
    wanted = _marched(mechanism, q) if mechanism.flexible else \
        instant.inverse_dynamics(mechanism, q[1:-1], v[1:-1], a[1:-1])
    assert tau.shape == wanted.shape and np.max(np.abs(wanted)) > 0.0
    assert np.max(np.abs(tau - wanted)) < 2e-4 * peak(wanted)  # a tick is a thousandth of the motion's duration


def _marched(mechanism, q: np.ndarray) -> np.ndarray:
    """Return the torques that the same C gives in double precision.

    Other tests compare this C with the reference of flexible links."""
    step, u = CompiledStep(Model.of(mechanism), "double"), np.diff(q, axis=0) / 2.0
    step.start(q[0])
    given = np.empty(len(u), step.turns.sample)
    given["q"], given["u"] = step.turns.of(q[1:]), u
    given["du"] = np.concatenate([u[:1] / 2.0, np.diff(u, axis=0) / 2.0])
    return step.run(given)[1:]


def test_another_project_of_cmake_takes_it_by_its_name_in_either_precision(library, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.15)\nproject(mine LANGUAGES C)\nadd_subdirectory({library} arm)\n"
        "add_executable(mine main.c)\ntarget_link_libraries(mine PRIVATE femtorque::femtorque)\n")
    (tmp_path / "main.c").write_text(
        '#include <ft_rnea.h>\n#include <stdio.h>\nint main(void)\n{\n    ft_real q[FT_JOINTS] = { FT_C(0.3) };\n'
        '    ft_real v[FT_JOINTS] = { FT_C(1.0) }, tau[FT_JOINTS];\n    if (!ft_rnea(q, v, v, tau))\n'
        '        return 1;\n'
        '    printf("%d %.17g", (int)sizeof(ft_real), (double)tau[0]);\n    return 0;\n}\n')
    mechanism = load_mechanism(MECHANISMS / "three_link.toml")
    wanted = instant.inverse_dynamics(mechanism, [0.3, 0, 0], [1.0, 0, 0], [1.0, 0, 0])[0]
    for option, size, error in (("OFF", 4, 1e-6), ("ON", 8, 1e-14)):
        run("cmake", "-S", tmp_path, "-B", tmp_path / option, f"-DFEMTORQUE_DOUBLE={option}")
        run("cmake", "--build", tmp_path / option)
        said = run(tmp_path / option / "mine").split()
        assert int(said[0]) == size and float(said[1]) == pytest.approx(wanted, rel=error)
        assert not (tmp_path / option / "arm" / "plain_loop").exists(), "its example is not everybody's"


@pytest.fixture(scope="module")
def image(library, tmp_path_factory) -> tuple[Path, str]:
    """Build the example for an STM32F405 with PlatformIO, without downloads. Return the result and the log."""
    folder = tmp_path_factory.mktemp("platformio")
    for name, content in _offline().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    settings = (HERE / "platformio.ini").read_text().replace("PLATFORM", str(ROOT / "firmware" / "platform"))
    (folder / "settings.ini").write_text(settings.replace("HERE", str(HERE)))
    offline = {"PLATFORMIO_CORE_DIR": str(folder / ".platformio"), "PLATFORMIO_NO_ANSI": "true",
               "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no", "PLATFORMIO_SETTING_CHECK_PLATFORMIO_INTERVAL": "9999"}
    log = run(sys.executable, "-m", "platformio", "ci", library / "examples" / "plain_loop" / "plain_loop.c",
              HERE / "startup.c", "--lib", library, "--project-conf", folder / "settings.ini", "--build-dir",
              folder / "built", "--keep-build-dir", "-v", env=os.environ | offline)
    return folder / "built" / ".pio" / "build" / "stm32" / "firmware.elf", log


def test_platformio_finds_it_by_its_header_and_compiles_it_as_library_json_says(image):
    _, log = image
    assert f"|-- femtorque-three-link @ {femtorque.__version__}" in log
    compiled = [line for line in log.splitlines() if line.endswith("ft_step.c")]
    assert len(compiled) == 1 and "-ffp-contract=off" in compiled[0]


@pytest.mark.xdist_group("qemu")
def test_the_image_of_platformio_prints_the_same_on_an_emulated_stm32_and_on_the_pc(image, library, tmp_path):
    """The printed torques agree in all nine digits."""
    said = run("qemu-system-arm", "-M", "netduinoplus2", "-nographic", "-monitor", "none", "-serial", "null",
               "-semihosting-config", "enable=on,target=native", "-kernel", image[0])
    run("cmake", "-S", library, "-B", tmp_path)
    run("cmake", "--build", tmp_path)
    assert said == run(tmp_path / "plain_loop") and len(said.splitlines()) == 1000


# ---------------------------------------------------------------- SimpleFOC


def sketch(name: str, tmp_path: Path, feedback: float = 0.25, fill: str = "0.5f, 7, 1, 2, 3, 4, 5") -> list[object]:
    """Return the command that compiles the example against the stand-in of SimpleFOC."""
    folder = made(name, tmp_path / "library")
    text = (folder / "examples" / "simplefoc" / "simplefoc.ino").read_text()
    (tmp_path / "simplefoc.ino").write_text(text.replace("0.0f, 0, 0, 0, 0, 0, 0", fill))
    objects = []
    for source in sorted((folder / "src").glob("*.c")):
        objects.append(tmp_path / f"{source.stem}.o")
        run("cc", "-std=c99", "-O2", "-ffp-contract=off", "-c", source, "-o", objects[-1])
    folders = [f"-I{path}" for path in (HERE, tmp_path, folder / "src")]
    return ["g++", "-std=c++14", "-O1", "-Wall", "-Wextra", "-Werror", f"-DMOTORS_FEEDBACK={feedback}f", *folders,
            HERE / "sketch.cpp", *objects, "-o", tmp_path / "sketch"]


@pytest.mark.parametrize("name", ["three_link", "five_bar", "two_arm_grasp"])
def test_the_sketch_gives_simplefoc_the_current_of_the_torque_before_the_error(name, tmp_path):
    """Each control cycle gives every joint (torque / gear + rotor * gear * acceleration) / kt once, limited."""
    run(*sketch(name, tmp_path))
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    first, *rows = run(tmp_path / "sketch").splitlines()
    said = np.array([[float(x) for x in row.split(",")] for row in rows])
    t, said = said[:, 0], said[:, 1:].reshape(len(said), -1, 5)
    gear, kt, rotor = (np.array([getattr(j.motor, k) for j in mechanism.streamed]) for k in ("gear", "K", "inertia"))
    start, away = motion_of(tmp_path / "library")
    assert [float(x) for x in first.split(",")[:-1]] == pytest.approx(start * gear, abs=1e-6), "it begins at its start"
    x = np.clip(np.where(t < 3.0, t, t - 3.0) / 2.0, 0.0, 1.0)
    sign = np.where(t < 3.0, 1.0, -1.0)
    q, v, a = (base + away * value[:, None] for base, value in (
        (start, (t >= 3.0) + sign * SECOND(x)), (0.0, sign * SECOND.deriv()(x) / 2.0),
        (0.0, sign * SECOND.deriv(2)(x) / 4.0)))
    tau = instant.inverse_dynamics(mechanism, q, v, a)
    wanted = np.clip((tau / gear + rotor * gear * a) / kt, -1.0, 1.0)
    assert np.max(np.abs(wanted)) > 1e-4 and len(t) == 600
    assert said[..., 0] == pytest.approx(q * gear, abs=2e-6) and said[..., 1] == pytest.approx(v * gear, abs=1e-5)
    assert np.max(np.abs(said[..., 2] - wanted)) < 2e-4 * np.max(np.abs(wanted))
    asked = np.clip(0.25, None, 1.0 - np.abs(said[:-1, :, 2])) + said[:-1, :, 2]
    assert said[1:, :, 3] == pytest.approx(asked, abs=1e-6), "feedback and feed-forward, together within the limit"
    assert not np.any(said[..., 4]), "added twice"


def test_the_sketch_moves_nothing_until_its_table_is_filled_in(tmp_path):
    run(*sketch("three_link", tmp_path, fill="0.0f, 0, 0, 0, 0, 0, 0"))
    done = subprocess.run([tmp_path / "sketch"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == "shoulder: fill in its row of the table\n"


# ---------------------------------------------------------------- manifests


def test_platformio_takes_its_manifest_and_packs_it(library, tmp_path):
    manifest = json.loads((library / "library.json").read_text())
    wrapped = manifest | {key: [manifest[key]] for key in ("frameworks", "platforms")}
    assert ManifestSchema().load_manifest(wrapped)["name"] == "femtorque-three-link"
    for example in manifest["examples"]:
        assert all((library / example["base"] / name).is_file() for name in example["files"])
    assert all((library / "src" / header).is_file() for header in manifest["headers"])
    run(sys.executable, "-m", "platformio", "pkg", "pack", library, "-o", tmp_path / "packed.tar.gz",
        env=os.environ | {"PLATFORMIO_CORE_DIR": str(tmp_path / "core"), "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no"})
    assert "src/ft_step.c" in run("tar", "tzf", tmp_path / "packed.tar.gz")


@pytest.mark.parametrize("name", KINDS)
def test_library_properties_keep_the_rules_of_arduinos_specification(name, tmp_path):
    """The rules come from revision 2.2 of the specification, and from the regular expressions of arduino-lint."""
    folder = made(name, tmp_path / name)
    lines = (folder / "library.properties").read_text().splitlines()
    said = dict(line.split("=", 1) for line in lines if line)
    needed = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
    assert set(said) == needed | {"includes"} and all(said.values())
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]*", said["name"]) and len(said["name"]) <= 63
    assert not said["name"].lower().startswith("arduino")
    assert re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", said["version"])
    assert said["category"] in {"Display", "Communication", "Signal Input/Output", "Sensors", "Device Control",
                                "Timing", "Data Storage", "Data Processing", "Other"}
    assert re.match(r"[a-z][a-z0-9+.-]*:\S", said["url"])
    assert all((folder / "src" / header).is_file() for header in said["includes"].split(","))
    sketches = list((folder / "examples").glob("*/*.ino"))
    assert all(path.stem == path.parent.name for path in sketches)
    assert bool(sketches) == (name != "flexible_arm"), "without ft_rnea there is no sketch"


def test_zephyr_finds_the_module_its_option_and_its_sources(library, tmp_path):
    """The schema comes from Zephyr's scripts/zephyr_module.py. Stand-ins replace Zephyr's CMake functions."""
    module = yaml.safe_load((library / "zephyr" / "module.yml").read_text())
    assert set(module) == {"name", "build"} and set(module["build"]) == {"cmake", "kconfig"}
    assert (library / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    options = tmp_path / "Kconfig"
    options.write_text(f'config FPU\n\tbool "hardware"\n\nosource "{library / module["build"]["kconfig"]}"\n')
    tree = kconfiglib.Kconfig(str(options), warn_to_stderr=False)
    assert tree.syms["FEMTORQUE"].str_value == "n"
    tree.syms["FEMTORQUE"].set_value("y")
    assert tree.syms["FPU"].str_value == "y" and not tree.warnings
    for chosen in ("y", ""):
        built = tmp_path / f"built{chosen}"
        run("cmake", "-S", HERE, "-B", built, f"-DMODULE={library}", f"-DCONFIG_FEMTORQUE={chosen}",
            f"-DCMAKE_C_FLAGS={STRICT}")
        run("cmake", "--build", built)
        assert bool(list(built.rglob("libfemtorque.a"))) == bool(chosen)


# ---------------------------------------------------------------- the folder


def test_files_of_an_earlier_library_in_src_go_and_the_users_files_stay(tmp_path):
    folder = made("five_bar", tmp_path / "library")
    assert (folder / "src" / "ft_loop.c").is_file()
    (folder / "src" / "mine.c").write_text("/* mine */\n")
    sources.generate(load_mechanism(MECHANISMS / "three_link.toml"), folder, force=True, library="1.2.3")
    left = {path.name for path in (folder / "src").iterdir()}
    assert "mine.c" in left and not left & {"ft_loop.c", "ft_loop.h", "ft_tree.c", "ft_tree.h"}
    assert json.loads((folder / "library.json").read_text())["version"] == "1.2.3"
