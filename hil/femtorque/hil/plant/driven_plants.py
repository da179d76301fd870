"""Plants in time. The time advances in steps. During each call the board's voltages or torques are constant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Array, Refused
from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.plant.encoders import Encoders
from femtorque.hil.plant.motors import Motors
from femtorque.hil.plant.plant_library import library


def spread(values: ArrayLike, places: NDArray[np.intp], n: int, rest: float) -> Array:
    """Return n numbers: the given values at their indices, and `rest` at all other indices."""
    wide = np.full(n, rest)
    wide[places] = values
    return wide


class Driven(ABC):
    """Joints that motors drive."""

    n: int  # number of joints
    motors: Motors
    max_step: float  # the maximum step, s

    @property
    def current(self) -> Array:
        """Return the currents of the motors (n,), A."""
        return self.motors.current.copy()

    def drive(self, seconds: float, voltage: ArrayLike) -> None:
        """Advance the time with `voltage` (n,) V at the motors' terminals; NaN for terminals that float."""
        self._steps(seconds, np.asarray(voltage, float), np.zeros(self.n))

    def hold(self, seconds: float, voltage: ArrayLike) -> None:
        """Advance the time while brakes hold the joints, with `voltage` (n,) V at the motors: only currents change."""
        self.motors.hold(seconds, np.asarray(voltage, float))

    @abstractmethod
    def stop(self) -> None:
        """Stop all joints at once."""

    def push(self, seconds: float, torque: ArrayLike) -> None:
        """Advance the time with ideal joint torques (n,) N m (N if prismatic) and floating motor terminals."""
        self._steps(seconds, np.full(self.n, np.nan), np.asarray(torque, float))

    def move(self, seconds: float, voltage: ArrayLike, torque: ArrayLike) -> None:
        """Advance the time with voltages at the motors (n,) V and torques of drives (n,) N m."""
        self._steps(seconds, np.asarray(voltage, float), np.asarray(torque, float))

    @abstractmethod
    def _steps(self, seconds: float, voltage: Array, torque: Array) -> None:
        """Advance the time with voltages at the motors and additional torques, (n,) each."""


class Stepped(Driven):
    """A plant in C, advanced by Python or by a board. The plant's state is in C. torque: (n,) in addition to the
    motors' torque, while Python advances the plant. handle: struct for the caller of the steps (plant_steps.h)."""

    mechanism: Mechanism
    encoders: Encoders
    torque: Any  # (n,)
    arm: Any  # the C struct of this plant

    def __init__(self, n: int, motors: Motors) -> None:
        self.n, self.motors = n, motors
        ffi, _ = library()
        self.handle: Any = ffi.new("plant_steps *", {"n": n, **motors.rows.pointers("current", "volts")})
        self._failure: BaseException | None = None
        self._kept: list[Any] = []

    def _plug(self, arm: Any, take: Any, q: Any, v: Any) -> None:
        """Connect the plant to an arm in C and to the C function that advances the arm."""
        self.arm, self.handle.arm, self.handle.take, self.handle.q, self.handle.v = arm, arm, take, q, v
        self.handle.torque = library()[0].cast("double *", arm.torque)

    def _callback(self, kind: str, call: Callable[..., Any]) -> Any:
        """Return a C callback of a Python function. After an exception C gets 0, and `refusal` returns it."""

        def fail(_: type, failure: BaseException, __: object) -> None:
            self._failure = failure

        self._kept.append(library()[0].callback(kind, call, error=0, onerror=fail))
        return self._kept[-1]

    def watch(self, each: Callable[[], None]) -> None:
        """Call a function after each step, whether Python or a board advances the plant."""
        take = self.handle.take

        def one_by_one(arm: Any, h: float, count: int) -> int:
            for done in range(count):
                if take(arm, h, 1) != 1:
                    return done
                each()
            return count

        self.handle.take = self._callback("int64_t(void *, double, int64_t)", one_by_one)

    @property
    def max_step(self) -> float:
        return float(self.handle.max_step)

    @max_step.setter
    def max_step(self, seconds: float) -> None:
        self.handle.max_step = seconds

    @property
    def time(self) -> float:
        """s"""
        return float(self.arm.time)

    def _steps(self, seconds: float, voltage: Array, torque: Array) -> None:
        self.motors.volts, self.torque = voltage, torque
        count = max(1, int(np.ceil(seconds / self.max_step - 1e-9)))
        done = self.handle.take(self.arm, seconds / count, count)
        self.motors.volts, self.torque = np.full(self.n, np.nan), np.zeros(self.n)
        if done < count:
            raise self.refusal()

    def refusal(self) -> BaseException:
        """Return the reason why a step failed."""
        failure, self._failure = self._failure, None
        return failure or self._impossible()

    def _impossible(self) -> Refused:
        return Refused(f"{self.mechanism.name}: the plant's equations have no solution {self.time:.6g} s after its "
                       f"start")
