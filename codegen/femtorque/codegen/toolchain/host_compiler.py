"""The C compiler of this computer, for libraries that cffi loads. Compiler flags that affect results are the same as
for the chip (-ffp-contract=off; optimisation levels have no effect). In single precision, the results are therefore
bit-identical to the chip's results. The user's cache stores libraries under the hash of sources and flags."""

import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import cffi

from femtorque.codegen.common.cache import kept, key_of, program
from femtorque.codegen.common.errors import Refused

Precision = Literal["single", "double"]
WARNINGS = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Werror")
LAYOUTS = "layouts.c"  # this file only makes compile-time checks
LIBRARY = "library.so"  # the only file in an entry of the cache
ARITHMETIC = ("-ffp-contract=off", "-fno-math-errno")  # each operation is rounded once, so host and chip agree
LIGHTLY = ("-O1",)  # options for code that compiles longer than it runs


@cache
def compiler() -> str:
    """Return this computer's C compiler: $CC, or cc, gcc or clang from PATH. Raise Refused if there is none."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and (found := shutil.which(name)):
            return found
    raise Refused("no C compiler found (cc, gcc, clang): install one, e.g. `apt install gcc`")


def precision_flags(precision: Precision) -> tuple[str, ...]:
    return ("-DFT_REAL_IS_DOUBLE",) if precision == "double" else ()


def library(sources: dict[str, str], precision: Precision = "single", flags: tuple[str, ...] = ("-O2",),
            below: tuple[Path, ...] = ()) -> Path:
    """Compile C files {name: text} with their headers to one shared library, and return its path in the cache. below:
    libraries whose functions the files call. Raise Refused that quotes the compiler's first error."""
    options = (*flags, *ARITHMETIC, *WARNINGS, *precision_flags(precision), "-fPIC", "-shared")
    texts = (text for item in sorted(sources.items()) for text in item)
    key = key_of(program(compiler()), platform.machine(), *options, *map(str, below), *texts)
    return kept(key, lambda folder: _compile(sources, options, folder, below)) / LIBRARY


def build(
    sources: dict[str, str], cdef: str, precision: Precision = "single", flags: tuple[str, ...] = ("-O2",)
) -> tuple[cffi.FFI, Any]:
    """Compile C files as `library` does, and load them. Return (ffi, lib) with the declarations `cdef`. Raise Refused
    also if a header defines a struct of `cdef` with a different layout."""
    ffi = cffi.FFI()
    ffi.cdef(cdef)
    return ffi, ffi.dlopen(str(library(sources | {LAYOUTS: layouts(ffi, sources)}, precision, flags)))


def build_by_headers(sources: dict[str, str], flags: tuple[str, ...] = ("-O2",)) -> tuple[cffi.FFI, Any]:
    """Compile and load as `build` does, with declarations from the headers."""
    ffi = cffi.FFI()
    ffi.cdef(declarations(sources))
    return ffi, ffi.dlopen(str(library(sources, flags=flags)))


def build_above(ffi: cffi.FFI, below: dict[str, str], sources: dict[str, str]) -> tuple[cffi.FFI, Any]:
    """Compile and load C files that call the files of `build_by_headers(below)` and share their types."""
    headers = {name: text for name, text in below.items() if name.endswith(".h")}
    above = cffi.FFI()
    above.include(ffi)
    above.cdef(declarations(headers | sources, headers))
    return above, above.dlopen(str(library(headers | sources, below=(library(below),))))


def declarations(sources: dict[str, str], known: Iterable[str] = ()) -> str:
    """Return the headers except `known`. Each header follows the headers that it includes. All preprocessor directives
    but integer definitions are removed."""
    found = dict.fromkeys(known, "")

    def add(name: str) -> None:
        if name in found or name not in sources:
            return
        found[name] = ""
        text = re.sub(r"/\*.*?\*/", "", sources[name], flags=re.DOTALL)
        for other in re.findall(r'#include "(.+?)"', text):
            add(other)
        found[name] = "\n".join(line for line in text.splitlines()
                                if not line.startswith("#") or re.fullmatch(r"#define \w+ (0x)?[\da-fA-F]+u?\s*", line))
        found[name] = found.pop(name)  # after those

    for name in sorted(sources):
        if name.endswith(".h"):
            add(name)
    return "\n".join(found.values())


def texts(folder: Path, *patterns: str) -> dict[str, str]:
    """Return the matching files in a folder, by name."""
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def layouts(ffi: cffi.FFI, sources: dict[str, str]) -> str:
    """Return C that compiles only if every struct of a header has the layout that `ffi` assumes.

    Python and C then agree on the offset and size of each member. Raise ValueError if no header defines one of the
    structs."""
    headers = {name: text for name, text in sorted(sources.items()) if name.endswith(".h")}
    included: list[str] = []
    checks: list[str] = []
    typedefs, structs, _ = ffi.list_types()
    for name in (*typedefs, *(f"struct {tag}" for tag in structs)):
        kind = ffi.typeof(name)
        defined = re.compile(rf"\}}\s*{name};|\b{name}\s*\{{")
        header = next((file for file, text in headers.items() if defined.search(text)), None)
        if kind.kind != "struct" or kind.fields is None:
            continue
        if header is None:
            raise ValueError(f"no header defines {name}, so that nothing holds its layout")
        included += [header] if header not in included else []
        checks.append(f"sizeof({name}) == {ffi.sizeof(name)}u")
        checks += [f"offsetof({name}, {member}) == {field.offset}u "
                   f"&& sizeof((({name} *)0)->{member}) == {ffi.sizeof(field.type)}u"
                   for member, field in kind.fields if field.bitsize < 0]
    lines = [f"extern char layout_{k}[({check}) ? 1 : -1];" for k, check in enumerate(checks)]
    return "\n".join(["#include <stddef.h>", *(f'#include "{name}"' for name in included), *lines,
                      "extern char layout_all;", ""])


def _compile(sources: dict[str, str], options: tuple[str, ...], out: Path, below: tuple[Path, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        files = sorted(name for name in sources if name.endswith(".c"))
        done = subprocess.run(
            [compiler(), *options, "-I.", *files, *below, "-o", out / LIBRARY], cwd=folder,
            capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[:1]
            raise Refused(f"the emitted C did not compile: {' '.join(lines[:1])}")
