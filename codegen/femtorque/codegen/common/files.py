"""Reader of the user's text files, with bounded time and memory."""

import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from femtorque.codegen.common.errors import BadInput
from femtorque.codegen.common.suggestion import hint, shown

LARGEST_FILE = 4 * 2**20  # limit of a file's size, bytes; the text of a mechanism with 64 links has about 40 kB
_KEY = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP = re.compile(rf"(?<![A-Za-z0-9_-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{16}}")  # a key that nests too deep


def check_size(path: Path, largest: int) -> int:
    """Return the size of a file, bytes.

    Raise BadInput for a file larger than `largest`, and for a file that is not regular, because reading a pipe may
    never end."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise BadInput(path, "file", None, "does not exist") from None
    except OSError as error:
        raise BadInput(path, "file", None, f"cannot be read: {error.strerror}") from None
    if stat.S_ISDIR(found.st_mode):
        raise BadInput(path, "file", None, "is a directory")
    if not stat.S_ISREG(found.st_mode):
        raise BadInput(path, "file", None, "is a pipe or a device, not a file")
    if found.st_size > largest:
        raise BadInput(path, "file", None, f"is too large: more than {largest} bytes")
    return found.st_size


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """Return the tables of a TOML text. Raise BadInput."""
    try:
        if deep := _DEEP.search(text):  # the time of tomllib grows with the square of the number of parts in the key
            number = text.count("\n", 0, deep.start()) + 1
            raise BadInput(path, f"line {number}", shown(deep[0]), "is nested too deeply")
        return tomllib.loads(text)
    except RecursionError:
        raise BadInput(path, "file", None, "is nested too deeply") from None
    except ValueError as error:
        found = re.match(r"(.*) \(at line (\d+), column \d+\)$", str(error), re.DOTALL)
        if not found:
            raise BadInput(path, "file", None, f"is not TOML: {error}") from None
        line = text.split("\n")[int(found[2]) - 1].strip()
        raise BadInput(path, f"line {found[2]}", shown(line), f"is not TOML: {found[1]}") from None


def read_text(path: Path, largest: int = LARGEST_FILE, suffix: str = ".toml") -> str:
    """Return the text of a file that the user has named. Raise BadInput if it is missing or not text."""
    try:
        if path.exists():
            check_size(path, largest)
        with path.open("rb") as file:
            content = file.read(largest + 1)
        if len(content) > largest:
            raise BadInput(path, "file", None, f"is too large: more than {largest} bytes")
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        raise BadInput(path, "file", None, "does not exist", _file_hint(path, suffix)) from None
    except UnicodeDecodeError as error:
        raise BadInput(path, f"byte {error.start}", None, "is not text: a file in UTF-8 is needed") from None
    except OSError as error:
        raise BadInput(path, "file", None, f"cannot be read: {error.strerror}") from None
    except ValueError as error:  # an impossible file name
        raise BadInput(path, "file", None, f"cannot be read: {error}") from None


def _file_hint(path: Path, suffix: str) -> str:
    try:
        beside = sorted(p.name for p in path.parent.iterdir() if p.suffix == suffix
                        and not (suffix == ".csv" and p.with_suffix(".mcap").exists()))  # a log's table
    except (OSError, ValueError):
        return ""
    return hint(path.name, beside, "beside it")
