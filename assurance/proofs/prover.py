"""The commands of the prover CBMC, from PATH or from the Debian archive, without changing the system.

Debian 13 has CBMC as a package. On older releases the module runs Debian 13's files from a folder of the cache, with
the loader and libraries in that folder. apt checks the signatures of these files. This module pins their versions."""

import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from femtorque.codegen.common import Refused, kept, key_of

VERSION = "6.6.0"
RELEASE = "trixie"
PINNED = {"cbmc": "6.6.0-4"}
LIBRARIES = ("libc6", "libgcc-s1", "libstdc++6", "minisat", "zlib1g")
PROGRAMS = ("cbmc", "goto-cc", "goto-instrument")
ARCHIVE = "http://deb.debian.org/debian"  # used if the configuration of apt names no archive
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
HINT = f"the proofs take CBMC {VERSION}: on Debian 13 `apt install cbmc`"


@cache
def programs() -> dict[str, tuple[str, ...]]:
    """Return {program: its command}. Raise Refused, with one line, if the prover is unavailable."""
    found = {name: shutil.which(name) for name in PROGRAMS}
    if all(found.values()) and _version((str(found["cbmc"]),)) == VERSION:
        return {name: (str(path),) for name, path in found.items()}
    return _own(kept(key_of("prover", RELEASE, *PINNED.values(), *LIBRARIES, os.uname().machine), _unpack, _whole))


def _own(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the programs in a folder, started with the loader and libraries in the folder."""
    loaders = [*folder.glob("usr/lib64/ld-linux-*"), *folder.glob("usr/lib/ld-linux-*")]
    libraries = [*folder.glob("usr/lib/*-linux-gnu*"), folder / "usr/lib"]
    if not loaders:
        raise Refused(f"no loader among the files of Debian {RELEASE}; {HINT}")
    start = (str(loaders[0]), "--library-path", ":".join(map(str, libraries)))
    return {name: (*start, str(folder / "usr/bin" / name)) for name in PROGRAMS}


def _version(start: tuple[str, ...]) -> str:
    done = subprocess.run([*start, "--version"], capture_output=True, text=True)
    return done.stdout.split()[0] if done.returncode == 0 and done.stdout else ""


def _whole(folder: Path) -> bool:
    try:
        return _version(_own(folder)["cbmc"]) == VERSION
    except (OSError, Refused):
        return False


def archive() -> str:
    """Return the Debian archive that this computer uses."""
    for path in (Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))):
        if not path.is_file():
            continue
        for line in path.read_text(errors="replace").splitlines():
            if not line.lstrip().startswith("#") and (uri := re.search(r"\bhttps?://\S+/debian/?(?=\s|$)", line)):
                return uri[0].rstrip("/")
    return ARCHIVE


def _unpack(folder: Path) -> None:
    """Download the packages by apt, with a separate list of sources, and unpack them."""
    missing = [name for name in ("apt-get", "dpkg-deb") if not shutil.which(name)]
    if missing:
        raise Refused(f"no {' and no '.join(missing)}; {HINT}")
    with tempfile.TemporaryDirectory() as scratch:
        apt = _apt(Path(scratch))
        _run([*apt, "update"], scratch)
        _run([*apt, "download", *(f"{name}={version}" for name, version in PINNED.items()), *LIBRARIES], scratch)
        for package in sorted(Path(scratch).glob("*.deb")):
            _run(["dpkg-deb", "-x", str(package), str(folder)], scratch)
    if not _whole(folder):
        raise Refused(f"the packages of Debian {RELEASE} do not run here as CBMC {VERSION}; {HINT}")


def _apt(scratch: Path) -> list[str]:
    """Return the command apt-get with that release as its only source. The command writes nothing outside a folder."""
    for name in ("lists/partial", "cache/archives/partial"):
        (scratch / name).mkdir(parents=True)
    (scratch / "sources.list").write_text(f"deb [signed-by={KEYRING}] {archive()} {RELEASE} main\n")
    own = {"Dir::Etc::SourceList": scratch / "sources.list", "Dir::Etc::SourceParts": "/dev/null",
           "Dir::State::Lists": scratch / "lists", "Dir::Cache": scratch / "cache", "APT::Sandbox::User": "root",
           "Debug::NoLocking": 1}
    return ["apt-get", "-q", *(x for key, value in own.items() for x in ("-o", f"{key}={value}"))]


def _run(command: list[str], folder: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("E:")] or done.stderr.splitlines()[-1:]
        raise Refused(f"Debian {RELEASE}'s packages cannot be had ({' '.join(said[:1])}); {HINT}")
