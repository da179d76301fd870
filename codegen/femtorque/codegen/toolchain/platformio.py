"""Flash image of a mechanism. The image is built from a self-contained PlatformIO project in a folder, and examined.
The folder contains all sources (application, chip folder, emitted C), platformio.ini, and a development platform that
uses arm-none-eabi-gcc from PATH. Users can therefore call `pio run` in this folder, without a network. Without
platformio.local.ini, the project uses the platform and toolchain of PlatformIO's registry."""

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Symbol, SymbolTableSection
from filelock import FileLock

from femtorque.codegen.board import DEFAULT_BOARD, PC_BOARD, Board, Chip, fieldbus, load_board, served
from femtorque.codegen.common import FIRMWARE, PREBUILT, BadInput, Refused, kept, key_of, need, program
from femtorque.codegen.control import unfollowed
from femtorque.codegen.drive import FAMILIES, application, of_families
from femtorque.codegen.emit import COMPILER, compiler_identity, digest, sources
from femtorque.codegen.mechanism import Mechanism, refuse
from femtorque.codegen.model import has_modes
from femtorque.codegen.toolchain import stack_bound
from femtorque.codegen.toolchain.build_result import FOLDERS, PRODUCTS, BuildResult, existing, place, record
from femtorque.codegen.toolchain.host_compiler import compiler
from femtorque.codegen.toolchain.image_compiler import HERE, Failed, HostOptions, compile_image, compile_program

Progress = Callable[[int, int, str], None]  # done, total, what


# ---------------------------------------------------------------- the project

CALL_GRAPH = "firmware.elf.ltrans0.ltrans.ci"  # call graph of the whole image, which the compiler writes during linking
SIGN = b"`femtorque build` copies this file"  # mark that `femtorque build` writes to every platformio.ini and Makefile
SIGNED = ("platformio.ini", "Makefile")
PROGRAM = "board"  # of a PC
MAKEFILE = f"""\
# The program of a PC as the board. `femtorque build` copies this file.
{PROGRAM}: $(wildcard src/*/*.c)
\t$(CC) {" ".join(HostOptions.COMPILING)} -o $@ $^ {" ".join(HostOptions.LINKING)}
"""


@dataclass(frozen=True)
class Project:
    """All files of one project by path, with name, board and digest."""

    name: str
    board: Board
    digest: str
    files: dict[str, bytes]


def project(mechanism: Mechanism, feedforward: bool = True, pil: bool = False) -> Project:
    """Return one mechanism's project. Raise BadInput with the joints that lack a board, motors or encoders."""
    if mechanism.board is None:
        refuse(mechanism, "board", None, "is required to build an image",
               f'write [board] use = "{DEFAULT_BOARD}"' if mechanism.source != mechanism.urdf else
               f"`femtorque init NAME --from {mechanism.urdf} --board {DEFAULT_BOARD}` makes a mechanism file "
               "of it; in Python Mechanism.from_urdf does")
    board = load_board(mechanism.board.use, mechanism.source or mechanism.name)
    served(mechanism, board)
    emitted = sources.sources(mechanism, board, feedforward=feedforward, pil=pil)
    identity = digest(mechanism, {name: text for name, text in emitted.items() if name != "ft_digest.h"})
    files = {f"src/emitted/{name}": text.encode() for name, text in emitted.items()}
    files |= {f"src/application/{name}": path.read_bytes() for name, path in application().items()}
    for name in unused(mechanism):
        files.pop(name, None)
    for folder in board.chip.folders:
        files |= _folder(FIRMWARE / "chip" / folder, "src/chip")
    if board.is_pc:
        return Project(mechanism.name, board, identity.hex(), files | {"Makefile": MAKEFILE.encode()})
    for name in unused(mechanism):
        files.pop(name, None)
    files |= _folder(FIRMWARE / "platform", "platform")
    files |= _folder(FIRMWARE / "test", "test")
    for script in ("flags.py", "libraries.py", "stamp.py"):
        files[script] = (FIRMWARE / script).read_bytes()
    files["platformio.ini"] = _settings(board.chip)
    return Project(mechanism.name, board, identity.hex(), files | _offline())


def _settings(chip: Chip) -> bytes:
    """Return platformio.ini of the chip's family."""
    text = (FIRMWARE / "platformio.ini").read_text(encoding="utf-8")
    default = next(line for line in text.splitlines() if line.startswith("board = "))
    return text.replace(default, f"board = {chip.platformio_board}").encode()


def assemble(mechanism: Mechanism, out: Path, feedforward: bool = True) -> Path:
    """Write one mechanism's project to `out`, and return `out`. A file that is already correct is not written."""
    _write(out, project(mechanism, feedforward).files)
    return out


def _folder(source: Path, target: str) -> dict[str, bytes]:
    paths = sorted(p for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {f"{target}/{p.relative_to(source).as_posix()}": p.read_bytes() for p in paths}


_OF_BUSES = ("src/application/ft_bus.c", "src/application/ft_travel.c", "src/application/ft_cutoff.c")
_OF_CAN = ("src/chip/ft_buses.c", "src/chip/ft_can.c")
_OF_WIRES = ("src/chip/ft_wires.c", "src/chip/ft_half_duplex.c")


def unused(mechanism: Mechanism) -> list[str]:
    """Return the project's source files for drives or features that this mechanism does not have."""
    own = fieldbus.families(mechanism)
    parts = {part for family in FAMILIES.values() for part in family.parts}
    spoken = {part for family in own for part in family.parts}
    others = {path.name for path in of_families() if path.parent.name not in {family.c for family in own}}
    files = [f"src/application/{name}" for name in sorted(parts - spoken | others)]
    files += () if any(family.wire is None for family in own) else _OF_CAN
    files += () if any(family.wire is not None for family in own) else _OF_WIRES
    files += () if mechanism.safety.cutoff else ("src/application/ft_cutoff.c",)
    files += () if mechanism.feel else ("src/application/ft_contact.c",)
    regular = mechanism.constrained and not has_modes(mechanism) and not unfollowed(mechanism)
    files += () if regular else ("src/application/ft_regular.c",)
    return files if own else [*files, *_OF_BUSES]


def _claim(out: Path) -> None:
    """Raise BadInput if a folder has foreign files, because a build would replace and remove source files."""
    theirs = [p.name for p in out.glob("*") if not p.name.startswith(".")]
    if theirs and not any(sign.is_file() and SIGN in sign.read_bytes() for sign in (out / name for name in SIGNED)):
        raise BadInput(out, "folder", None, "is not empty and holds no project of `femtorque build`, so nothing in it "
                       "is replaced", "choose another name")


def _write(out: Path, files: dict[str, bytes]) -> None:
    """Write changed files.

    The file that marks the folder as a project is written first. Remove source files that no longer belong to the
    project."""
    for name, content in sorted(files.items(), key=lambda file: file[0] not in SIGNED):
        path = out / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            place(path, content)
    for folder in FOLDERS:
        for path in (out / "src" / folder).rglob("*"):
            if path.is_file() and path.relative_to(out).as_posix() not in files:
                path.unlink()


_LOCAL_INI = """\
; Written by femtorque: build with arm-none-eabi-gcc from PATH, fetch nothing.
; Delete this file to use PlatformIO's own platform and toolchain.
[platformio]
core_dir = .platformio

[env]
platform = symlink://platform
platform_packages =
"""

_SCONS = """\
# SCons as PyPI has it, where PlatformIO looks for its own package.
import SCons.Script

SCons.Script.main()
"""


def _offline() -> dict[str, bytes]:
    """Return platformio.local.ini and a PlatformIO core folder with which PlatformIO needs no registry.

    Without SCons there are no such files, and PlatformIO uses its registry. PlatformIO's core requires its SCons
    package to have an encoded version (4.11.1 is 4.41101.0) and a .piopm record."""
    try:
        major, minor, patch = (*(int(n) for n in version("scons").split(".")[:3]), 0, 0)[:3]
    except PackageNotFoundError:
        return {}
    package = {"name": "tool-scons", "version": f"{major}.{major}{minor:02d}{patch:02d}.0",
               "description": "SCons of this environment"}
    spec = {"owner": "platformio", "id": None, "name": "tool-scons", "requirements": None, "uri": None}
    record = {"type": "tool", "name": "tool-scons", "version": package["version"], "spec": spec}
    settings = {"settings": {"enable_telemetry": False, "check_platformio_interval": 9999}}
    tool = ".platformio/packages/tool-scons"
    return {
        "platformio.local.ini": _LOCAL_INI.encode(),
        ".platformio/appstate.json": json.dumps(settings).encode(),
        f"{tool}/package.json": json.dumps(package).encode(),
        f"{tool}/.piopm": json.dumps(record).encode(),
        f"{tool}/.piokeep": b"",
        f"{tool}/scons.py": _SCONS.encode(),
    }


# ---------------------------------------------------------------- building


def build_image(mechanism: Mechanism, out: Path, progress: Progress | None = None, feedforward: bool = True,
                pil: bool = False) -> BuildResult:
    """Write the project to `out`, build it like `pio run`, examine the image, and write build.json. PlatformIO itself
    runs only if environment variables (PLATFORMIO_...) change its options. An image of this configuration is taken from
    the folder or the cache. Without a compiler, the image comes from this installation, with a warning. Raise Refused
    if a tool is missing, the compiler reports an error, the image does not fit the chip, or it contains forbidden
    symbols."""
    wanted = project(mechanism, feedforward, pil)
    if wanted.board.is_pc:
        refuse(mechanism, "board.use", PC_BOARD, "has no flash image: a PC runs a program",
               "`femtorque board` runs it; `femtorque hil drives` has virtual drives for it")
    brought = _brought(wanted)
    if brought is None:
        _require_tools()
    out = out.resolve()

    def make(entry: Path) -> None:
        record(out, _run(out, wanted, progress))
        for name in PRODUCTS:
            shutil.copyfile(out / name, entry / name)

    _claim(out)
    with _alone(out):
        _write(out, wanted.files)
        if found := existing(out, wanted.digest):
            return found
        entry = brought or kept(_key(wanted), make, lambda entry: existing(entry, wanted.digest) is not None)
        for name in PRODUCTS:
            place(out / name, (entry / name).read_bytes())
        found = existing(out, wanted.digest)
        assert found is not None
        return found


def build_program(mechanism: Mechanism, out: Path, progress: Progress | None = None) -> Path:
    """Write the project of a PC as the board to `out`, compile it with this computer's compiler, and return the
    program. Raise BadInput for a board that is no PC, and Refused if the compiler refuses."""
    wanted = project(mechanism)
    if not wanted.board.is_pc:
        refuse(mechanism, "board.use", wanted.board.name, "is a chip's board: `femtorque flash`", f'use = "{PC_BOARD}"')
    out = out.resolve()
    _claim(out)
    with _alone(out):
        _write(out, wanted.files)
        contents = (part for name, content in sorted(wanted.files.items()) for part in (name, content))
        key = key_of("program", program(compiler()), *contents)
        made = kept(key, lambda entry: _compile(out, progress, partial(compile_program, out, entry / PROGRAM)))
        place(out / PROGRAM, (made / PROGRAM).read_bytes())
        (out / PROGRAM).chmod(0o755)
    return out / PROGRAM


def _key(wanted: Project) -> str:
    """Return the key of the image: files, compiler, and environment variables that change PlatformIO's options."""
    contents = (part for name, content in sorted(wanted.files.items()) for part in (name, content))
    return key_of("image", compiler_identity(), *_variables(), *contents)


def _variables() -> list[str]:
    """Return the environment variables that PlatformIO reads."""
    return sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("PLATFORMIO_"))


def brought_in(digest: str) -> Path:
    """Return the folder of a configuration's image in an installation."""
    return PREBUILT / digest[:16]


def _brought(wanted: Project) -> Path | None:
    """Return the folder of this installation's image, for a computer without a compiler.

    Return None if the image is incomplete or has a different configuration."""
    folder = brought_in(wanted.digest)
    if shutil.which(COMPILER) is not None or existing(folder, wanted.digest) is None:
        return None
    warnings.warn(f"there is no {COMPILER}: the image of {wanted.name} is the one that femtorque brings, built from "
                  f"the same sources (digest {wanted.digest[:16]})", stacklevel=3)
    return folder


def _require_tools() -> None:
    if shutil.which(COMPILER) is None:
        raise Refused(f"{COMPILER} is not on PATH: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi")
    for module in ("platformio", "SCons") if _variables() or not HERE.exists() else ():
        need(module)


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Allow only one build at a time in a folder."""
    out.mkdir(parents=True, exist_ok=True)
    with FileLock(out / ".lock"):
        yield


def _run(out: Path, wanted: Project, progress: Progress | None) -> BuildResult:
    if _variables() or not HERE.exists():
        built = out / ".pio" / "build" / "firmware"
        log = run_pio(out, ["run", "-e", "firmware"], progress)
        return _taken(out, built, wanted, _last_lines(log))
    with TemporaryDirectory(prefix="femtorque-") as folder:
        compile_directly(out, Path(folder), progress)
        return _taken(out, Path(folder), wanted, "")


def _taken(out: Path, built: Path, wanted: Project, log: str) -> BuildResult:
    for kind in ("elf", "bin"):
        if not (built / f"firmware.{kind}").is_file():
            raise Refused(f"PlatformIO wrote no firmware.{kind}: {log}")
        place(out / f"firmware.{kind}", (built / f"firmware.{kind}").read_bytes())
    return examine(out, built, wanted.name, wanted.board, wanted.digest)


def compile_directly(project: Path, out: Path, progress: Progress | None = None) -> None:
    """Compile a project whose files are up to date. Raise Refused with the relevant lines of the output."""
    _compile(project, progress, partial(compile_image, project, out))


def _compile(project: Path, progress: Progress | None, compiling: Callable[[Callable[[str], None]], None]) -> None:
    total, made = sum(1 for _ in (project / "src").rglob("*.c")) + 2, count(1)

    def done(what: str) -> None:
        if progress:
            progress(next(made), total, what)

    try:
        compiling(done)
    except Failed as failed:
        raise Refused(_reason(project, str(failed).splitlines())) from None


def examine(out: Path, built: Path, name: str, board: Board, digest: str) -> BuildResult:
    """Read sizes and symbols of out/firmware.elf, and its call graph in `built`. Raise Refused."""
    elf = out / "firmware.elf"
    _refuse_symbols(elf)
    flash, ram, reserved = _sizes(elf)
    chip = board.chip
    if flash > chip.flash_bytes or ram > chip.ram_bytes:
        raise Refused(f"the image does not fit: flash {flash} of {chip.flash_bytes} bytes, RAM {ram} of "
                      f"{chip.ram_bytes} bytes")
    need = stack_bound.bound(stack_bound.one_of_each(stack_bound.read_stack([built / CALL_GRAPH]), functions(elf)))
    if need.bytes > reserved:
        raise Refused(f"the stack may need {need.bytes} bytes and {reserved} are reserved: {' -> '.join(need.path)}")
    return BuildResult(name, board.name, digest, compiler_identity(), flash, ram, need.bytes, reserved,
                       need.path, elf, out / "firmware.bin")


def steps_of(line: str) -> list[str]:
    """Return the files that one line of PlatformIO's log names. Parallel jobs may write to one line."""
    doing = "Compiling|Linking|Building"
    return re.findall(rf"(?:{doing}) \.pio\S*?/(\w+\.(?:o|elf|bin))(?=\s|$|{doing})", line)


def run_pio(out: Path, arguments: list[str], progress: Progress | None = None) -> str:
    """Run PlatformIO in a project folder and return its output. Raise Refused with the output's relevant lines."""
    environment = os.environ | {
        "PLATFORMIO_CORE_DIR": str(out / ".platformio"),
        "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no",
        "PLATFORMIO_SETTING_CHECK_PLATFORMIO_INTERVAL": "9999",
        "PLATFORMIO_NO_ANSI": "true",
    }
    total = sum(1 for _ in (out / "src").rglob("*.c")) + 2
    lines: list[str] = []
    done = 0
    with subprocess.Popen([sys.executable, "-m", "platformio", *arguments], cwd=out, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                for what in steps_of(line):
                    done = min(done + 1, total)
                    if progress:
                        progress(done, total, what)
        except BaseException:
            process.terminate()  # PlatformIO ignores the interrupt, and would wait for a reader for ever
            raise
    if process.returncode != 0:
        raise Refused(_reason(out, lines))
    return "\n".join(lines)


def _reason(out: Path, lines: list[str]) -> str:
    """Return the relevant line of the log of a failed build."""
    text = "\n".join(lines)
    overflow = re.findall(r"region `(\w+)' overflowed by (\d+) bytes", text)
    if overflow:
        script = (out / "src" / "chip" / "memory.ld").read_text(encoding="utf-8")
        room = {name: 1024 * int(size) for name, size in re.findall(r"(\w+) +\(.*LENGTH = (\d+)K", script)}
        return "the image does not fit: " + ", ".join(
            f"{region} is too small by {excess} bytes (there are {room.get(region, 0)})" for region, excess in overflow)
    errors = [line for line in lines if re.search(
        r"error: (?!ld returned)|undefined reference|multiple definition|Error:", line)]
    return "the image could not be built: " + (" | ".join(errors[:3]) if errors else _last_lines(text))


def _last_lines(text: str) -> str:
    return " | ".join([line for line in text.splitlines() if line.strip()][-3:])


# ---------------------------------------------------------------- examining

FORBIDDEN = re.compile(
    r"^(__aeabi_d\w+|__aeabi_[fil]+2d|__(add|sub|mul|div)df3|_?(malloc|calloc|realloc|free)(_r)?|_sbrk"
    r"|(__ieee754_)?(sin|cos|tan|asin|acos|atan|atan2|sqrt|exp|log|pow|fmod|floor|ceil|round|hypot)f?)$")


def _refuse_symbols(elf: Path) -> None:
    """Refuse double-precision arithmetic, heap and the mathematical library."""
    found = sorted({s.name for s in _symbols(elf) if FORBIDDEN.match(s.name)})
    if found:
        raise Refused(f"the image holds what it must not (double arithmetic, heap or libm): {', '.join(found)}")


def functions(elf: Path) -> dict[str, int]:
    """Return the addresses of functions by name."""
    return {s.name: s["st_value"] for s in _symbols(elf) if s["st_info"]["type"] == "STT_FUNC"}


def _symbols(elf: Path) -> list[Symbol]:
    with elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return list(table.iter_symbols())


def _sizes(elf: Path) -> tuple[int, int, int]:
    """Return (flash, RAM, reserved stack) in bytes."""
    flash = ram = reserved = 0
    with elf.open("rb") as file:
        image = ELFFile(file)
        for segment in image.iter_segments():
            if segment["p_type"] == "PT_LOAD":
                flash += segment["p_filesz"]
        for section in image.iter_sections():
            if section["sh_flags"] & 2 and section["sh_addr"] >= 0x20000000:  # SHF_ALLOC
                ram += section["sh_size"]
            if section.name == ".stack":
                reserved = section["sh_size"]
    return flash, ram, reserved
