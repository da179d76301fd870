"""The image's C for streamed motions, on this computer: knots -> ring buffer -> quintic polynomial -> ft_step. The
library contains the trajectory functions of the application and the emitted step, but no control law and no link. Input
and output of this C are arrays."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Refused
from femtorque.codegen.drive import application
from femtorque.codegen.emit import sources
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.motion import Knots
from femtorque.codegen.toolchain.host_compiler import LIGHTLY, Precision, build
from femtorque.codegen.toolchain.step_library import Turns

SOURCES = ("ft_motion", "ft_pace", "ft_path", "ft_queue", "ft_segment")
HEADERS = ("ft_compiler", "ft_events", "ft_findings", "ft_loops", "ft_number", "ft_position")

CDEF = """
typedef {real} ft_real;
typedef int{bits}_t ft_turn;
long ft_path_torque(long knots, long held, const void *state, const ft_turn *q, const ft_real *rate,
                    const ft_real *acceleration, const uint8_t *mode, ft_real *tau, ft_real *u, ft_turn *target);
unsigned long ft_path_state_bytes(void);
"""

HOST_SOURCE = """\
/* The motion and the step between two arrays, for the host. */
#include "ft_loops.h"
#include "ft_messages.h"
#include "ft_motion.h"
#include "ft_events.h"
#include "ft_step.h"

#include <string.h>

long ft_path_torque(long knots, long held, const void *state,
                    const ft_turn *q, const ft_real *rate,
                    const ft_real *acceleration, const uint8_t *mode,
                    ft_real *tau, ft_real *u, ft_turn *target);
unsigned long ft_path_state_bytes(void);

/* Return the size of the step's state. */
unsigned long ft_path_state_bytes(void)
{
    return (unsigned long)sizeof(ft_step_state);
}

static ft_knot knot(const ft_turn *q, const ft_real *rate,
                    const ft_real *acceleration)
{
    ft_knot k;

    memcpy(k.q, q, sizeof k.q);
    memcpy(k.velocity, rate, sizeof k.velocity);
    memcpy(k.acceleration, acceleration, sizeof k.acceleration);
    return k;
}

/* Push segments while there is room. Return the next knot. */
static long fill(ft_queue *to, long next, long knots, const ft_turn *q,
                 const ft_real *rate, const ft_real *acceleration,
                 const uint8_t *mode)
{
    for (; next < knots && ft_queue_credit(to) > 0; next++) {
        ft_knot k = knot(q + next * FT_JOINTS, rate + next * FT_JOINTS,
                         acceleration + next * FT_JOINTS);
        ft_segment *g = ft_queue_slot(to);

        ft_segment_build(g, &to->last, &k);
        g->mode = mode[next - 1];
        g->flags = (uint8_t)(to->begun | (next + 1 == knots ? FT_KNOT_END : 0));
        ft_queue_push(to, &k);
    }
    return next;
}

/* Play all knots from a state of the step. Without a state, hold the first
 * knot for `held` ticks; -1: start half a tick before it. mode: from each knot
 * on. Per tick: torque, half the travel from its middle to the next one's, and
 * the target at its end. Return the ticks. */
long ft_path_torque(long knots, long held, const void *state,
                    const ft_turn *q, const ft_real *rate,
                    const ft_real *acceleration, const uint8_t *mode,
                    ft_real *tau, ft_real *u, ft_turn *target)
{
    static ft_sample rest;
    static ft_motion m;
    static ft_step_state s;
    ft_turn before[FT_JOINTS];
    ft_real primed[FT_JOINTS];
    long next, k, ticks = (knots - 1) * FT_TICKS_PER_KNOT;
    ft_knot first = knot(q, rate, acceleration);

    ft_motion_clear(&m);
    ft_queue_open(&m.queue, &first);
    next = fill(&m.queue, 1, knots, q, rate, acceleration, mode);
    ft_path_place(before, ft_queue_tail(&m.queue), -FT_HALF_ONE);
    memset(&s, 0, sizeof s);
    ft_step_start(&s, held < 0 ? before : first.q);
    memcpy(rest.q, first.q, sizeof rest.q);
    for (; held > 0; held--)
        ft_step(&s, &rest, primed);
    if (held == 0)
        ft_step_anchor(&s, first.q);
    if (state != 0)
        memcpy(&s, state, sizeof s);
    ft_motion_start(&m);
    for (k = -1; k < ticks; k++) {
        ft_motion_prepare(&m);
        ft_motion_tick(&m);
        if (!ft_loops_step(&s, &m, k < 0 ? primed : tau + k * FT_JOINTS))
            return -1;
        next = fill(&m.queue, next, knots, q, rate, acceleration, mode);
        if (k < 0)
            continue;
        memcpy(u + k * FT_JOINTS, m.next.u, sizeof m.next.u);
        memcpy(target + k * FT_JOINTS, m.newest->q, sizeof m.newest->q);
    }
    return m.phase == FT_MOTION_IDLE && !ft_loops_lost(&s) ? ticks : -1;
}
"""


class CompiledPath:
    """The path library of one mechanism. step: the emitted step, if known. Raise Refused if the C does not compile."""

    def __init__(self, mechanism: Mechanism, precision: Precision = "single",
                 step: dict[str, str] | None = None) -> None:
        self.mechanism = mechanism
        self.turns = Turns(Model.of(mechanism), precision)
        double = precision == "double"
        declarations = CDEF.format(real="double" if double else "float", bits=64 if double else 32)
        self.ffi, self.lib = build(_sources(mechanism, step), declarations, precision, LIGHTLY)

    def torque(self, knots: Knots) -> NDArray[Any]:
        """Return tau_ID (N, J), N m or N, at the middles of all ticks of a motion. knots: the motion's knots in wire
        units."""
        q = np.asarray(knots.position, np.int64)
        if self.turns.integer is np.int64:
            q = q << 32
        return self.run(q, knots.rate, knots.acceleration, mode=knots.mode)[0]

    def torque_at(self, positions: ArrayLike, rates: ArrayLike, accelerations: ArrayLike) -> NDArray[Any]:
        """Return torques from knots (K, J) in rad or m. The function rounds positions to integers of this precision."""
        return self.run(self.turns.of(positions), rates, accelerations)[0]

    def run(self, q: ArrayLike, rates: ArrayLike, accelerations: ArrayLike, held: int = -1,
            mode: ArrayLike | None = None, state: bytes | None = None) -> tuple[NDArray[Any], ...]:
        """Return (torque, u, target), each (N, J). q: integer positions (K, J). rates and accelerations are in rad or
        m, and s. held: number of ticks at rest at the first knot before the motion, as on a board in HOLD; -1 to start
        half a tick before the first knot. mode (K,): mode from each knot on. state: state of a board's step, from which
        the run continues; single precision. u: half of the travel from each tick's middle to the next, rad or m.
        target: integer positions at the ticks' ends. Raise Refused if closed loops or modes stop the motion."""
        if state is not None and len(state) != self.lib.ft_path_state_bytes():
            raise AssertionError("the board's step keeps other things than this one")
        integer, real = self.turns.integer, self.turns.real
        arrays: list[NDArray[Any]] = [
            np.ascontiguousarray(q, integer), *(np.ascontiguousarray(x, real) for x in (rates, accelerations))]
        control = self.mechanism.control
        ticks = (len(arrays[0]) - 1) * (control.rate_hz // control.knot_hz)
        shape = (ticks, arrays[0].shape[1])
        out: list[NDArray[Any]] = [np.empty(shape, real), np.empty(shape, real), np.empty(shape, integer)]
        pointers = [self.ffi.from_buffer("ft_turn[]" if a.dtype == integer else "ft_real[]", a) for a in arrays + out]
        modes = np.zeros(len(arrays[0]), np.uint8) if mode is None else np.ascontiguousarray(mode, np.uint8)
        begin = self.ffi.NULL if state is None else self.ffi.from_buffer(state)
        played = self.lib.ft_path_torque(len(arrays[0]), held, begin, *pointers[:3],
                                         self.ffi.from_buffer("uint8_t[]", modes), *pointers[3:])
        if played != ticks:
            raise Refused(f"{self.mechanism.name}: closed loops or a mode stop the motion before its last knot")
        return tuple(out)


def _sources(mechanism: Mechanism, step: dict[str, str] | None) -> dict[str, str]:
    """Return the C files: emitted files, the application's trajectory functions, and a C loop over arrays."""
    emitted = sources.sources(mechanism, None, step=step)
    files = {n: t for n, t in emitted.items() if n not in ("ft_digest.h", "ft_messages.c")}
    names = [f"{n}.{kind}" for n in SOURCES for kind in "ch"] + [f"{n}.h" for n in HEADERS]
    paths = application()
    return files | {n: paths[n].read_text(encoding="utf-8") for n in names} | {"ft_host.c": HOST_SOURCE}
