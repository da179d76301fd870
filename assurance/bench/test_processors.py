"""Test that the application's C sends equal bytes on emulated ARM64. The program receives the same bytes of the host at
the same ticks. The program returns the telemetry of every tick and all sent bytes. tests/firmware/test_char.py has the
sign of plain `char`.

The test needs `apt install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user`."""

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.toolchain import ARITHMETIC, WARNINGS, compiler
from tests.firmware import following
from tests.firmware.app import App, sources
from tests.firmware.following import Sent, wave

HERE = Path(__file__).resolve().parent
MECHANISMS = HERE.parents[1] / "mechanisms"
ARM64, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
PIECE = struct.Struct("<II")  # number of bytes to the board, ticks after these bytes

pytestmark = pytest.mark.bench


class Scripted(App):
    """An App that records its received bytes and its ticks."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.script, self._waiting = b"", b""
        super().__init__(mechanism)
        self.script = struct.pack("<f", self.chip.bus_voltage)

    def feed(self, data: bytes) -> None:
        super().feed(data)
        self._waiting += data

    def run(self, ticks: int, *, alive: bool = True, follow: bool = True) -> NDArray[Any]:
        parts = []
        for _ in range(ticks):
            parts.append(super().run(1, alive=alive, follow=follow))
            self.script += PIECE.pack(len(self._waiting), 1) + self._waiting
            self._waiting = b""
        return np.concatenate(parts)


def life(name: str) -> tuple[Scripted, bytes]:
    """Home and arm a board, and let a hand guide its arm for a second. Return the board and its telemetry."""
    app = Scripted(load_mechanism(MECHANISMS / f"{name}.toml"))
    assert app.home() == "NONE" and app.command("ARM") == "NONE" and following.follow(app, frame=20_000) == "NONE"
    start = np.array([joint.start for joint in app.joints])
    away = [[0.1 * (wave(0.02 * k, seed=j)[0] - wave(0.0, seed=j)[0]) for j in range(app.J)] for k in range(50)]
    following.play(app, [Sent(0.02 * k, 0.02 * k + 0.001, [*map(float, start + way)])
                         for k, way in enumerate(away)], 1000)
    return app, np.concatenate(app.trace).tobytes()


def played(app: Scripted, folder: Path, cc: str, *flags: str, under: tuple[str, ...] = ()) -> bytes:
    """Compile the application, play the script and return the output."""
    folder.mkdir()
    files = sources(app.mechanism) | {"other_processor.c": (HERE / "other_processor.c").read_text(encoding="utf-8")}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    names = sorted(name for name in files if name.endswith(".c"))
    subprocess.run([cc, "-O2", *ARITHMETIC, *WARNINGS, *flags, "-I.", *names, "-o", "it", "-lm"], cwd=folder,
                   check=True)
    return subprocess.run([*under, folder / "it"], input=app.script, capture_output=True, check=True).stdout


@pytest.mark.parametrize("name", ["three_link", "six_axis", "five_bar"])
def test_the_application_gives_the_same_bytes_on_arm64(name: str, tmp_path: Path) -> None:
    for tool in (ARM64, EMULATOR):
        assert shutil.which(tool), f"{tool} is missing: {__doc__.splitlines()[-1]}"
    app, telemetry = life(name)
    known = played(app, tmp_path / "own", compiler())
    records = len(telemetry) // app.record_type.itemsize
    assert records > 1000 and len(known) > len(telemetry)
    assert played(app, tmp_path / "arm64", ARM64, "-static", under=(EMULATOR,)) == known
