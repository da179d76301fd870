"""Fixed pieces of work that serve as references for processor time. A bench times these references between the measured
pieces of work.

Other processes share the processor, so the time of one piece of work changes by a factor of two from minute to minute.
A bench therefore limits the ratio of two times in one run: virtual board over emulated instructions, or commands over
scripts. All times are processor time."""

import os
import resource
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from statistics import fmean

from unicorn import UC_ARCH_ARM, UC_MODE_MCLASS, UC_MODE_THUMB, Uc, arm_const as arm

from femtorque.hil.board import VirtualBoard
from tests.support.suite import ROOT

EMULATION = 0.0055  # duration of one call of `emulation` on the reference computer, s
CODE, DATA, PAGE = 0x08000000, 0x20000000, 0x1000
# ldr r3, [r1]; adds r3, r3, r0; eor.w r3, r3, r3, ror #7; str r3, [r1]; vldr s0, [r1, #4]; vmul.f32 s0, s0, s1;
# vadd.f32 s0, s0, s2; vstr s0, [r1, #4]; subs r0, #1; bne back to the first; nop
LOOP = bytes.fromhex("0b681b1883eaf3130b6091ed010a20ee200a30ee010a81ed010a0138f0d100bf")
# starts of the emulation; iterations of its loop and steps of Python for each start
STARTS, ROUNDS, STEPS = 25, 500, 400
OBJECTS = 8000  # number of Python objects; they fill the processor's caches as a board with its host does
EVERY = 0.010  # time of work between two emulations, s


@cache
def _emulator() -> Uc:
    uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
    uc.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M4)
    uc.mem_map(CODE, PAGE)
    uc.mem_map(DATA, PAGE)
    uc.mem_write(CODE, LOOP)
    for register, value in ((arm.UC_ARM_REG_S1, 0.75), (arm.UC_ARM_REG_S2, 0.5)):
        uc.reg_write(register, struct.unpack("<I", struct.pack("<f", value))[0])
    return uc


@cache
def _objects() -> list[tuple[int, bytes, list[int]]]:
    """Return objects in random memory order."""
    objects = [(i, i.to_bytes(4, "little"), [i]) for i in range(OBJECTS)]
    Random(1).shuffle(objects)
    return objects


def emulation() -> float:
    """Return the processor time, s, of emulated instructions that Python starts in Unicorn, with work in between."""
    uc, objects, at = _emulator(), _objects(), 0
    began = time.process_time()
    for _ in range(STARTS):
        uc.reg_write(arm.UC_ARM_REG_R0, ROUNDS)
        uc.reg_write(arm.UC_ARM_REG_R1, DATA)
        uc.emu_start(CODE | 1, CODE + len(LOOP) - 2)
        total = 0
        for _ in range(STEPS):
            at = (at + 1) % OBJECTS
            number, data, several = objects[at]
            total += number + data[0] + several[0]
    return time.process_time() - began


class Pace:
    """A measurement of a board's speed, with emulations between its runs. work: time of the runs and between the runs,
    s."""

    def __init__(self, board: VirtualBoard) -> None:
        emulation()  # compiles the emulated code once before the measurement
        self._board, self._run_until, self._start = board, board.run_until, board.seconds
        self.work, self._since_last = 0.0, EVERY
        self._emulations: list[float] = []
        board.run_until = self._run  # type: ignore[method-assign]
        self._began = time.process_time()

    def _run(self, seconds: float) -> None:
        self._run_until(seconds)
        piece = time.process_time() - self._began
        self.work += piece
        self._since_last += piece
        while self._since_last >= EVERY:
            self._since_last -= EVERY
            self._emulations.append(emulation())
        self._began = time.process_time()

    @property
    def factor(self) -> float:
        """Return the board's speed as a multiple of real time."""
        return (self._board.seconds - self._start) / self.work

    @property
    def ratio(self) -> float:
        """Return the milliseconds that the board simulates in the time of one emulation."""
        return 1e3 * self.factor * fmean(self._emulations)

    @property
    def at_reference(self) -> float:
        """Return `factor` for the reference computer."""
        return 1e-3 * self.ratio / EMULATION


def spent(*command: object, folder: Path = ROOT, **environment: str) -> float:
    """Run a command in a folder and return its processor time, s. Python stores the bytecode that it compiles."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(list(map(str, command)), cwd=folder, check=True, capture_output=True,
                   env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


@dataclass(frozen=True)
class Script:
    """A text for Python with which a command's time is compared."""

    name: str
    text: str
    reference: float  # time on the reference computer, s

    def beside(self, command: Callable[[], float], runs: int) -> tuple[float, float]:
        """Return a command's mean time, s, and its ratio to the script's, which runs before and after each run."""
        own, took = [spent(sys.executable, "-c", self.text)], []
        for _ in range(runs):
            took.append(command())
            own.append(spent(sys.executable, "-c", self.text))
        return fmean(took), fmean(took) / fmean(own)


START = Script("starts of a Python", "import numpy", 0.10)  # modules that each command imports
WORK = Script("starts with some work", """
import numpy as np
matrix, vector, kept = np.eye(6), np.ones(6), {}
for i in range(40000):
    vector = matrix @ vector
    vector = vector / np.sqrt(vector @ vector)
    kept[i % 500] = (i, vector[0])
""", 0.19)
