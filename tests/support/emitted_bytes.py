"""A program that writes all emitted files of mechanisms. In another process, environment variables can make NumPy use
the code for another processor.

    python -m tests.support.emitted_bytes FOLDER NAME ...

NAME is a case of tests/codegen/step/test_same_torques.py. FOLDER gets one file per case, with the sources of the image,
the files of `generate`, and the text of the digest. The file `kernels` identifies NumPy's code in this process."""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np

from femtorque.codegen.board import reader as boards
from femtorque.codegen.emit import sources
from femtorque.codegen.mechanism import Mechanism, canonical

ROOT = Path(__file__).resolve().parents[2]
KERNELS = "kernels"
BESIDE = "ft_rnea", "ft_wrench", "ft_units"  # files that only the folder of `generate` has


def emitted(mechanism: Mechanism, folder: Path) -> str:
    """Return all emitted files as one text. folder: a temporary folder."""
    board = boards.load_board(mechanism.board.use) if mechanism.board else None
    alone = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
             for path in sources.generate(mechanism, folder)}
    step = {name: text for name, text in alone.items() if name.startswith("ft_") and not name.startswith(BESIDE)}
    files = sources.sources(mechanism, board, step=step) | {f"alone/{name}": text for name, text in alone.items()} | {
        "canonical": canonical(mechanism)}
    return "".join(f"==== {name}\n{text}\n" for name, text in sorted(files.items()))


def kernels() -> str:
    """Return a digest of this processor's NumPy (matrix product, sines, decomposition) and C library."""
    A = np.random.default_rng(0).standard_normal((40, 40))
    numbers = A @ A, np.sin(A), np.linalg.svd(A)[0]
    return sha256(b"".join(x.tobytes() for x in numbers)).hexdigest()


def elsewhere(folder: Path, names: list[str], environment: dict[str, str]) -> dict[str, str]:
    """Return {name: text} of the cases and of KERNELS, from a process with these environment variables.

    An empty value unsets a variable."""
    changed = {k: v for k, v in (os.environ | {"FEMTORQUE_CACHE": str(folder / "cache")} | environment).items() if v}
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "tests.support.emitted_bytes", folder, *names], cwd=ROOT, env=changed,
                   check=True)
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.txt")}


def _write(folder: Path, names: list[str]) -> None:
    from tests.codegen.step.test_same_torques import CASES  # noqa: PLC0415 (its import is slow)

    for name in names:
        text = emitted(CASES[name](), folder / name.replace("/", " "))
        (folder / f"{name}.txt").write_text(text, encoding="utf-8", newline="\n")
    (folder / f"{KERNELS}.txt").write_text(kernels(), encoding="utf-8")


if __name__ == "__main__":
    _write(Path(sys.argv[1]), sys.argv[2:])
