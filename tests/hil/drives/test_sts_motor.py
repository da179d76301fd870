"""The servo's motor in C against that in Python: bit for bit, whatever its registers say and its protections do."""

from __future__ import annotations

import ctypes
import random
import struct

from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.drives import sts_motor
from femtorque.hil.drives.sts_motor import ERRORS, Motor

CDEF = "double sts_terminal(void *m, double now, double angle, double velocity, double current);"
LIMITS = {sts_motor.HOTTEST: 45, sts_motor.HIGHEST: 140, sts_motor.LOWEST: 40, sts_motor.SWITCH: 45,
          sts_motor.CURRENT: 200, sts_motor.MODE: sts_motor.BY_DUTY, sts_motor.PROTECTIVE: 20, sts_motor.PATIENCE: 5,
          sts_motor.OVERLOAD: 60, sts_motor.LONGEST: 4, sts_motor.START: 16}


def given(rng: random.Random) -> Motor:
    motor = Motor(lambda: motor.volts, 2.0)
    motor.volts = 12.0
    motor.begin(0.0)
    for at, value in LIMITS.items():
        motor.registers[at] = value
    for at in rng.sample(sorted(LIMITS), 2):
        motor.registers[at] = rng.randrange(256) if rng.random() < 0.2 else LIMITS[at]
    motor.registers[sts_motor.ENABLE] = 1
    motor.registers[sts_motor.LIMIT:sts_motor.LIMIT + 2] = rng.choice((1000, 500)).to_bytes(2, "little")
    return motor


def state(motor: Motor) -> bytes:
    """All that C goes on with, but where the registers are, and these."""
    return bytes(motor)[ctypes.sizeof(ctypes.c_void_p):] + bytes(motor.registers)


def test_a_motor_in_c_is_that_in_python():
    ffi, lib = host_compiler.build(sts_motor.sources(), CDEF)
    reached = set()
    for seed in range(60):
        ours, reference = (given(random.Random(seed)) for _ in range(2))
        rng = random.Random(seed)
        at, current, now = ffi.cast("void *", ctypes.addressof(ours)), 0.0, 0.0
        for _ in range(300):
            now += rng.choice((1e-4, 1.3e-3, 5.0))
            if rng.random() < 0.1:
                duty, current, volts = rng.randrange(0x800), rng.uniform(-6.0, 6.0), rng.choice((12.0, 12.0, 14.5, 3.0))
                for motor in (ours, reference):
                    motor._takes_over, motor._coming, motor.volts = now + 1e-3, duty, volts
            if rng.random() < 0.02:
                for motor in (ours, reference):
                    motor.latched, motor.registers[sts_motor.ENABLE] = 0, rng.random() < 2.0
            if rng.random() < 0.003:
                for motor in (ours, reference):
                    motor.power_off() if motor.powered else motor.begin(0.1)
            moved = rng.uniform(-1.0, 1.0), rng.uniform(-3.0, 3.0), current
            volts = lib.sts_terminal(at, now, *moved), reference.terminal(now, *moved)
            assert struct.pack("<d", abs(volts[0])) == struct.pack("<d", abs(volts[1]))
            assert (volts[0] < 0.0) == (volts[1] < 0.0) and state(ours) == state(reference)
            reached |= {name for name, bit in ERRORS.items() if ours.latched & bit} | {("turns", ours.turning)}
    assert reached == {"voltage", "over temperature", "over current", "overload", ("turns", True), ("turns", False)}
