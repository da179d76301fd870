"""Warnings about a PC as the board: missing hardware, the end of the PC, and adapters without measured times."""

from femtorque.codegen.board import LOST, fieldbus, on_pc
from femtorque.codegen.common import square
from femtorque.codegen.control import watchdog_s
from femtorque.codegen.mechanism import Joint, Mechanism


def pc_words(mechanism: Mechanism) -> list[str]:
    """Return lines on the limits of a PC as the board. Return no lines for another board."""
    if not on_pc(mechanism):
        return []
    endless, own = fieldbus.endless(mechanism), [joint.name for _, joint, _ in fieldbus.drives(mechanism)]
    held = [joint.name for joint in mechanism.streamed if fieldbus.held(joint)]
    limited = [name for name in own if name not in endless and name not in held]
    said = [f"{mechanism.name} on a PC at {mechanism.control.rate_hz} Hz: {LOST}"]
    if limited:
        said.append(f"{', '.join(limited)}: when the PC dies, their own time limit lets them go, "
                    f"{1e3 * watchdog_s(mechanism):.3g} ms after the last command")
    if endless:
        said.append(f"{', '.join(endless)}: no time limit of theirs is sure: when the PC dies they go on with the last "
                    "command until their supply is cut, which [board] accept says")
    said += [f"{joint.name}: when the PC dies it moves on by up to {run_on(joint) * joint.limits.velocity:.2g} rad "
             f"from full velocity ({run_on(joint):.2g} s times the velocity); its servo holds it there, and stays warm"
             for joint in mechanism.streamed if joint.name in held]
    unknown = [bus.name for bus in fieldbus.used_buses(mechanism).values() if bus.delay is None or bus.jitter is None]
    if unknown:
        said.append(f"{', '.join(unknown)}: delay and jitter of the adapter are the board file's, not measured: "
                    "`femtorque bus latency --write`")
    return said


def run_on(joint: Joint) -> float:
    """Return the largest distance that a joint on a servo's own loop moves on after the PC's end, divided by its
    velocity, s. The goal leads by the back-EMF of the motion. An underdamped loop overshoots by as much again."""
    assert joint.motor is not None
    return 2.0 * square(joint.motor.gear * joint.motor.K) / joint.motor.R / joint.gains.ku
