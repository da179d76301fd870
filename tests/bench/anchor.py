"""Fixed pieces of work that are timed right beside what is measured: how fast the machine happens to be.

Processors are shared, with what runs beside and between the threads of a core, and what a piece of work takes changes
by a factor of two from one minute to the next. What is measured is therefore held against work of its own kind, done
just before it and just after it.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from unicorn import UC_ARCH_ARM, UC_MODE_MCLASS, UC_MODE_THUMB, Uc
from unicorn import arm_const as arm

CODE, DATA, PAGE = 0x08000000, 0x20000000, 0x1000
# ldr r3, [r1]; adds r3, r3, r0; eor.w r3, r3, r3, ror #7; str r3, [r1]; vldr s0, [r1, #4]; vmul.f32 s0, s0, s1;
# vadd.f32 s0, s0, s2; vstr s0, [r1, #4]; subs r0, #1; bne back to the first; nop
LOOP = bytes.fromhex("0b681b1883eaf3130b6091ed010a20ee200a30ee010a81ed010a0138f0d100bf")
STARTS, ROUNDS, STEPS = 100, 500, 400  # of the emulation; of its loop each time; of Python each time
REFERENCE = 0.010  # s that an emulation takes on the reference machine, one core of it at its best

T = TypeVar("T")


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


def emulation() -> float:
    """s of processor time of emulated instructions, started from Python time and again with some work in between: what
    a virtual board's time goes to, all fixed, by Unicorn alone."""
    uc, kept = _emulator(), {}
    began = time.process_time()
    for start in range(STARTS):
        uc.reg_write(arm.UC_ARM_REG_R0, ROUNDS)
        uc.reg_write(arm.UC_ARM_REG_R1, DATA)
        uc.emu_start(CODE | 1, CODE + len(LOOP) - 2)
        for step in range(STEPS):
            kept[step] = (start, step.to_bytes(2, "little"))
    return time.process_time() - began


def beside(work: Callable[[], T]) -> tuple[T, float]:
    """What work gives, and what an emulation took around it, s: the mean of one before and one after."""
    before = emulation()
    result = work()
    return result, 0.5 * (before + emulation())
