"""Paths of the hand-written C of the portable application: firmware/src, and the folder of every drive family."""

from pathlib import Path

from femtorque.codegen.common import FIRMWARE
from femtorque.codegen.drive import families


def application() -> dict[str, Path]:
    """Return {file name: path}. Every file name is unique."""
    folders = [FIRMWARE / "src", *(Path(path) for path in families.__path__)]
    paths = sorted((path for folder in folders for path in folder.rglob("*.[ch]")), key=lambda path: path.name)
    assert len({path.name for path in paths}) == len(paths)
    return {path.name: path for path in paths}


def of_families() -> list[Path]:
    """Return the files of the families, sorted."""
    return sorted(path for folder in families.__path__ for path in Path(folder).rglob("*.[ch]"))
