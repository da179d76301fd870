"""Text of the files that a user names."""

from __future__ import annotations

from pathlib import Path

from femtorque.codegen.common.errors import BadInput
from femtorque.codegen.common.nearest import hint

LARGEST_FILE = 4 * 2**20  # bytes; a 64-link mechanism has some 40 kB


def read_text(path: Path, largest: int = LARGEST_FILE, suffix: str = ".toml") -> str:
    """The text of a file the user named. Raises BadInput when there is none (hint: like-named ones), or it is not
    text."""
    try:
        if path.is_dir():
            raise BadInput(path, "file", None, "is a directory")
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
    except ValueError as error:  # a name that no file can have
        raise BadInput(path, "file", None, f"cannot be read: {error}") from None


def _file_hint(path: Path, suffix: str) -> str:
    try:
        beside = sorted(p.name for p in path.parent.iterdir() if p.suffix == suffix
                        and not (suffix == ".csv" and p.with_suffix(".mcap").exists()))  # the table beside a log
    except (OSError, ValueError):
        return ""
    return hint(path.name, beside, "beside it")
