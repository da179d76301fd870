"""Constants of the lab modes and of the reactions to faults, for ft_config: one row per joint, and one number per
fault.

Comments at the constants below give the default values of keys that the mechanism file omits."""

import math
from dataclasses import dataclass

from femtorque.codegen.control.gravity_load import resolved
from femtorque.codegen.control.table import INT64, REAL, UINT32, member
from femtorque.codegen.mechanism import Home, Joint, Mechanism, refuse
from femtorque.codegen.wire import messages, position_unit, to_wire

SEEK = {"start": 0, "absolute": 0, "index": 1, "stop": 2}  # FT_SEEK_NONE, _INDEX, _STOP
SEEK_SPEED = 0.05  # of limits.velocity
SEEK_EFFORT = 0.25  # of limits.effort
SEEK_SLACK = 1.5, 1.0  # factor on the travel time, and added seconds
PRESS_S = 0.05  # time for which the joint presses against the stop, s
INSIDE = 0.02  # distance inside its limits to which a joint moves after the search for its zero, rad or m
JOG_RAMP_S = 0.25  # time from rest to the jog velocity, s
FRICTION_VELOCITY = {False: 0.05, True: 0.005}  # velocity below which float mode reduces friction compensation
PROBE_TRAVEL = {False: 0.35, True: 0.02}  # maximum travel of a joint during a probe, rad or m
HOT = ("OVER_TEMPERATURE", "OVERLOAD")  # faults after which the arm parks if [safety.park] sets heat
WHOLE = 64  # the overlay stores gains in 64ths of the file's gains


@dataclass(frozen=True)
class LabConstants:
    """The row of one joint in ft_lab_joint."""

    float_velocity: float = member(REAL, "rad/s, m/s: above it a joint is damped")
    friction_slope: float = member(REAL, "N m s/rad, about rest")
    coarse_unit: float = member(REAL, "rad or m per coarse position")
    jog_velocity: float = member(REAL, "rad/s, m/s: largest velocity of a jog")
    velocity_step: float = member(REAL, "rad/s, m/s per tick")
    stop_distance: float = member(REAL, "rad per (rad/s)^2, to stop")
    probe_torque: float = member(REAL, "N m: largest torque of a probe")
    seek_velocity: float = member(REAL, "rad/s, m/s, signed")
    seek_torque: float = member(REAL, "N m")
    retract: float = member(REAL, "rad, m: from the zero to inside the limits")
    home: int = member(INT64, "wire position at index or stop")
    seek: int = member(UINT32, "FT_SEEK_")
    seek_ticks: int = member(UINT32, "largest duration of the search")
    seek_counts: int = member(UINT32, "largest travel of the search")
    probe_counts: int = member(UINT32, "largest travel of a probe")


def lab_constants(mechanism: Mechanism, joint: Joint, speed: float, effort: float, count: float) -> LabConstants:
    """Return the constants of one joint for the lab modes. speed, effort: limits of the joint. count: size of an
    encoder count, rad or m."""
    hz, safety, slides = float(mechanism.control.rate_hz), mechanism.safety, joint.type == "prismatic"
    home = joint.home or Home()
    jog_velocity = safety.jog_speed * speed
    acceleration = jog_velocity / JOG_RAMP_S
    seek_velocity = home.speed or SEEK_SPEED * speed
    if joint.encoder and joint.encoder.zero == "index":
        seek_velocity = _slow_enough(mechanism, joint, home, seek_velocity, abs(count) * hz)
    far = home.travel or travel(joint)
    slack, more = SEEK_SLACK
    counts = [min(math.ceil(most / abs(count)), 2**31 - 1) for most in (far, PROBE_TRAVEL[slides])]
    return LabConstants(
        float_velocity=safety.float_speed * speed,
        friction_slope=joint.friction.coulomb / FRICTION_VELOCITY[slides],
        coarse_unit=position_unit(joint) * 2**8,
        jog_velocity=jog_velocity,
        velocity_step=acceleration / hz,
        stop_distance=0.5 / acceleration,
        probe_torque=safety.probe_effort * effort,
        seek_velocity=home.direction * seek_velocity,
        seek_torque=home.effort or SEEK_EFFORT * effort,
        retract=_retract(joint, home),
        seek=SEEK[joint.encoder.zero] if joint.encoder else 0,
        home=int(to_wire([home.at], [joint])[0]),
        seek_ticks=min(math.ceil((slack * far / seek_velocity + more) * hz), 2**32 - 1),
        seek_counts=counts[0],
        probe_counts=counts[1],
    )


def _slow_enough(mechanism: Mechanism, joint: Joint, home: Home, rate: float, most: float) -> float:
    """Return a seek speed of at most one count per tick, since an index pulse is a count wide and is read in ticks."""
    if home.speed and home.speed > most:
        refuse(mechanism, f"joint.{joint.name}.home.speed", home.speed, "would pass the index between two ticks",
               f"at most {most:.3g}")
    return home.speed or min(rate, 0.5 * most)


def travel(joint: Joint) -> float:
    """Return 1.1 times the joint's range. For a joint without limits return one turn, or 1 m for a prismatic joint."""
    whole = joint.limits.upper - joint.limits.lower
    return 1.1 * whole if math.isfinite(whole) else 1.0 if joint.type == "prismatic" else 2.0 * math.pi


def _retract(joint: Joint, home: Home) -> float:
    """Return the travel from home.at, opposite to home.direction, that brings the joint inside its limits."""
    if home.direction < 0:
        return max(0.0, joint.limits.lower + INSIDE - home.at)
    return max(0.0, home.at - (joint.limits.upper - INSIDE))


def reactions(mechanism: Mechanism) -> list[tuple[str, str]]:
    """Return (fault, reaction) as messages.FAULT_CLASSES assigns them, in the order of the faults' numbers.
    [safety.park] may assign "park" to overheating and to a low supply."""
    safety = resolved(mechanism)
    chosen = {fault: getattr(safety, name)
              for name, (faults, _, _) in messages.FAULT_CLASSES.items() for fault in faults}
    if safety.park is not None:
        chosen |= dict.fromkeys(HOT, "park") if safety.park.heat else {}
        chosen |= {"LOW_SUPPLY": "park"} if safety.park.supply_v is not None else {}
    by_number = sorted(messages.FAULTS, key=lambda fault: messages.FAULTS[fault][0])
    return [(fault, chosen.get(fault, "coast")) for fault in by_number]


def overlay(mechanism: Mechanism) -> tuple[int, int]:
    """Return the smallest and the largest gain factor of the overlay, in 64ths of the file's gain."""
    least, most = mechanism.safety.gain_overlay
    return math.ceil(least * WHOLE), math.floor(most * WHOLE)
