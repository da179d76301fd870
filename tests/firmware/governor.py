"""The governor of one joint alone on this computer (governor_host.c)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.control import follow
from femtorque.codegen.drive import application
from femtorque.codegen.emit import sources as emit
from femtorque.codegen.toolchain import Precision
from femtorque.codegen.toolchain.host_compiler import build
from tests.firmware.motion import mechanism

HERE = Path(__file__).resolve().parent
STATE = np.dtype([("p", "f8"), ("v", "f8"), ("a", "f8")])

CDEF = """
typedef struct { double p, v, a; } sample;
typedef struct { double p, v, a, j, uneven; uint64_t followed, restless; } record;
void governor_limits(double lo, double hi, double v, double a, double j);
void governor_run(long n, const sample *aim, sample *state, uint8_t *why);
void governor_storm(long n, uint64_t seed, double sane, record *r);
"""

ROW = f"""
#include "ft_config.h"
#include "ft_model.h"

#define INSIDE {follow.INSIDE!r}
#define ROW_DT (1.0 / (double)FT_TICK_HZ)

/* As codegen makes it of a joint's limits. */
static ft_follow_config row_of(double v, double a, double j)
{{
    ft_follow_config c = {{ 0 }};

    v *= 1.0 - INSIDE;
    a *= 1.0 - INSIDE;
    c.near_a = (ft_real)(j * ROW_DT * (1.0 - INSIDE));
    j = j * (1.0 - INSIDE) - {follow.ROUNDED!r} * a / ROW_DT;
    c.velocity = (ft_real)v;
    c.acceleration = (ft_real)a;
    c.jerk = (ft_real)j;
    c.per_jerk = (ft_real)(1.0 / j);
    c.per_acceleration = (ft_real)(1.0 / a);
    c.build_up = (ft_real)(2.0 * a / j);
    c.near_v = (ft_real)({follow.UNEVEN_V!r} * j * ROW_DT * ROW_DT
                         + {follow.ROUNDED!r} * v);
    c.near_p = (ft_real)({follow.UNEVEN_P!r} * j * ROW_DT * ROW_DT * ROW_DT
                         + {follow.ROUNDED_P!r});
    return c;
}}
"""


class Governor:
    """The governor of one joint with the joint's limits."""

    def __init__(self, rate_hz: int = 1000, precision: Precision = "single") -> None:
        self.ffi, self.lib = _built(rate_hz, precision)

    def limits(self, lower: float, upper: float, velocity: float, acceleration: float, jerk: float) -> Governor:
        self.lib.governor_limits(lower, upper, velocity, acceleration, jerk)
        return self

    def run(self, aims: NDArray[Any], start: ArrayLike = (0.0, 0.0, 0.0)) -> tuple[NDArray[Any], NDArray[Any]]:
        """Move towards samples (n,) of STATE. Return the state after each tick and the limits that acted."""
        aims = np.ascontiguousarray(aims, STATE)
        states, why = np.zeros(len(aims), STATE), np.zeros(len(aims), np.uint8)
        states[0] = tuple(np.asarray(start, float))
        cast = self.ffi.cast
        self.lib.governor_run(len(aims), cast("sample *", aims.ctypes.data), cast("sample *", states.ctypes.data),
                              cast("uint8_t *", why.ctypes.data))
        return states, why

    def storm(self, ticks: int, seed: int = 1, sane: float = 0.8) -> Any:
        """Return the largest values against hostile references, relative to the limits."""
        record = self.ffi.new("record *", {"p": -np.inf})
        self.lib.governor_storm(ticks, seed, sane, record)
        return record


@cache
def _built(rate_hz: int, precision: Precision) -> tuple[Any, Any]:
    emitted = emit.sources(mechanism(rate_hz, 250, joints=1), None)
    names = ("ft_model.h", "ft_config.h", "ft_messages.h")
    own = ("ft_governor.c", "ft_governor.h", "ft_catch_up.c", "ft_ramp.c", "ft_ramp.h", "ft_number.h",
           "ft_compiler.h", "ft_outlook.h", "ft_reference.h")
    files = {name: emitted[name] for name in names} | {n: application()[n].read_text() for n in own}
    files |= {"ft_follow_row.h": ROW, **{f"governor_host.{x}": (HERE / f"governor_host.{x}").read_text() for x in "ch"}}
    return build(files, CDEF, precision, ("-O2", "-lm"))
