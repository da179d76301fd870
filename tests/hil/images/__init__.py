"""Small programs for the emulated chip. Tests compile them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

from femtorque.hil.chip import FLASH_START, Image
from femtorque.hil.chip.stm32f4.chip import Stm32F405

HERE = Path(__file__).parent
FLAGS = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", "-O1", "-std=c99", "-Wall", "-Werror",
         "-Wno-unused-function", "-ffreestanding", "-nostdlib", "-ffp-contract=off",
         "-fno-tree-loop-distribute-patterns"]


def compile_image(folder: Path, source: str) -> Path:
    """Compile C source (after image.h) to an ELF file."""
    compiler = shutil.which("arm-none-eabi-gcc")
    assert compiler, "arm-none-eabi-gcc is missing: install gcc-arm-none-eabi"
    (folder / "image.c").write_text(f'#include "image.h"\n{source}')
    elf = folder / "image.elf"
    subprocess.run([compiler, *FLAGS, f"-I{HERE}", "-T", str(HERE / "image.ld"), str(folder / "image.c"),
                    str(HERE / "vectors.c"), "-o", str(elf)], check=True)
    return elf


class Program:
    """A compiled program that runs on a chip."""

    def __init__(self, folder: Path, source: str, hse_hz: int | None = 8_000_000) -> None:
        self.image = Image.load(compile_image(folder, source), FLASH_START, Stm32F405.REGIONS[0].size)
        self.chip = Stm32F405(self.image.flash, hse_hz)

    def run(self, seconds: float) -> Program:
        self.chip.run(self.chip.seconds + seconds)
        return self

    def __getitem__(self, index: int) -> int:
        """Return result[index] of the program."""
        at = self.image.symbol("result").address + 4 * index
        return struct.unpack("<I", self.chip.core.memory(at, 4))[0]
