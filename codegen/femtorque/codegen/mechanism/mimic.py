"""Mimic joints. The second finger of a gripper may follow the first finger, which may follow a third joint. Each
follower is related directly to the driven joint at the end of its chain. If the driven joint is locked, its followers
are locked too."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, pi

from femtorque.codegen.common import hint
from femtorque.codegen.mechanism.description import Joint, Mimic
from femtorque.codegen.mechanism.refusal import Fail

NARROWED = 1e-6  # difference, as a fraction of a range, that may come from rounding


def resolved(joints: Sequence[Joint], lock: dict[str, float], fail: Fail,
             warn: Callable[[str], None]) -> tuple[tuple[Joint, ...], dict[str, float]]:
    """Return joints and locks after each mimic joint has been related to a driven joint.

    The driven joint gets limits that all followers can satisfy. Raise BadInput."""
    by_name = {joint.name: joint for joint in joints}
    followed: dict[str, list[Joint]] = {}
    for joint in joints:
        if joint.mimic is None or joint.name in lock:
            if joint.mimic is not None and joint.mimic.joint not in lock:
                warn(f"joint.{joint.name} follows {joint.mimic.joint} (mimic); here it is locked at "
                     f"{lock[joint.name]:g}")
            by_name[joint.name] = replace(joint, mimic=None)
            continue
        mimic = _root(joint, by_name, lock, fail)
        leader = by_name[mimic.joint]
        if leader.name in lock or leader.type == "fixed":
            lock[joint.name] = mimic.ratio * lock.get(leader.name, 0.0) + mimic.offset
            by_name[joint.name] = replace(joint, mimic=None)
            continue
        follower = replace(joint, mimic=mimic, actuated=False, start=mimic.ratio * leader.start + mimic.offset)
        by_name[joint.name] = follower
        followed.setdefault(leader.name, []).append(follower)
    for name, followers in followed.items():
        leader = by_name[name] = _within(by_name[name], followers, fail, warn)
        for follower in followers:
            assert follower.mimic is not None
            start = follower.mimic.ratio * leader.start + follower.mimic.offset
            by_name[follower.name] = replace(follower, start=start)
    return tuple(by_name[joint.name] for joint in joints), lock


def _root(joint: Joint, by_name: dict[str, Joint], lock: dict[str, float], fail: Fail) -> Mimic:
    """Return the equivalent mimic relation to the driven joint at the end of a chain of mimic joints."""
    key, passed, mimic = f"joint.{joint.name}.mimic", [joint.name], joint.mimic
    assert mimic is not None
    while True:
        if mimic.joint not in by_name:
            fail(f"{key}.joint", mimic.joint, "no such joint", hint(mimic.joint, by_name, "joints"))
        if mimic.joint in passed:
            fail(f"{key}.joint", mimic.joint, f"goes in a circle: {' <- '.join([*passed, mimic.joint])}")
        leader = by_name[mimic.joint]
        if leader.mimic is None or leader.name in lock:
            break
        passed.append(leader.name)
        mimic = Mimic(leader.mimic.joint, mimic.ratio * leader.mimic.ratio,
                      mimic.ratio * leader.mimic.offset + mimic.offset)
    if leader.type != "fixed" and not leader.actuated:
        fail(f"{key}.joint", leader.name, "is not actuated: nothing moves either of them")
    return mimic


def _within(leader: Joint, followers: Sequence[Joint], fail: Fail, warn: Callable[[str], None]) -> Joint:
    """Return the leader with position and velocity limits that its followers can satisfy."""
    lower, upper, velocity = leader.limits.lower, leader.limits.upper, leader.limits.velocity
    for follower in followers:
        mimic = follower.mimic
        assert mimic is not None
        ends = sorted((x - mimic.offset) / mimic.ratio for x in (follower.limits.lower, follower.limits.upper))
        slack = NARROWED * max(upper - lower, 0.0) if upper - lower < inf else 0.0
        if ends[0] > lower + slack or ends[1] < upper - slack:
            if not max(lower, ends[0]) < min(upper, ends[1]):  # the sign of a ratio is probably missing in the file
                warn(f"joint.{follower.name}: it follows {leader.name}, and no position keeps the limits of both: its "
                     f"own ({follower.limits.lower:g} .. {follower.limits.upper:g}) are left out")
                continue
            lower, upper = max(lower, ends[0]), min(upper, ends[1])
            warn(f"joint.{leader.name}: {follower.name} follows it and leaves it {lower:.4g} .. {upper:.4g}")
        velocity = min(velocity, follower.limits.velocity / abs(mimic.ratio))
    _half_turn(leader, lower, upper, followers, fail)
    start = min(max(leader.start, lower), upper)
    return replace(leader, start=start, limits=replace(leader.limits, lower=lower, upper=upper, velocity=velocity))


def _half_turn(leader: Joint, lower: float, upper: float, followers: Sequence[Joint], fail: Fail) -> None:
    """Refuse a joint with a range of more than half a turn. A ratio is only defined for known whole turns, but the chip
    knows positions only within one turn."""
    for joint, ratio, offset in [(leader, 1.0, 0.0), *((f, f.mimic.ratio, f.mimic.offset) for f in followers
                                                       if f.mimic)]:
        ends = [ratio * end + offset + 0.0 for end in (lower, upper)]  # no -0
        if joint.type != "prismatic" and not all(abs(end) < pi for end in ends):
            name = followers[0].name
            fail(f"joint.{name}.mimic", leader.name, f"takes {joint.name!r} to {ends[0]:.4g} .. {ends[1]:.4g}: who "
                 "follows and who is followed stay within half a turn of zero",
                 f"narrow the limits of {leader.name!r}, or freeze it: lock = {{ {name} = 0.0 }}")


def check(name: str, mimic: Mimic, joint_type: str, driven: str | None, fail: Fail) -> None:
    """Refuse keys that a follower cannot have. driven: the key that gives the follower a motor or drive."""
    key = f"joint.{name}"
    if joint_type == "fixed":
        fail(f"{key}.mimic", mimic.joint, "a fixed joint follows nothing", "did you mean another type?")
    if driven:
        fail(f"{key}.{driven}", None, f"the joint follows {mimic.joint!r}, whose motor moves both",
             "give it to that joint, or leave mimic out")
    if abs(mimic.ratio) < 1e-6:
        fail(f"{key}.mimic.ratio", mimic.ratio, "must not be zero", "to freeze a joint use lock")
