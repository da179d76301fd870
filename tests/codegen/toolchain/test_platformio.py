"""Tests of `build`: the project is self-contained, the image is reproducible, and every error states the remedy."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from femtorque.codegen.board import reader as boards
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.emit import identity
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.toolchain import image_compiler, platformio, stack_bound

ROOT = Path(__file__).resolve().parents[3]
GCC = "arm-none-eabi-gcc"
PIO = [sys.executable, "-m", "platformio"]


@pytest.fixture(scope="module")
def three_link() -> Mechanism:
    return load_mechanism(ROOT / "mechanisms" / "three_link.toml")


@pytest.fixture(scope="module", params=["f405rg-4", "nucleo-g474re-6"])
def of_family(request, built, three_link, tmp_path_factory) -> platformio.BuildResult:
    """Return a built image for each family of chips."""
    if request.param == built.board:
        return built
    mechanism = replace(three_link, board=replace(three_link.board, use=request.param))
    return platformio.build_image(mechanism, tmp_path_factory.mktemp("family") / "three-link")


@pytest.fixture(scope="module")
def steps() -> list[tuple[int, int, str]]:
    """Return the progress reports of the first build."""
    return []


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    """Return an empty cache for these tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def built(three_link, steps, cache, tmp_path_factory) -> platformio.BuildResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEMTORQUE_CACHE", str(cache))
        return platformio.build_image(three_link, tmp_path_factory.mktemp("built") / "three-link",
                           lambda *step: steps.append(step))


def unwanted(*_args, **_kwargs):
    raise AssertionError("built again")


# ---------------------------------------------------------------- the image


def test_image_fits_and_is_described(built, three_link):
    record = json.loads((built.elf.parent / "build.json").read_text(encoding="utf-8"))
    assert record["name"] == three_link.name and record["board"] == "f405rg-4"
    assert record["digest"] == built.digest == identity(three_link, boards.load_board("f405rg-4")).hex()
    assert bytes.fromhex(built.digest) in built.image.read_bytes()
    assert built.image.stat().st_size == built.flash_bytes < 64 * 1024
    assert built.stack_reserved < built.ram_bytes < 64 * 1024
    assert 100 < built.stack_bytes < built.stack_reserved
    assert "arm-none-eabi-gcc" in built.compiler


def test_same_mechanism_gives_the_same_bytes_wherever_it_is_built(built, three_link, tmp_path, monkeypatch):
    monkeypatch.setenv("FEMTORQUE_CACHE", str(tmp_path / "cache"))
    again = platformio.build_image(three_link, tmp_path / "a folder with spaces")
    assert again.image.read_bytes() == built.image.read_bytes()
    assert again.elf.read_bytes() == built.elf.read_bytes()
    record = "build.json"
    assert (again.elf.parent / record).read_bytes() == (built.elf.parent / record).read_bytes()


def test_an_image_that_is_there_is_taken_and_a_damaged_one_is_not(built, three_link, cache, monkeypatch):
    """A damaged image is restored from the cache. If the cache is damaged too, the image is built."""
    monkeypatch.setenv("FEMTORQUE_CACHE", str(cache))
    out, whole = built.elf.parent, built.image.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(platformio, "_run", unwanted)
        assert platformio.build_image(three_link, out) == built
        built.image.write_bytes(whole[:-1] + b"\xff")
        assert platformio.build_image(three_link, out) == built and built.image.read_bytes() == whole
        for image in (built.image, *cache.glob("made/*/firmware.bin")):
            image.write_bytes(whole[:-1] + b"\xff")
        with pytest.raises(AssertionError, match="built again"):
            platformio.build_image(three_link, out)
    assert platformio.build_image(three_link, out).image.read_bytes() == whole
    assert [image.read_bytes() for image in cache.glob("made/*/firmware.bin")] == [whole]


def test_an_image_that_was_built_elsewhere_is_taken(built, three_link, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("FEMTORQUE_CACHE", str(cache))
    monkeypatch.setattr(platformio, "_run", unwanted)
    taken = platformio.build_image(three_link, tmp_path / "elsewhere")
    assert taken == replace(built, elf=taken.elf, image=taken.image) and taken.elf.parent == tmp_path / "elsewhere"
    assert taken.elf.read_bytes() == built.elf.read_bytes()
    with pytest.raises(AssertionError, match="built again"):
        platformio.build_image(three_link, tmp_path / "pd", feedforward=False)


def test_progress_ends_at_its_total(built, steps):
    assert [done for done, _, _ in steps] == list(range(1, len(steps) + 1))
    assert steps[-1][0] == steps[-1][1] and steps[-1][2] == "firmware.bin"


def test_jobs_that_write_side_by_side_are_counted_apart():
    folder = "Compiling .pio/build/firmware/src/application/"
    assert platformio.steps_of(f"{folder}ft_app.o{folder}ft_link.o") == ["ft_app.o", "ft_link.o"]
    assert platformio.steps_of("Building .pio/build/firmware/firmware.bin") == ["firmware.bin"]
    assert platformio.steps_of("Checking size .pio/build/firmware/firmware.elf") == []


def test_a_build_that_is_interrupted_leaves_no_process_behind(tmp_path, monkeypatch):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\necho Compiling .pio/build/firmware/src/ft_app.o\nexec sleep 60\n")
    slow.chmod(0o755)
    started, popen = [], subprocess.Popen
    monkeypatch.setattr(sys, "executable", str(slow))
    monkeypatch.setattr(subprocess, "Popen", lambda *args,
                        **kwargs: started.append(popen(*args, **kwargs)) or started[-1])

    def interrupted(done, total, what):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        platformio.run_pio(tmp_path, ["run"], interrupted)
    assert started[0].returncode is not None


def test_a_build_that_is_interrupted_begins_no_more(built, monkeypatch):
    monkeypatch.setenv("FEMTORQUE_CACHE", str(built.elf.parent.parent / "empty"))
    commands, run = [], image_compiler.run
    monkeypatch.setattr(image_compiler, "run", lambda *of: run(*of) or commands.append(of))

    def interrupted(done, total, what):
        raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder, pytest.raises(KeyboardInterrupt):
        platformio.compile_directly(built.elf.parent, Path(folder), interrupted)
    assert 1 <= len(commands) <= 1 + 2 * os.cpu_count()


def test_a_variable_for_platformio_is_heard(three_link, tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(platformio, "run_pio", lambda *of: ran.append(of) or "its log")
    monkeypatch.setenv("PLATFORMIO_BUILD_FLAGS", "-DOTHER=1")
    with pytest.raises(Refused, match="PlatformIO wrote no firmware.elf: its log"):
        platformio.build_image(three_link, tmp_path / "flags")
    assert len(ran) == 1


def test_an_object_is_known_by_all_that_the_compiler_reads_for_it(of_family):
    """The compiler lists the included files."""
    project = of_family.elf.parent
    sources, options = image_compiler.Sources(project), image_compiler.Options(project)
    for unit in sources.units:
        rule = subprocess.run([*options.compiling(unit), "-MM", unit], cwd=project, capture_output=True, text=True,
                              check=True).stdout
        read = set(rule.replace("\\\n", " ").split()[1:])
        assert unit in read and read <= set(sources.parts(unit)), unit


def test_objects_are_known_by_their_code_and_not_by_its_comments():
    code = 'a /* one\n * "two" */ = "/* no */"; // three\nb = \'"\'; /* four */'
    assert image_compiler.bare(code) == 'a       \n            = "/* no */";         \nb = \'"\';           '


def test_compute_board_builds_without_motors(three_link, tmp_path):
    joints = tuple(replace(j, motor=None, encoder=None) for j in three_link.joints)
    mechanism = replace(three_link, joints=joints, board=replace(three_link.board, use="compute"),
                        control=replace(three_link.control, rate_hz=100, knot_hz=50))
    result = platformio.build_image(mechanism, tmp_path / "compute")
    assert result.board == "compute" and result.stack_bytes < result.stack_reserved


# ---------------------------------------------------------------- the project


def test_project_stands_on_its_own(of_family, tmp_path):
    """A copy of the project gives the same bytes by `pio run` with an empty home and a minimal environment."""
    project, home, copy = of_family.elf.parent, tmp_path / "home", tmp_path / "copy"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".pio", "firmware.*", "build.json"))
    home.mkdir()
    run = subprocess.run([*PIO, "run"], cwd=copy, capture_output=True, text=True,
                         env={"HOME": str(home), "PATH": os.environ["PATH"]})
    assert run.returncode == 0, run.stdout + run.stderr
    assert (copy / ".pio/build/firmware/firmware.bin").read_bytes() == of_family.image.read_bytes()
    assert (copy / ".pio/build/firmware/firmware.elf").read_bytes() == of_family.elf.read_bytes()
    assert list(home.iterdir()) == []
    texts = [p.read_bytes() for p in copy.rglob("*") if p.is_file() and ".pio/" not in p.as_posix()]
    assert not any(str(ROOT).encode() in text for text in texts)


def test_without_the_local_file_the_project_is_plain_platformio(built, tmp_path):
    """Offline, only the PlatformIO configuration of an online build can be checked."""
    shutil.copy(built.elf.parent / "platformio.ini", tmp_path)
    run = subprocess.run([*PIO, "project", "config", "--json-output", "-d", str(tmp_path)], capture_output=True,
                         text=True, env={"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]})
    assert run.returncode == 0, run.stderr
    sections = {name: dict(options) for name, options in json.loads(run.stdout)}
    assert sections["platformio"]["default_envs"] == ["firmware"]
    firmware = sections["env:firmware"]
    assert firmware["platform"] == "ststm32" and firmware["board"] == "genericSTM32F405RG"
    assert firmware["platform_packages"] == ["platformio/toolchain-gccarmnoneeabi@~1.120301.0"]
    for name, hold in (("firmware", False), ("emulator", True)):
        flags = " ".join(sections[f"env:{name}"]["build_flags"])
        assert ("-DFT_TOLERANT=1" in flags) == hold and "-ffp-contract=off" in flags


def test_sources_that_are_no_longer_emitted_are_removed(three_link, tmp_path):
    stale = tmp_path / "src" / "emitted" / "ft_old.c"
    stale.parent.mkdir(parents=True)
    stale.write_text("not C", encoding="utf-8")
    platformio.assemble(three_link, tmp_path)
    assert not stale.exists() and (tmp_path / "src" / "emitted" / "ft_board.h").is_file()


# ---------------------------------------------------------------- refusals


def test_missing_board_and_missing_motors_are_named(three_link, tmp_path):
    with pytest.raises(BadInput, match=r"board: is required to build an image; write \[board\] use = \"f405rg-4\""):
        platformio.assemble(replace(three_link, board=None), tmp_path)
    bare = tuple(replace(j, motor=None) if j.name in ("elbow", "wrist") else j for j in three_link.joints)
    with pytest.raises(BadInput, match="joint.elbow.motor: is required .*joints without: elbow, wrist"):
        platformio.assemble(replace(three_link, joints=bare), tmp_path)
    with pytest.raises(BadInput, match="board.pwm_hz = 19999: "):
        platformio.assemble(replace(three_link, board=replace(three_link.board, pwm_hz=19999)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_missing_compiler_says_what_to_install(three_link, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match="arm-none-eabi-gcc is not on PATH: apt install gcc-arm-none-eabi"):
        platformio.build_image(three_link, tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.fixture(scope="module")
def spoiled(built, tmp_path_factory) -> Path:
    """Return a project with one additional source file. The other object files are compiled once."""
    project = tmp_path_factory.mktemp("spoiled") / "project"
    shutil.copytree(built.elf.parent, project)
    return project


def by_platformio(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATFORMIO_BUILD_FLAGS", "-Wl,--undefined=ft_big")
    platformio.run_pio(project, ["run"])


def directly(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linking = image_compiler.Options.linking
    monkeypatch.setattr(image_compiler.Options, "linking",
                        lambda *of: [*linking(*of), "-Wl,--undefined=ft_big"])
    with tempfile.TemporaryDirectory() as folder:
        platformio.compile_directly(project, Path(folder))


@pytest.mark.parametrize("way", [directly, by_platformio], ids=["directly", "by PlatformIO"])
@pytest.mark.parametrize(("code", "message"), [
    ("const char ft_big[1200000] = {1};", r"does not fit: FLASH is too small by \d+ bytes \(there are 1048576\)"),
    ("char ft_big[140000];", r"does not fit: RAM is too small by \d+ bytes \(there are 131072\)"),
    ("int ft_big = 1.5f;", r"could not be built: .*ft_big.c.*error: .*-Werror=float-conversion"),
    ("int nowhere(void); int ft_big(void); int ft_big(void) { return nowhere(); }",
     r"undefined reference to `nowhere'"),
])
def test_what_cannot_be_built_is_said_in_one_line(spoiled, monkeypatch, way, code, message):
    (spoiled / "src" / "emitted" / "ft_big.c").write_text(code + "\n", encoding="utf-8")
    with pytest.raises(Refused, match=message) as caught:
        way(spoiled, monkeypatch)
    assert "\n" not in str(caught.value)


def compile_elf(folder: Path, code: str, *flags: str) -> Path:
    source, elf = folder / "some.c", folder / "some.elf"
    source.write_text(code, encoding="utf-8")
    subprocess.run([GCC, "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-O1", "-nostartfiles",
                    "-fcallgraph-info=su", "-Wl,--entry=start", source, "-o", elf, *flags], check=True, cwd=folder)
    return elf


@pytest.mark.parametrize(("code", "symbol"), [
    ("volatile double x; void start(void) { x = x * 3.0; }", "__aeabi_dmul"),
    ("volatile float x; volatile double y; void start(void) { y = x; }", "__aeabi_f2d"),
    ("#include <math.h>\nvolatile float x; void start(void) { x = sinf(x); }", "sinf"),
    ("#include <stdlib.h>\nvoid *volatile x; void start(void) { x = malloc(8); }", "malloc"),
])
def test_double_arithmetic_heap_and_libm_are_noticed(tmp_path, code, symbol):
    elf = compile_elf(tmp_path, code, "-lm", "--specs=nosys.specs", "-Wl,--no-warnings")
    with pytest.raises(Refused, match=rf"must not .*\b{symbol}\b"):
        platformio._refuse_symbols(elf)


# ---------------------------------------------------------------- the stack


CHAIN = """
void leaf(volatile char *p); void deep(void); void shallow(void); void start(void); void ft_tick_interrupt(void);
__attribute__((noinline)) void leaf(volatile char *p) { volatile char a[100]; a[p[0]] = 1; p[1] = a[2]; }
__attribute__((noinline)) void deep(void) { volatile char a[400]; leaf(a); a[0] = 1; }
__attribute__((noinline)) void shallow(void) { volatile char a[40]; leaf(a); a[0] = 1; }
void start(void) { shallow(); deep(); shallow(); }
void ft_tick_interrupt(void) { volatile char a[60]; leaf(a); a[0] = 1; }
"""


def graph_of(folder: Path, code: str) -> stack_bound.CallGraph:
    compile_elf(folder, code)
    return stack_bound.read_stack(folder.glob("*.ci"))


def test_stack_bound_is_the_deepest_path(tmp_path):
    graph = graph_of(tmp_path, CHAIN)
    size, path = stack_bound.stack_depth(graph, "start")
    assert path == ("start", "deep", "leaf")
    assert size == sum(graph.frames[name] for name in path) and 500 < size < 600
    both = stack_bound.bound(graph, main="start")
    tick = sum(graph.frames[name] for name in ("ft_tick_interrupt", "leaf"))
    assert both.bytes == size + 108 + tick  # 26 words of an exception frame with FPU, one word of alignment


def test_stack_bound_follows_pointers(tmp_path):
    code = """
    void big(void); void start(void); void (*volatile where)(void) = big;
    void big(void) { volatile char a[700]; a[3] = 1; }
    void start(void) { where(); where(); }
    """
    size, path = stack_bound.stack_depth(graph_of(tmp_path, code), "start")
    assert path == ("start", "big") and size > 700


def test_stack_bound_knows_functions_whose_code_stands_in_the_image_once(tmp_path):
    """GCC merges equal functions into one, and reports only the frame of this function."""
    twin = "static int {}(volatile int *p) {{ volatile char a[300]; a[p[0]] = 1; return a[p[1]]; }}"
    code = ("int start(volatile int *);" + twin.format("one")
            + twin.format("two") + "int start(volatile int *p) { return one(p) + 3 * two(p + 1); }")
    elf = compile_elf(tmp_path, code, "-O2", "-fno-inline")
    graph = stack_bound.read_stack(tmp_path.glob("*.ci"))
    assert not {"one", "two"} <= set(graph.frames)
    size, path = stack_bound.stack_depth(stack_bound.one_of_each(graph, platformio.functions(elf)), "start")
    assert size > 300 and path[0] == "start" and path[1] in ("one", "two")


@pytest.mark.parametrize(("code", "message"), [
    ("int f(int); int g(int); int start(int);"
     "__attribute__((noinline)) int f(int n) { return n ? g(n - 1) + n : 0; }"
     "__attribute__((noinline)) int g(int n) { return f(n) * 3; } int start(int n) { return f(n) + 1; }",
     "recursion start -> f -> (g -> )?f"),
    ("int start(int n); int start(int n) { volatile char a[n]; a[n - 1] = 1; return a[0]; }",
     "start has a frame of no fixed size"),
    ("#include <stdlib.h>\nint start(void); int start(void) { return rand() + 1; }", "no figure for rand"),
])
def test_stack_without_a_bound_is_refused(tmp_path, code, message):
    source = tmp_path / "some.c"
    source.write_text(code, encoding="utf-8")
    subprocess.run([GCC, "-mcpu=cortex-m4", "-mthumb", "-O1", "-fcallgraph-info=su", "-c", source], check=True,
                   cwd=tmp_path)
    with pytest.raises(Refused, match=message):
        stack_bound.stack_depth(stack_bound.read_stack(tmp_path.glob("*.ci")), "start")
