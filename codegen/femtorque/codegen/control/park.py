"""Constants of parking, for ft_config: the park pose and the speed of the motion. FOLLOW's governor moves every joint
directly to its park position, with limits scaled down from FOLLOW's limits. Each joint stays between its start and its
park position, so the arm stays in the box of the joints' ranges. A mechanism with closed loops cannot park, because its
loops cannot be closed at every point of this box."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from femtorque.codegen.board import Board
from femtorque.codegen.common import BadInput
from femtorque.codegen.control.follow import BOUNDLESS, FollowConstants, Limits, follow_row, unfollowed
from femtorque.codegen.control.gravity_load import each_mode
from femtorque.codegen.mechanism import Joint, Mechanism, Park
from femtorque.codegen.model import Model, assemble
from femtorque.codegen.reference import newton_euler
from femtorque.codegen.wire import to_wire

SPARE = 1.5  # factor on the minimum duration of the parking motion
SPARE_S = 0.5  # time added to this duration, s; the motors switch off after the sum
SAGS_S = 0.02  # duration of low supply until the board reacts, s; the dip when a motor starts is shorter


@dataclass(frozen=True)
class Parking:
    """Constants of parking."""

    rows: list[FollowConstants]  # velocity, acceleration and jerk limits, scaled down from FOLLOW's limits
    pose: list[int]  # wire positions
    endless: int  # bit mask of the continuous joints, which turn by at most half a turn
    seconds: float  # duration of the longest motion, s
    ticks: int
    heat: int  # 1 if overheating starts parking, else 0
    volts: float | None  # supply voltage below which the arm parks, V; None if the arm ignores this voltage
    sags: int


def checked(mechanism: Mechanism) -> Park | None:
    """Return [safety.park] after all checks, or None without this table. Raise BadInput that names the file's key."""
    park = mechanism.safety.park
    if park is None:
        return None
    where, key = mechanism.source or mechanism.name, "safety.park.pose"
    if why := _unparked(mechanism):
        raise BadInput(where, "safety.park", None, why, 'remove it: host = "hold" stays where it is')
    names = [joint.name for joint in mechanism.streamed]
    for name in park.pose:
        if name not in names:
            raise BadInput(where, f"{key}.{name}", park.pose[name], "is no joint that is driven", ", ".join(names))
    for joint in mechanism.streamed:
        if joint.name not in park.pose:
            raise BadInput(where, key, park.pose, f"must say where {joint.name} lies",
                           f"{joint.name} = {joint.start:g}")
        at, limits = park.pose[joint.name], joint.limits
        if not limits.lower <= at <= limits.upper:
            raise BadInput(where, f"{key}.{joint.name}", at, "is outside the joint's limits",
                           f"{limits.lower:g} to {limits.upper:g}")
    return park


def _unparked(mechanism: Mechanism) -> str:
    """Return the reason why a mechanism cannot park; '' if it can."""
    if why := wayless(mechanism):
        return why
    for joint in mechanism.streamed:
        if joint.type != "continuous" and not math.isfinite(joint.limits.upper - joint.limits.lower):
            return f"needs limits of position of joint {joint.name}: without them its way may take any time"
    return ""


def wayless(mechanism: Mechanism) -> str:
    """Return the reason why the board cannot plan a motion of this mechanism to a pose; '' if the board can."""
    if why := unfollowed(mechanism):
        return f"needs what follows targets on the board, which this mechanism cannot: {why}"
    if any(assemble(Model.of(one)).dependent for _, one in each_mode(mechanism)):
        return "has no way that is known to be free: closed loops do not close everywhere within the limits"
    return ""


def parking(mechanism: Mechanism, board: Board | None, limits: Sequence[Limits],
            supply: tuple[float, float]) -> Parking | None:
    """Return the constants of parking; None if the file has no park pose. Raise BadInput that names the key of the
    mechanism file. limits: limits of FOLLOW. supply: lowest and nominal voltage, V."""
    park = checked(mechanism)
    if park is None:
        return None
    joints, hz = mechanism.streamed, mechanism.control.rate_hz
    slow = [_slow(one, park.speed) for one in limits]
    rows = slow_rows(mechanism, limits, park.speed)
    wire = [int(x) for x in to_wire([park.pose[joint.name] for joint in joints], joints)]
    seconds = max(_seconds(joint, one) for joint, one in zip(joints, slow, strict=True))
    return Parking(
        rows=rows, pose=[min(max(at, row.lower), row.upper) for at, row in zip(wire, rows, strict=True)],
        endless=sum(1 << j for j, row in enumerate(rows) if row.upper == BOUNDLESS and row.lower == -BOUNDLESS),
        seconds=seconds, ticks=math.ceil((SPARE * seconds + SPARE_S) * hz), heat=int(park.heat),
        volts=_volts(mechanism, board, park, supply), sags=max(2, round(SAGS_S * hz)))


def slow_rows(mechanism: Mechanism, limits: Sequence[Limits], share: float) -> list[FollowConstants]:
    """Return FOLLOW's row of every joint with limits scaled by `share`, for motions that the board plans."""
    return [follow_row(joint, _slow(one, share), 1.0 / mechanism.control.rate_hz)
            for joint, one in zip(mechanism.streamed, limits, strict=True)]


def _slow(limits: Limits, share: float) -> Limits:
    return Limits(*(share * x for x in (limits.velocity, limits.acceleration, limits.jerk)))


def _seconds(joint: Joint, limits: Limits) -> float:
    """Return an upper limit of the time between two positions of a joint, s: its range at full velocity, two ramps."""
    way = math.pi if joint.type == "continuous" else joint.limits.upper - joint.limits.lower
    return way / limits.velocity + limits.velocity / limits.acceleration + limits.acceleration / limits.jerk


def _volts(mechanism: Mechanism, board: Board | None, park: Park, supply: tuple[float, float]) -> float | None:
    if park.supply_v is None:
        return None
    where, key, (low, nominal) = mechanism.source or mechanism.name, "safety.park.supply_v", supply
    if board is not None and board.sense.bus is None:
        raise BadInput(where, key, park.supply_v, f"board {board.name!r} does not measure the motors' supply",
                       "remove it")
    if mechanism.board is not None and not low < park.supply_v < nominal:
        raise BadInput(where, key, park.supply_v,
                       f"must be between {low:.3g} V, where the motors are let go at once, and the nominal",
                       f"{low:.3g} to {nominal:.3g}")
    return park.supply_v


def lying(mechanism: Mechanism) -> dict[str, float] | None:
    """Return the gravity torque, N m or N, on each joint that falls from the park pose; None without a pose."""
    park = checked(mechanism)
    if park is None:
        return None
    falls: dict[str, float] = {}
    for _, one in each_mode(mechanism):
        model = Model.of(one)
        pose = np.array([[park.pose.get(body.joint.name, body.joint.start) for body in model.bodies]])
        still = np.zeros_like(pose)
        for body, torque in zip(model.bodies, newton_euler(model, pose, still, still)[0].tolist(), strict=True):
            name, holds = body.joint.name, body.joint.friction.coulomb
            if body.joint.actuated and abs(torque) > holds:
                falls[name] = max(falls.get(name, 0.0), abs(torque))
    return falls


def park_words(mechanism: Mechanism) -> list[str]:
    """Return the lines of `check` about the park pose and the joints that fall from it; no lines without a pose."""
    found, park = lying(mechanism), mechanism.safety.park
    if found is None or park is None:
        return []
    joints = {joint.name: joint for joint in mechanism.streamed}
    pose = ", ".join(f"{name} {at:g}" for name, at in park.pose.items())
    said = f"lies down at {pose}: each joint within its limits on the way; what else stands there nobody looks at"
    if not found or mechanism.safety.brake is not None:
        return [said]
    loads = ", ".join(f"{name} ({torque:.3g} {'N' if joints[name].type == 'prismatic' else 'N m'})"
                      for name, torque in found.items() if name in joints)
    return [said, f"there gravity still loads {loads}: it falls when the motors are let go, unless it lies on "
            "something"]
