"""Compiler of images that runs the same commands as PlatformIO, but without PlatformIO, whose start takes a quarter of
the build time. The inputs are those of PlatformIO: platformio.ini and the project's scripts flags.py, libraries.py and
stamp.py. The scripts run with a replacement for SCons's environment. The replacement provides the functions that the
scripts use. If a text was compiled earlier, its object comes from the cache. tests/codegen/toolchain/test_platformio.py
compares the bytes with PlatformIO's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from configparser import ConfigParser
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from femtorque.codegen.common import entry_of, found, kept, key_of, program
from femtorque.codegen.emit import COMPILER
from femtorque.codegen.toolchain.host_compiler import ARITHMETIC, WARNINGS, compiler

OBJCOPY = "arm-none-eabi-objcopy"
HERE = Path("/proc/self/cwd")  # equal for all working folders, so no object file depends on the folder
BATCH = 4  # files per compiler call, because the compiler's start takes a sixth of the time for a file
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)


class Failed(Exception):
    """An error of the compiler or linker. args[0] is its output."""


class Environment:
    """A replacement for SCons's environment, with the functions that a project's scripts use."""

    def __init__(self) -> None:
        self.variables: dict[str, list[str]] = {"CCFLAGS": [], "LINKFLAGS": [], "LIBS": []}
        self.middleware: list[tuple[Callable[[Environment, str], list[str]], str]] = []
        self.stamps: list[Callable[..., None]] = []

    def run(self, script: Path) -> None:
        code = compile(script.read_bytes(), str(script), "exec")
        exec(code, {"Import": lambda name: None, "env": self})

    def subst(self, text: str) -> str:
        return text.replace("$PROJECT_DIR", str(HERE))

    def Append(self, **lists: list[str]) -> None:
        for name, values in lists.items():
            self.variables[name] += values

    def Replace(self, **lists: list[str]) -> None:
        self.variables |= lists

    def AddBuildMiddleware(self, callback: Callable[[Environment, str], list[str]], pattern: str) -> None:
        self.middleware.append((callback, pattern))

    def AddPostAction(self, target: str, action: Callable[..., None]) -> None:
        self.stamps.append(action)

    def Object(self, node: str, CCFLAGS: list[str]) -> list[str]:
        return CCFLAGS

    def __getitem__(self, name: str) -> list[str]:
        return self.variables[name]

    def flags_of(self, source: str) -> list[str]:
        """Return the compiler flags of one source file. Flags for C++ alone are absent."""
        for callback, pattern in self.middleware:
            if fnmatch(source, pattern):
                return callback(self, source)
        return self["CCFLAGS"]


class Options:
    """The build options in the project's files."""

    def __init__(self, project: Path) -> None:
        self.project, self.compiler = project, str(shutil.which(COMPILER))
        settings = ConfigParser(interpolation=None)
        settings.read(project / "platformio.ini", encoding="utf-8")
        flags = settings["env"]["build_flags"].split()
        self.script = settings["env"]["board_build.ldscript"]
        self.includes = ["-Isrc", *(flag for flag in flags if flag.startswith("-I"))]
        self.language = [flag for flag in flags if flag.startswith("-std=")]
        self.environment = Environment()
        self._run(settings, "pre")
        self.environment.Append(CCFLAGS=[f for f in flags if f not in (*self.includes, *self.language)])
        self._run(settings, "post")

    def _run(self, settings: ConfigParser, when: str) -> None:
        for script in settings["env"]["extra_scripts"].split(","):
            moment, _, name = script.strip().partition(":")
            if moment == when:
                self.environment.run(self.project / name)

    def compiling(self, source: str) -> tuple[str, ...]:
        return (COMPILER, "-c", *self.language, *self.environment.flags_of(source), *self.includes)

    def linking(self, objects: Iterable[Path], elf: Path) -> list[str]:
        environment = self.environment
        flags = [part for flag in environment["LINKFLAGS"]
                 for part in (environment["CCFLAGS"] if flag == "$CCFLAGS" else [flag])]
        libraries = ["-Wl,--start-group", *(f"-l{name}" for name in environment["LIBS"]), "-Wl,--end-group"]
        return [COMPILER, "-o", str(elf), "-T", self.script, *flags, *map(str, objects), *libraries]


class Sources:
    """All files below src of a project, as the compiler reads them."""

    def __init__(self, project: Path) -> None:
        paths = sorted(path for path in (project / "src").rglob("*") if path.suffix in (".c", ".h"))
        self.texts = {path.relative_to(project).as_posix(): bare(path.read_text(encoding="utf-8")) for path in paths}
        self.units = [name for name in self.texts if name.endswith(".c")]
        self.headers = {Path(name).name: name for name in self.texts if name.endswith(".h")}

    def parts(self, unit: str) -> Iterator[str]:
        """Yield name and text of a source file and of all files that it includes."""
        found, front = {unit}, [unit]
        while front:
            names = INCLUDE.findall(self.texts[front.pop()])
            new = {self.headers[name] for name in names if name in self.headers} - found
            found |= new
            front += new
        for name in sorted(found):
            yield from (name, self.texts[name])


def bare(text: str) -> str:
    """Return C line by line with comments blanked, because comments contain names that object files do not."""
    return COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]) if found[0][0] == "/" else found[0], text)


def compile_image(project: Path, out: Path, done: Callable[[str], None]) -> None:
    """Build firmware.elf, firmware.bin and the compiler's call graph in `out`. Report progress. Raise Failed."""
    options = Options(project)
    objects = compile_objects(project, options, done)
    elf, image = out / "firmware.elf", out / "firmware.bin"
    run(options.linking(objects, elf), project)
    for stamp in options.environment.stamps:
        stamp([elf], objects, options.environment)
    done(elf.name)
    run([OBJCOPY, "-O", "binary", str(elf), str(image)], project)
    done(image.name)


class HostOptions:
    """Options of a program for this computer. With these options PC and chip compute the same bits."""

    COMPILING = ("-O2", "-g", *ARITHMETIC, *WARNINGS, "-Wundef", "-Wshadow", "-Wstrict-prototypes",
                 "-ffunction-sections", "-D_GNU_SOURCE", "-Isrc/application", "-Isrc/chip", "-Isrc/emitted")
    LINKING = ("-Wl,--gc-sections", "-lm")

    def __init__(self) -> None:
        self.compiler = compiler()

    def compiling(self, source: str) -> tuple[str, ...]:
        return (self.compiler, "-c", *self.COMPILING)

    def linking(self, objects: Iterable[Path], out: Path) -> list[str]:
        return [self.compiler, "-o", str(out), *map(str, objects), *self.LINKING]


def compile_program(project: Path, out: Path, done: Callable[[str], None]) -> None:
    """Build a program for this computer. Report progress. Raise Failed."""
    options = HostOptions()
    run(options.linking(compile_objects(project, options, done), out), project)
    done(out.name)


def compile_objects(project: Path, options: Options | HostOptions, done: Callable[[str], None]) -> list[Path]:
    """Return the object files of all compilation units, stored in the cache."""
    sources = Sources(project)
    with tempfile.TemporaryDirectory(prefix="femtorque-") as place:
        folder = Path(place)
        (folder / "src").symlink_to(project / "src")
        keys = {unit: key_of("object", program(options.compiler), *options.compiling(unit),
                             *sources.parts(unit)) for unit in sources.units}
        wanted: dict[tuple[str, ...], list[str]] = {}  # by their options
        for unit in sources.units:
            if found(keys[unit]):
                done(object_of(unit))
            else:
                wanted.setdefault(options.compiling(unit), []).append(unit)

        def compiled(units: list[str]) -> list[str]:
            run([*options.compiling(units[0]), *units], folder)
            for unit in units:
                kept(keys[unit], partial(shutil.copy, folder / object_of(unit)))
            return units

        batches = [units[i:i + BATCH] for units in wanted.values() for i in range(0, len(units), BATCH)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            try:
                for units in pool.map(compiled, batches):
                    for unit in units:
                        done(object_of(unit))
            except BaseException:
                pool.shutdown(cancel_futures=True)  # begin nothing more
                raise
    return [entry_of(keys[unit]) / object_of(unit) for unit in sources.units]


def object_of(unit: str) -> str:
    return f"{Path(unit).stem}.o"


def run(command: list[str], folder: Path) -> None:
    found = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           env=os.environ | {"PWD": str(HERE)})
    if found.returncode:
        raise Failed(found.stdout + found.stderr)
