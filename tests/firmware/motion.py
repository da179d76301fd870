"""Runs the application's motion alone on this computer (motion_host.c), one call per tick."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.drive import application
from femtorque.codegen.emit import sources as emit
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.toolchain import Precision, Turns
from femtorque.codegen.toolchain.path_library import HEADERS, SOURCES
from tests.firmware import app
from tests.firmware.numpy_application import Path as Motion
from tests.support import oracle

HERE = Path(__file__).resolve().parent
IDLE, RUNNING, PAUSED = range(3)

HOST = (HERE / "motion_host.c").read_text()
CALLS = "".join(re.findall(r"^(?:void|int|uint32_t) \w+\([^()]*\);$", HOST, re.MULTILINE))
CDEF = "typedef {real} ft_real; typedef int{bits}_t ft_turn;" + CALLS.replace("motion_record", "void")


def mechanism(rate_hz: int = 1000, knot_hz: int = 250, joints: int = 2) -> Mechanism:
    """Return a planar chain. The bodies on the chain's joints do not affect the motion."""
    chain = oracle.planar_chain(joints, rate_hz=rate_hz)
    return replace(chain, control=replace(chain.control, rate_hz=rate_hz, knot_hz=knot_hz))


class Board:
    """Pushes knots into the ring and plays them. Path times are in s."""

    def __init__(self, chain: Mechanism, precision: Precision = "single", patches: app.Patch | None = None) -> None:
        files = emit.sources(chain, None)
        for unused in ("ft_digest.h", "ft_messages.c"):
            files.pop(unused)
        names = [f"{n}.{kind}" for n in SOURCES for kind in "ch"] + [f"{n}.h" for n in HEADERS]
        files |= {n: application()[n].read_text() for n in names}
        files["motion_host.c"] = HOST
        for name, patch in (patches or {}).items():
            files[name] = app.patched(files[name], name, patch)
        double = precision == "double"
        cdef = CDEF.format(real="double" if double else "float", bits=64 if double else 32)
        self.ffi, self.lib = app.load(files, cdef, precision)
        self.turns = Turns(Model.of(chain), precision)
        self.units = self.turns.units * (2.0**-32 if double else 1.0)  # angle of a position step, rad
        J, control = len(chain.moving), chain.control
        self.dt, self.knot_hz = 1.0 / control.rate_hz, control.knot_hz
        integer, real = np.dtype(self.turns.integer), np.dtype(self.turns.real)
        self.record = np.dtype([
            ("path", "i8"), *((n, "i4") for n in ("half", "slope", "phase", "event", "underrun", "buffered")),
            ("q_next", integer, (J,)), ("target", integer, (J,)), ("u", real, (J,)), ("du", real, (J,)),
            ("rate", real, (J,)),
        ])
        self.half_one = self.lib.motion_half_one()
        self.reset()

    def reset(self) -> None:
        self.lib.motion_reset()

    def _knot(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> list[Any]:
        arrays = [self.turns.of(q), np.asarray(v, self.turns.real), np.asarray(a, self.turns.real)]
        kinds = ("ft_turn[]", "ft_real[]", "ft_real[]")
        return [self.ffi.from_buffer(k, np.ascontiguousarray(x)) for k, x in zip(kinds, arrays, strict=True)]

    def load(self, motion: Motion, first: int, last: int, end: bool) -> None:
        """Push knots first..last of a motion. `end` marks the motion's last knot."""
        for i in range(first, last + 1):
            knot = self._knot(motion.position[i], motion.rate[i], motion.acceleration[i])
            if i == 0:
                self.lib.motion_open(*knot)
            else:
                assert self.lib.motion_push(*knot, int(end and i == len(motion.position) - 1))

    def begin(self, motion: Motion, last: int, end: bool) -> bool:
        """Push the knots 0..last of a motion and start it. Return whether it starts."""
        self.reset()
        self.load(motion, 0, last, end)
        return bool(self.lib.motion_start())

    def tick(self) -> NDArray[Any]:
        record = np.zeros((), self.record)
        self.lib.motion_tick(self.ffi.from_buffer(record))
        return record

    def time(self, path: ArrayLike) -> NDArray[np.float64]:
        """Path time of path units, s."""
        return np.asarray(path, float) / (2.0 * self.half_one) * self.dt


def random_motion(rng: np.random.Generator, knots: int, joints: int, hz: float, travel: float = 2.0) -> Motion:
    """Return a smooth motion from rest to rest with several sweeps, and its knots at hz."""
    duration = (knots - 1) / hz
    t = np.arange(knots) / hz
    base = oracle.quintic(rng.uniform(-3.0, 3.0, joints), rng.uniform(-3.0, 3.0, joints), duration)
    # a wave times an envelope that has the value 0 and two derivatives 0 at both ends
    x, w = (t / duration)[:, None], rng.uniform(2.0, 9.0, joints)
    p = np.polynomial.Polynomial([0, 0, 0, 64, -192, 192, -64])  # 64 x^3 (1 - x)^3
    e, e1, e2 = p(x), p.deriv()(x) / duration, p.deriv(2)(x) / duration**2
    s, c = np.sin(w * t[:, None]), np.cos(w * t[:, None])
    A = rng.uniform(-travel, travel, joints) / 4.0
    q = base(t) + A * e * s
    v = base.rate(t) + A * (e1 * s + e * w * c)
    a = base.acceleration(t) + A * (e2 * s + 2.0 * e1 * w * c - e * w**2 * s)
    return Motion(q, v, a, hz)
