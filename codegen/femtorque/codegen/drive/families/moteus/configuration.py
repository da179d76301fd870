"""The configuration of a moteus. No register reports it; see docs/reference/configuration.md of mjbots/moteus.

The command `conf enumerate` prints these lines. The printed values are active in the drive, whether or not they are
stored."""

import math
from collections.abc import Callable

from femtorque.codegen.drive.family import Configuration, Configured, Fitted

NEAR = 5e-3  # relative tolerance of a gain: less than the resolution of a command's gain factor
LETS_GO, DAMPS, SHORTS = 0, 12, 15  # values of servo.timeout_mode; mode 10 holds a position with full gains


def _gain(name: str, of: Callable[[Fitted], float]) -> Configured:
    """Return the rule for a gain, in N m per turn. If the board closes the loop, any gain is allowed."""
    return Configured(f"servo.pid_position.{name}",
                      lambda d, x: not d.closes or math.isclose(x, math.tau * of(d), rel_tol=NEAR),
                      lambda d: f"{math.tau * of(d):.6g}, 2 pi times drive.{name}")


def _is(name: str, value: float, why: str) -> Configured:
    return Configured(name, lambda d, x: x == value, lambda d: f"{value:g}: {why}")


def _none(name: str) -> Configured:
    return Configured(name, lambda d, x: math.isnan(x), lambda d: "nan: it would change the target")


def _off(name: str) -> Configured:
    """Return the rule for a limit at which the drive stops; the factory value is NaN."""
    return Configured(name, lambda d, x: math.isnan(x), lambda d: "nan: the board bounds the error",
                      newer=True)


def _end(name: str, side: int) -> Configured:
    """Return the rule for an end of the drive's position range, which must lie outside the joint's range."""
    def turns(d: Fitted) -> float | None:
        return None if d.reach is None else d.reach[side > 0] / math.tau

    def right(d: Fitted, x: float) -> bool:
        end = turns(d)
        return math.isnan(x) or (end is not None and side * x >= side * end)

    def words(d: Fitted) -> str:
        end = turns(d)
        return "nan: where its zero is at power-up is not known" if end is None else (
            f"nan, or {'at least' if side > 0 else 'at most'} {end:.4g}, where its joint goes")

    return Configured(f"servopos.position_{name}", right, words)


CONFIGURATION = Configuration(
    tool="moteus_tool -t {ids} --dump-config",
    number="id.id",
    rules=(
        _gain("kp", lambda d: d.type.kp),
        _gain("kd", lambda d: d.type.kd),
        _is("servo.pid_position.sign", -1.0, "else its loop is unstable"),
        _is("servo.pid_position.ilimit", 0.0, "an integral fights the model"),
        _is("servo.pid_position.max_desired_rate", 0.0, "it would change the target"),
        _is("servo.inertia_feedforward", 0.0, "the board knows the inertia"),
        _is("servo.voltage_mode_control", 0.0, "else its torques are none"),
        _is("servo.fixed_voltage_mode", 0.0, "else it is a stepper"),
        _none("servo.max_position_slip"),
        _none("servo.max_velocity_slip"),
        _off("servo.fault_position_error"),
        _off("servo.fault_velocity_error"),
        Configured("servo.max_velocity", lambda d, x: x >= d.speed / math.tau,
                   lambda d: f"at least {d.speed / math.tau:.4g}, as fast as its joint goes"),
        Configured("servo.timeout_mode", lambda d, x: x in (LETS_GO, DAMPS, SHORTS),
                   lambda d: f"{LETS_GO}, {DAMPS} or {SHORTS}: left alone it must come to rest"),
        _end("min", -1),
        _end("max", 1),
    ),
    own=("motor.poles", "motor.phase_invert", "motor.Kv", "motor_position.sources.0", "motor_position.sources.1",
         "motor_position.sources.2", "motor_position.commutation_source", "motor_position.output",
         "motor_position.rotor_to_output_ratio", "servo.max_current_A", "servo.default_timeout_s",
         "servo.timeout_max_torque_Nm"))
