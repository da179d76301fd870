"""Requests of set-up work, which the host repeats: if it stops, the board stops the arm."""

from collections.abc import Callable, Collection, Mapping

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, BadInput, Refused, hint
from femtorque.codegen.control import WHOLE, lab_row
from femtorque.codegen.mechanism import Joint, Mechanism, in_radians
from femtorque.codegen.wire import Float, Gains, Jog, Seek, flag, per_joint
from femtorque.host.link.session import PERIOD, Session

ASK = 0.02  # time between two JOG or PROBE messages, s; the board stops if five are missing
RELEASE = 2.0  # time until a jog is at rest, s
MOST = 255 / WHOLE  # maximum factor on a gain that one byte can encode
MARGIN = 2.0  # time added to twice the board's time limit of a search, s; the joint also moves back from a stop


def joint_number(mechanism: Mechanism, name: str) -> int:
    """Return the number of a moving joint. Raises BadInput for an unknown name, with the nearest known name."""
    names = [joint.name for joint in mechanism.streamed]
    if name not in names:
        raise BadInput(mechanism.name, "joint", name, "no such joint", hint(name, names, "joints"))
    return names.index(name)


# -- zeros ------------------------------------------------------------------------------------------------------------


def sought(mechanism: Mechanism) -> list[Joint]:
    """Return the joints whose zero the board seeks, by index or stop."""
    return [j for j in mechanism.streamed if j.encoder is not None and j.encoder.zero in ("index", "stop")]


def check_zeros(session: Session, mechanism: Mechanism, declared: Collection[str] = ()) -> None:
    """Raise Refused if homing at `start` would shift zeros. declared: joints with positions from the user."""
    if not flag(session.status, "HOMED"):
        return
    believed = [joint.name not in declared and (joint.encoder is None or joint.encoder.zero == "start")
                for joint in mechanism.streamed]
    away = np.abs(session.positions() - np.array([joint.start for joint in mechanism.streamed]))
    for j in np.flatnonzero(believed & (away > session.configuration.start_tolerance)).tolist()[:1]:
        raise Refused(
            f"{session.link.port}: the joints have their zeros, and {session.joint(j)} stands {away[j]:.4g} "
            f"{session.unit(j)} from its start, so homing would shift its zero by as much; homing is not needed: go on "
            "without it (`stream --approach` moves to the start of a motion), or put the joints at their start and "
            "use `--rezero`")


def pose(mechanism: Mechanism, positions: ArrayLike, where: str) -> Array:
    """Return a pose (J,), rad or m. Raises BadInput for a position outside the joint's limits."""
    told = per_joint(positions, mechanism.streamed, where, "position", alone=True)
    for joint, value in zip(mechanism.streamed, told.tolist(), strict=True):
        limits = joint.limits
        if not limits.lower <= value <= limits.upper:
            raise BadInput(where, joint.name, value,
                           f"is outside the joint's limits {limits.lower:g} .. {limits.upper:g}",
                           "" if joint.type == "prismatic" else in_radians(value, limits.lower, limits.upper))
    return told


def home(session: Session, mechanism: Mechanism, declared: Mapping[str, float] | None = None,
         on_joint: Callable[[str, str], None] = lambda joint, how: None) -> None:
    """Set every joint's zero by its encoder's method, in the file's order, while all other joints are held. The board
    is DISARMED afterwards. declared: positions by joint, rad or m, read from a scale. Raises BadInput for a missing
    position or one outside the limits, and Refused if a zero is not found."""
    declared = dict(declared or {})
    for name in declared:
        joint_number(mechanism, name)
    for joint in mechanism.streamed:
        if joint.encoder is not None and joint.encoder.zero == "absolute" and joint.name not in declared:
            raise BadInput("command line", "--at", None, f"joint {joint.name!r} is homed by an absolute reading",
                           f"read its scale: --at {joint.name}=ANGLE")
    session.home(pose(mechanism, [declared.get(j.name, j.start) for j in mechanism.streamed], "home"))
    for joint in mechanism.streamed:
        on_joint(joint.name, "told" if joint.name in declared else joint.encoder.zero if joint.encoder else "start")
    waiting = [j for j in sought(mechanism) if j.name not in declared]
    try:
        for joint in waiting:
            _seek(session, mechanism, joint)
            on_joint(joint.name, "found")
    finally:
        if session.in_state("HOMING"):
            session.disarm()


def _seek(session: Session, mechanism: Mechanism, joint: Joint) -> None:
    session.ask(Seek(0, joint_number(mechanism, joint.name)), "SEEK")
    longest = 2.0 * lab_row(mechanism, joint).seek_ticks / mechanism.control.rate_hz + MARGIN
    deadline = session.clock.now() + longest
    while session.in_state("HOMING") and (flag(session.status, "SEEKING") or session.posted):
        if session.clock.now() > deadline:
            session.disarm()
            raise Refused(f"{session.link.port}: {joint.name} did not finish homing in {longest:.0f} s")
        session.pump()
        session.clock.sleep(PERIOD)
    session.faulted()
    if not session.in_state("HOMING"):
        raise Refused(f"{session.link.port}: homing of {joint.name} was broken off; {session.describe()}")


# -- by hand ----------------------------------------------------------------------------------------------------------


def float_arm(session: Session, friction: int, until: Callable[[], bool]) -> None:
    """Compensate gravity and `friction` per cent of the Coulomb friction until another command. Then hold the arm.
    The board must be in the state HOLD. Raises Refused with the board's reason. A fault ends the float."""
    if not 0 <= friction <= 80:
        raise BadInput("command line", "--friction", friction, "must be 0 to 80 per cent",
                       "overcompensated friction would move the arm")
    session.ask(Float(0, friction), "FLOAT")
    while not until():
        session.pump()
        session.faulted()
        if not session.in_state("FLOAT"):
            raise Refused(f"{session.link.port}: the arm no longer floats; {session.describe()}")
        session.clock.sleep(PERIOD)
    session.command("STOP")
    session.wait(lambda: session.in_state("HOLD"), 1.0, "took STOP but did not hold")


def jog_rate(mechanism: Mechanism, joint: int) -> float:
    """Return the maximum velocity at which `jog` may move a joint, rad/s or m/s."""
    return lab_row(mechanism, mechanism.streamed[joint]).jog_velocity


def check_jog(mechanism: Mechanism, joint: int, rate: float, seconds: float) -> None:
    """Raise BadInput for a velocity, rad/s or m/s, beyond `jog_rate`, or for a time that is not positive."""
    most, name = jog_rate(mechanism, joint), mechanism.streamed[joint].name
    if not abs(rate) <= most:
        raise BadInput("jog", "rate", rate, f"must be within {-most:g} .. {most:g} for {name}",
                       "[safety] jog_speed is the share of limits.velocity")
    if not seconds >= 0.0:
        raise BadInput("jog", "seconds", seconds, "must be 0 or more")


def jog(session: Session, joint: int, rate: float, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
    """Move one joint at a velocity, rad/s or m/s, for some time or until another command; return at rest."""
    session.ask(Jog(0, joint, rate), "JOG")
    end, asked = session.clock.now() + seconds, session.clock.now()
    while session.clock.now() < end and not until():
        session.pump()
        session.faulted()
        if session.clock.now() - asked >= ASK:
            session.refusal("JOG")
            session.tell(Jog(0, joint, rate))
            asked = session.clock.now()
        session.clock.sleep(PERIOD)
    session.wait(lambda: not session.in_state("JOG"), RELEASE, "did not stop jogging")
    session.faulted()


def overlay(session: Session, joint: int, ku: float = 1.0, kv: float = 1.0, ki: float = 1.0) -> None:
    """Multiply one joint's gains within [safety] gain_overlay. Every STATUS shows the overlay."""
    if not all(0.0 <= factor <= MOST for factor in (ku, kv, ki)):
        raise BadInput("command line", "gains", (ku, kv, ki), f"must be factors of 0 to {MOST:.3g} on the file's gains")
    session.ask(Gains(0, joint, *(round(WHOLE * factor) for factor in (ku, kv, ki))), "GAINS")
