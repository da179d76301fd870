"""Cache of results: compiled libraries, images and their measured costs.

An entry is a folder whose name is the hash of all inputs. A new entry has a temporary name until it is complete. An
existing entry is therefore complete, even if processes run at the same time or are killed. The lock only saves work."""

import math
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from femtorque.codegen.common.errors import BadInput

VARIABLE = "FEMTORQUE_CACHE"
LIMIT = 1 << 30  # bytes of all entries
YOUNG = 3600.0  # age below which an entry is kept, s: another process may be about to read the entry
LONGEST = 86400.0  # age above which an unfinished entry belongs to a killed process, s (a proof may take hours)


def cache_directory() -> Path:
    """Return $FEMTORQUE_CACHE, or the user's cache directory."""
    if given := os.environ.get(VARIABLE):
        return Path(given).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "femtorque"


def key_of(*parts: str | bytes) -> str:
    """Return the key of an entry, computed from all parts that affect its content. The order of the parts counts."""
    import hashlib  # noqa: PLC0415 (--help makes no key)

    key = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        key.update(f"{len(data)}\0".encode() + data)
    return key.hexdigest()[:32]


def program(path: str) -> str:
    """Return a text that identifies a program: its path and its installation time."""
    return f"{path} of {os.stat(path).st_mtime_ns}"


def sources(folder: Path, pattern: str = "*") -> Iterator[str | bytes]:
    """Yield names and contents of a program's files, as parts of a key."""
    for path in sorted(folder.rglob(pattern)):
        if path.is_file() and not {"__pycache__", ".pio"}.intersection(path.parts):
            yield from (path.relative_to(folder).as_posix(), path.read_bytes())


def kept(key: str, make: Callable[[Path], object], whole: Callable[[Path], bool] = lambda entry: True) -> Path:
    """Return the folder of a key. If the entry is missing or incomplete, call `make` to create it. Errors of `make`
    pass through. Raise BadInput if other users could have written to the folder."""
    entry = entry_of(key)
    if _used(entry) and whole(entry):
        return entry
    entry.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _ours(entry.parent)
    from filelock import FileLock  # noqa: PLC0415 (a fifth of the time of --help, which makes no entry)

    with FileLock(entry.with_suffix(".lock")):
        if not (_used(entry) and whole(entry)):
            _make(entry, make)
            if key.startswith("00"):  # on average once in 256 calls, because the clean-up is slow
                _remove_old(entry.parent, _time(entry))
    return entry


def found(key: str) -> bool:
    """Return True if the key has an entry. The entry is then kept for at least YOUNG seconds."""
    return _used(entry_of(key))


def entry_of(key: str) -> Path:
    """Return the folder of a key, even if it does not exist."""
    return cache_directory() / "made" / key


def _used(entry: Path) -> bool:
    """Return True if the entry exists. Set the time of its last use to the present time.

    Files of an entry are loaded as libraries and executed. The entry must therefore belong to this user, in a folder
    that only this user can write to."""
    if not os.path.lexists(entry):
        return False
    _ours(entry.parent)
    _ours(entry)
    with suppress(FileNotFoundError):
        os.utime(entry)
        return True
    return False


def _user() -> int:
    """Return the user id of the owner of files that this process creates, on any operating system."""
    import tempfile  # noqa: PLC0415 (--help makes no file)

    with tempfile.TemporaryFile() as file:
        return os.fstat(file.fileno()).st_uid


def _ours(folder: Path) -> None:
    """Raise BadInput unless a folder belongs to this user. Remove other users' write permission."""
    with suppress(FileNotFoundError):  # removed meanwhile
        status = folder.lstat()
        if status.st_uid != _user() or not stat.S_ISDIR(status.st_mode):
            raise BadInput(folder, VARIABLE, None, "is another user's, who could put programs there that would be run",
                           f"remove it, or set {VARIABLE} to a folder of your own")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            folder.chmod(stat.S_IMODE(status.st_mode) & ~(stat.S_IWGRP | stat.S_IWOTH))


def _make(entry: Path, make: Callable[[Path], object]) -> None:
    import tempfile  # noqa: PLC0415 (--help makes no entry)

    new = Path(tempfile.mkdtemp(prefix="new-", dir=entry.parent))
    try:
        make(new)
        shutil.rmtree(entry, ignore_errors=True)  # incomplete
        new.rename(entry)
    except OSError as error:
        if entry.is_dir():
            return  # another process has created the entry in the meantime
        if error.filename is None:  # a full disk
            error.filename = str(entry.parent)
        raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _remove_old(made: Path, now: float) -> None:
    """Remove unfinished entries of killed processes and, beyond the cache's limit, the least recently used entries."""
    old = sorted(((age, path) for path in made.iterdir() if (age := now - _time(path)) > YOUNG), reverse=True)
    excess = sum(map(_size, made.iterdir())) - LIMIT
    for _, path in old:
        if path.name.startswith("new-") and now - _time(path) <= LONGEST:
            continue
        if path.is_dir() and (path.name.startswith("new-") or excess > 0):
            excess -= _size(path)
            shutil.rmtree(path, ignore_errors=True)
            path.with_suffix(".lock").unlink(missing_ok=True)


def _time(path: Path) -> float:
    """Return the time of the last use, s; infinite if the path no longer exists."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return math.inf


def _size(entry: Path) -> int:
    """Return the bytes of the files in a folder; 0 if the folder no longer exists."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return sum(file.stat().st_size for file in os.scandir(entry))
    return 0
