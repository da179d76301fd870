"""The emitted step, compiled with the host's C compiler.

In single precision its results are bit-identical to the chip's results."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Refused
from femtorque.codegen.emit import step_sources
from femtorque.codegen.model import AHEAD, Model, flexible_tree
from femtorque.codegen.toolchain.host_compiler import LIGHTLY, Precision, build
from femtorque.codegen.wire import position_unit

CDEF = """
typedef {real} ft_real;
typedef int{bits}_t ft_turn;
void *ft_host_state(void);
int ft_host_start(void *s, const ft_turn *q);
void ft_step_start(void *s, const ft_turn *q);
void ft_step_anchor(void *s, const ft_turn *q);
void ft_step(void *s, const void *next, ft_real *tau);
long ft_host_torque(void *s, long ticks, const void *samples, const uint32_t *modes, ft_real *tau);
void ft_host_bent(void *s, long ticks, const void *samples, ft_real *bent);
"""

HOST_SOURCE = """\
/* The step in a loop, for the host. */
#include "ft_step.h"

#include <string.h>

void *ft_host_state(void);
int ft_host_start(void *s, const ft_turn *q);
long ft_host_torque(void *s, long ticks, const void *samples,
                    const uint32_t *modes, ft_real *tau);

/* The one state of this library. */
void *ft_host_state(void)
{
    static ft_step_state state;

    return &state;
}

/* Return 1 if closed loops are at a singular pose. */
static int ft_host_stuck(const ft_step_state *s)
{
#if FT_STEP_CLOSED
    return s->fault;
#else
    return s == 0;
#endif
}

/* Start at q, on the way from the file's start. Return 1 if that fails. */
int ft_host_start(void *s, const ft_turn *q)
{
    memset(s, 0, sizeof(ft_step_state));
    ft_step_start((ft_step_state *)s, q);
    return ft_host_stuck((ft_step_state *)s);
}

/* Make one step. mode: its number and its remaining ticks. Return 1 if the
 * mode does not fit. */
static int ft_host_step(ft_step_state *s, const uint32_t *mode,
                        const ft_sample *next, ft_real *tau)
{
#if FT_STEP_MODES > 1
    if (mode[0] != s->mode)
        ft_step_enter(s, mode[0]);
    ft_step_moded(s, mode[1], next, tau);
    return s->refused;
#else
    (void)mode;
    ft_step(s, next, tau);
    return 0;
#endif
}

/* Make one step per sample. modes: per sample, number and remaining ticks; 0:
 * one mode only. Return the number of steps before a fault. If a mode does not
 * fit, return -1 minus that number. */
long ft_host_torque(void *s, long ticks, const void *samples,
                    const uint32_t *modes, ft_real *tau)
{
    ft_step_state *state = (ft_step_state *)s;
    const ft_sample *next = (const ft_sample *)samples;
    long k;

    for (k = 0; k < ticks; k++, next++) {
        if (ft_host_step(state, modes ? modes + 2 * k : modes, next,
                         tau + k * FT_JOINTS))
            return -1 - k;
        if (ft_host_stuck(state))
            return k;
    }
    return k;
}

#if defined(FT_MODES) || defined(FT_SPRINGS)
void ft_host_bent(void *s, long ticks, const void *samples, ft_real *bent);

/* Read the springs' stretches, then the modes, before the first step and after
 * every step. */
void ft_host_bent(void *s, long ticks, const void *samples, ft_real *bent)
{
    ft_step_state *state = (ft_step_state *)s;
    const ft_sample *next = (const ft_sample *)samples;
    ft_real tau[FT_JOINTS];
    long k;

    for (k = 0;; k++, next++) {
        uint32_t i;

#ifdef FT_SPRINGS
        for (i = 0; i < FT_SPRINGS; i++)
            *bent++ = state->flexible.spring[i].stretch;
#endif
#ifdef FT_MODES
        for (i = 0; i < FT_MODES; i++)
            *bent++ = state->flexible.mode[i].eta;
#endif
        if (k == ticks)
            return;
        ft_step(state, next, tau);
    }
}
#endif
"""


def cdef_of(precision: Precision) -> str:
    return CDEF.format(real="double" if precision == "double" else "float", bits=64 if precision == "double" else 32)


class Turns:
    """Conversion of positions in rad and m to integers of one precision."""

    def __init__(self, model: Model, precision: Precision) -> None:
        self.units = np.array([position_unit(joint) for joint in model.mechanism.streamed])  # wire steps, rad or m
        self.integer: type = np.int64 if precision == "double" else np.int32
        self.real: type = np.float64 if precision == "double" else np.float32
        n = self.units.shape
        self.sample = np.dtype([("q", self.integer, n), ("u", self.real, n), ("du", self.real, n)])  # ft_sample

    def of(self, positions: ArrayLike) -> NDArray[Any]:
        """Return integer positions (..., J), rounded to the nearest step and wrapped at whole turns."""
        steps = np.asarray(positions, np.float64) / self.units
        whole = np.floor(steps)
        if self.integer is np.int32:
            return _wrap(np.rint(steps)).astype(np.uint32).view(np.int32)
        part = np.rint((steps - whole) * 2.0**32)  # 32 more binary digits
        return ((_wrap(whole) << np.uint64(32)) + part.astype(np.uint64)).view(np.int64)

    def samples(self, positions: ArrayLike) -> NDArray[Any]:
        """Return ft_sample (N-1,) of a motion that begins at rest. positions (N, J), rad or m, one row per tick. u and
        du are computed in double precision and then rounded."""
        positions = np.asarray(positions, np.float64)
        u = 0.5 * np.diff(positions, axis=0)
        made = np.empty(len(u), self.sample)
        made["q"], made["u"] = self.of(positions[1:]), u
        made["du"] = 0.5 * np.diff(u, axis=0, prepend=np.zeros_like(u[:1]))
        return made


def _wrap(steps: NDArray[np.float64]) -> NDArray[np.uint64]:
    return np.mod(steps, 2.0**32).astype(np.uint64)


class CompiledStep:
    """The emitted step of a model on this computer: start(q), run(samples), torque(positions)."""

    def __init__(self, model: Model, precision: Precision = "single",
                 sources: dict[str, str] | None = None) -> None:
        """Compile the step. sources: the emitted files of this model, if the caller has them."""
        self.model = model
        self.turns = Turns(model, precision)
        if sources is None:
            sources = step_sources(model)
        self.ffi, self.lib = build(sources | {"ft_host.c": HOST_SOURCE}, cdef_of(precision), precision, LIGHTLY)
        self.state = self.lib.ft_host_state()

    def start(self, q: ArrayLike) -> None:
        """Start at rest at q (J,), rad or m. Raise Refused if closed loops cannot reach q from their start."""
        if self.lib.ft_host_start(self.state, self.ffi.from_buffer("ft_turn[]", self.turns.of(q))):
            raise Refused(f"{self.model.mechanism.name}: the loops cannot be followed from their start to the motion's")

    def run(self, samples: NDArray[Any], modes: NDArray[np.uint32] | None = None) -> NDArray[Any]:
        """Return torques (N, J), N m or for prismatic joints N. Each sample (N,) of Turns.samples is one step. modes
        (N, 2): modes as `schedule` returns them. Raise Refused if closed loops reach a singular pose, or a mode's
        constraints contradict the motion."""
        tau: NDArray[Any] = np.empty((len(samples), len(self.turns.units)), self.turns.real)
        given = self.ffi.from_buffer(np.ascontiguousarray(samples))
        if modes is None:  # the first mode throughout
            modes = np.tile(np.array([0, AHEAD], np.uint32), (len(tau), 1))
        table = self.ffi.from_buffer("uint32_t[]", np.ascontiguousarray(modes, np.uint32))
        made = self.lib.ft_host_torque(self.state, len(tau), given, table, self.ffi.from_buffer("ft_real[]", tau))
        if made < 0:
            raise Refused(f"{self.model.mechanism.name}: the mode entered in tick {-2 - made} does not fit the motion")
        if made < len(tau):
            raise Refused(f"{self.model.mechanism.name}: the motion leads through a singular pose in tick {made}")
        return tau

    def torque(self, positions: ArrayLike, modes: NDArray[np.uint32] | None = None) -> NDArray[Any]:
        """Return torques (N, J), N m or N, at s_0..s_N-1. positions (N+2, J), rad or m: samples of a motion at
        s_-1..s_N. modes (N+1, 2): modes as femtorque.codegen.model.modes.schedule returns them."""
        positions = np.asarray(positions, np.float64)
        self.start(positions[0])
        return self.run(self.turns.samples(positions), modes)[1:]

    def bent(self, positions: ArrayLike) -> NDArray[Any]:
        """Return the bending coordinates (N+2, Z) of flexible links and springs at s_-1..s_N of a motion, given as for
        `torque`. The columns begin with the stretches of springs from rest, rad or m. Modal coordinates follow, m
        sqrt(kg), in the order of the C."""
        positions, tree = np.asarray(positions, np.float64), flexible_tree(self.model.mechanism)
        links = [tree.pieces[i].tip for i in tree.beams]
        springs, modes = len(tree.springs), sum(link.modes * len(link.planes) for link in links)
        self.start(positions[0])
        samples = self.turns.samples(positions)
        found: NDArray[Any] = np.empty((len(samples) + 1, springs + modes), self.turns.real)
        self.lib.ft_host_bent(self.state, len(samples), self.ffi.from_buffer(np.ascontiguousarray(samples)),
                              self.ffi.from_buffer("ft_real[]", found))
        return found * np.where(np.arange(springs + modes) < springs, 1.0, 0.5 * self.model.dt)
