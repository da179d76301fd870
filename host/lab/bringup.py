"""The first power-up of an arm, one joint at a time: does the motor turn it, the right way, and is what is counted
right?

Two looks at each joint. The probe: the board gives it alone a small torque, open loop, growing until it moves; nothing
relies on its encoder. On current loops every motor is given a pulse of a few per cent of the voltage before, no loop
closed: a current sensor of the wrong sign ends the looks there, with what to do. The hand: with no power at all,
somebody turns it by a known angle in its positive direction. The hand tells the encoder's sign and counts; both
together tell the motor's sign. A drive on a bus turns and counts the same way, or it is not set up: the hand tells
its sign, and what it cannot be asked for is told in words. It has an encoder that knows its place, too: somebody puts
the joint where it starts, which teaches its zero. All that is taught goes into the file; in the drives nothing is
stored. A joint that turns by another angle than its drive, by a gear that can be, has that gear in the file, and is not
driven before: its torque would be another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.board.channels import file_of
from femtorque.codegen.common.errors import BadInput, Refused
from femtorque.codegen.common.files import read_text
from femtorque.codegen.common.output import write_text
from femtorque.codegen.control.constants import joint_constants
from femtorque.codegen.control.drives import placed
from femtorque.codegen.drive import feetech
from femtorque.codegen.mechanism.description import Drive, Joint, Mechanism
from femtorque.codegen.mechanism.edit import set_joint
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.wire.codec import Probe
from femtorque.host.link import drives
from femtorque.host.link.requests import ASK
from femtorque.host.link.session import PERIOD, Session

STEPS, STEP_S = 10, 0.15  # torques tried on the way to the most, and how long each
PULSE_S = 0.02  # by then the board has judged its current sensors
REST_S, REST_LIMIT = 0.4, 5.0  # s without motion before a look, and the longest to wait for it
MOVES = 0.02  # rad or m by which a joint has moved
OTHER_MOVES = 0.25  # the same of a joint that is not driven: outer ones swing a little when inner ones start
HAND = 0.5  # rad, or a tenth in m: the angle asked for
USUAL = (0.25, 0.5, *(0.5 * n for n in range(2, 11)), 6.0, 7.0, 8.0, 9.0, 10.0)  # gears that a hand can tell apart
SHOWN = 0.55  # rad that a drive must have told by then: its ranges of position and velocity have been held together
FAR = 0.75  # rad, of a drive on CAN: what the range of its velocities is shows after half a radian
COUNTS_WRONG = 0.05  # a hand is no better than this
NOT_DRIVEN = "how it turns: no joint is driven while a drive is silent or set otherwise than the file says"
NO_GEAR = "how it turns: it is not driven before its gear is right"


@dataclass(frozen=True)
class Finding:
    """Of one joint. problem: empty if all is well. values: what to write into the file to mend it. unknown: what nobody
    here can know of its drive; empty for none. zero: what its drive tells at the joint's zero, rad or a servo's counts;
    None if it was not taught. firmware: its drive's, where that tells it. gear: turns of its drive to one of the joint,
    as the hand has shown them; None where it has not, or the joint has no drive."""

    joint: str
    problem: str
    torque: float  # at which it moved, N m or N; 0 if it did not
    ratio: float | None  # counted over told motion of the hand; None if it was not asked for
    values: dict[str, dict[str, float]]
    unknown: str = ""
    zero: float | None = None
    firmware: str = ""
    gear: float | None = None

    def data(self) -> dict[str, Any]:
        return {"joint": self.joint, "problem": self.problem, "torque": self.torque, "ratio": self.ratio,
                "values": self.values, "unknown": self.unknown, "zero": self.zero, "firmware": self.firmware,
                "gear": self.gear}


@dataclass(frozen=True)
class Look:
    """What was seen of a joint: ratio and place by hand (None: not asked for), torque and moved (J,) by the probe
    (None: it was not driven). place: rad, where it was found when it stood at its start."""

    ratio: float | None = None
    place: float | None = None
    torque: float = 0.0
    moved: NDArray[np.float64] | None = None


Hand = Callable[[Joint, float], None]  # ask somebody to turn a joint by that much; returns when it is done
Place = Callable[[Joint], None]  # ask somebody to put a joint where it starts


def bring_up(session: Session, mechanism: Mechanism, hand: Hand | None = None,
             on_joint: Callable[[str], None] = lambda name: None, place: Place | None = None) -> list[Finding]:
    """Look at every driven joint. The board is DISARMED before and after. hand: without it, counts are not looked at.
    place: without it, drives' zeros are not taught. While a drive is silent, or set otherwise than the file says, no
    joint is driven.

    Raises BadInput for an arm whose brakes the board opens, and Refused if the board refuses, finds a current sensor
    wrong, or a joint does not come to rest.
    """
    if mechanism.safety.brake is not None:
        raise BadInput(file_of(mechanism), "safety.brake", None, "a probe holds no joint, and all brakes open at once",
                       "support the arm, open its brakes from a supply of their own, and use a file without "
                       "[safety.brake]")
    findings = []
    for number, joint in enumerate(mechanism.streamed):
        if joint.drive is not None:
            findings.append(_look_at_drive(session, mechanism, number, hand, on_joint, place))
        elif joint.motor is not None and joint.encoder is not None:
            on_joint(joint.name)
            ratio = None if hand is None else _by_hand(session, joint, number, hand)
            torque, moved = _probe(session, mechanism, number)
            findings.append(judge(mechanism, number, torque, moved, ratio))
    return findings


def _look_at_drive(session: Session, mechanism: Mechanism, number: int, hand: Hand | None,
                   on_joint: Callable[[str], None], place: Place | None) -> Finding:
    """Of one joint. The board has told how its drives are when all has been at rest for a moment."""
    joints = mechanism.streamed
    joint = joints[number]
    on_joint(joint.name)
    _rest(session)
    session.hear_of_drives()
    if drives.state(session.drives, number) == "silent":
        return judge_drive(mechanism, number, Look(), session.drives)
    assert joint.drive is not None
    at = None if place is None or not placed(joint, joint.drive) else _place(session, joint, number, place)
    ratio = None if hand is None else _by_hand(session, joint, number, hand)
    session.hear_of_drives()
    if _other(ratio) or not all(drives.ready(session.drives, joints, j) for j in range(len(joints))):
        return judge_drive(mechanism, number, Look(ratio, at), session.drives)
    return judge_drive(mechanism, number, Look(ratio, at, *_probe(session, mechanism, number)), session.drives)


def _other(ratio: float | None) -> bool:
    """Whether a joint was turned by another angle than the board has counted."""
    return ratio is not None and abs(abs(ratio) - 1.0) > COUNTS_WRONG


def judge_drive(mechanism: Mechanism, number: int, look: Look, told: Any = None) -> Finding:
    """What was seen of a joint whose drive is on a bus. Its torque and its position have one sign. told: DRIVES."""
    joint, ratio = mechanism.streamed[number], look.ratio
    drive = joint.drive
    assert drive is not None
    if told is not None and drives.state(told, number) == "silent":
        return Finding(joint.name, drives.silent_words(told, mechanism.streamed, number), 0.0, None, {}, NOT_DRIVEN)
    values: dict[str, float] = {}
    problems = []
    if not drives.ready(told, mechanism.streamed, number):
        problems.append(drives.words(told, mechanism.streamed, number))
        values |= drives.mending(told, drive, number)
    if ratio is not None and abs(ratio) < 0.1:
        problems.append("its drive's position does not follow when it is turned by hand: is it this joint's id?")
    elif ratio is not None:
        if ratio < 0.0:
            problems.append("its drive counts the wrong way")
            values["sign"] = -drive.sign
        if _other(ratio):
            words, found = _other_ratio(mechanism, number, abs(ratio), told)
            problems.append(words)
            values |= found
    zero, mended = None, replace(drive, sign=int(values.get("sign", drive.sign)), gear=values.get("gear", drive.gear))
    if not placed(joint, mended):  # it is told where it is (`home`)
        values |= {"zero": 0.0} if drive.zero else {}
    elif look.place is not None and ("gear" in values or not _other(ratio)):
        zero = values["zero"] = zero_of(joint, look.place, mended)
    if look.moved is not None:
        problems += _driven(mechanism, number, look.torque, look.moved)
    not_driven = NO_GEAR if _other(ratio) and drives.ready(told, mechanism.streamed, number) else NOT_DRIVEN
    unknown = filter(None, (_unknown(joint), "" if look.moved is not None else not_driven))
    return Finding(joint.name, "; ".join(problems), look.torque, ratio, {"drive": values} if values else {},
                   "; ".join(unknown), zero, drives.firmware(told, mechanism.streamed, number),
                   None if ratio is None else drive.gear * abs(ratio))


def _driven(mechanism: Mechanism, number: int, torque: float, moved: NDArray[np.float64]) -> list[str]:
    """What is wrong with how a drive turns its joint."""
    other = int(np.argmax(np.abs(moved)))
    if torque == 0.0:
        return ["nothing moves when it is driven: check its supply, and whether it is blocked"]
    if abs(moved[number]) < MOVES:
        return [f"joint {mechanism.streamed[other].name!r} moves when it is driven: two drives have each other's id"]
    if moved[number] < 0.0:
        return ["it turns against its torque: have it calibrated by its maker's tool"]
    return []


def _other_ratio(mechanism: Mechanism, number: int, ratio: float, told: Any) -> tuple[str, dict[str, float]]:
    """What it means that a drive tells another angle than its joint was turned by, and the key that mends it. A gear is
    concluded where the drive's range of position is known to be the file's: it was asked for it, or its velocities,
    which have a range of their own, agree with it."""
    joint = mechanism.streamed[number]
    drive = joint.drive
    assert drive is not None
    what, own, turns = "servo" if drive.servo else "drive", drive.type.position, drive.gear * ratio
    asked_for = drive.type.family in ("damiao", "robstride", "feetech") or ratio * asked(joint) > SHOWN
    if told is None or not drives.ready(told, mechanism.streamed, number) or not asked_for:
        range_is = f", as one does whose range of position is about {own / ratio:.3g} rad, and it must be {own:g}"
        return (f"its {what} tells {ratio:.2g} times the angle{'' if drive.servo else range_is}; or the gear between "
                f"the two is {turns:.2g}, and not {drive.gear:g}"), {}
    words = f"its {what} makes {turns:.3g} turns to one of the joint, and the file says {drive.gear:g}"
    gear = usual_gear(turns)
    if gear is None:
        return f"{words}: no usual gear is near; count its teeth and write drive.gear", {}
    return f"{words}: a gear of {gear:g}", {"gear": gear}


def usual_gear(turns: float) -> float | None:
    """The one to which turns of a drive to one of its joint come near enough, as a hand shows them."""
    nearest = min(USUAL, key=lambda gear: abs(math.log(turns / gear)))
    return nearest if abs(turns / nearest - 1.0) <= COUNTS_WRONG else None


def zero_of(joint: Joint, place: float, mended: Drive) -> float:
    """What its drive tells at the joint's zero, of a joint at its start that is found at `place`: rad within half a
    turn, or a servo's counts. mended: the drive with sign and gear as they were found."""
    drive = joint.drive
    assert drive is not None  # away: rad of its output, from the zero of the file
    away = drive.sign * drive.gear * place - mended.sign * mended.gear * joint.start
    if drive.servo is None:
        return math.remainder(drive.zero + away, math.tau)
    return round(drive.servo.zero + away * feetech.TURN / math.tau) % feetech.TURN


def _unknown(joint: Joint) -> str:
    """What a drive cannot be asked for and does not show when it moves."""
    drive = joint.drive
    if drive is None or drive.type.family in ("damiao", "feetech"):
        return ""
    return (f"whether its range of torque is {drive.type.torque:g} N m: it does not tell; let it carry a weight that "
            "you know")


def judge(mechanism: Mechanism, number: int, torque: float, moved: NDArray[np.float64], ratio: float | None) -> Finding:
    """What two looks mean. torque: positive, at which something moved (0: nothing did); moved (J,) by the probe."""
    joint = mechanism.streamed[number]
    assert joint.motor is not None and joint.encoder is not None
    values: dict[str, dict[str, float]] = {}
    problems = []
    if ratio is not None and abs(ratio) < 0.1:
        return Finding(joint.name, "its encoder does not count when it is turned by hand: check wiring and supply",
                       torque, ratio, {})
    if ratio is not None and ratio < 0.0:
        problems.append("its encoder counts the wrong way")
        values.setdefault("encoder", {})["sign"] = -joint.encoder.sign
    if ratio is not None and abs(abs(ratio) - 1.0) > COUNTS_WRONG:
        counts = round(joint.encoder.counts * abs(ratio))
        problems.append(f"its encoder has about {counts} counts per turn, not {joint.encoder.counts}")
        values.setdefault("encoder", {})["counts"] = counts
    other = int(np.argmax(np.abs(moved)))
    if torque == 0.0:
        problems.append("nothing moves when it is driven: check motor, driver and encoder, and whether it is blocked")
    elif abs(moved[number]) < MOVES:
        problems.append(f"joint {mechanism.streamed[other].name!r} counts when it is driven: two encoders or two "
                        f"motors "
                        "are swapped")
    elif moved[number] * (-1.0 if ratio is not None and ratio < 0.0 else 1.0) < 0.0:
        if ratio is None:
            problems.append("it turns against its torque: encoder or motor is the wrong way round; turn it by hand to "
                            "know")
        else:
            problems.append("its motor turns it the wrong way")
            values.setdefault("motor", {})["sign"] = -joint.motor.sign
    return Finding(joint.name, "; ".join(problems), torque, ratio, values)


def write(path: Path, findings: list[Finding]) -> dict[str, str]:
    """Mend the file where a finding says how. Returns of which joints nothing was written, and why: the file would be
    refused."""
    refused = {}
    for finding in findings:
        if not finding.values:
            continue
        before = read_text(path)
        set_joint(path, finding.joint, finding.values)
        try:
            load_mechanism(path)
        except BadInput as refusal:
            write_text(path, before)
            refused[finding.joint] = str(refusal)
    return refused


def _by_hand(session: Session, joint: Joint, number: int, hand: Hand) -> float:
    """Counted over told motion."""
    angle = asked(joint)
    _rest(session)
    before = np.array(session.status.position)
    hand(joint, angle)
    _rest(session)
    return float(session.difference(session.status.position, before)[number] / angle)


def asked(joint: Joint) -> float:
    """By how much a joint is to be turned from its start, rad; m of one that slides. Up to FAR as far as its limits
    allow, but no less than others."""
    if joint.type == "prismatic":
        return 0.1 * HAND
    if joint.drive is None or joint.drive.servo is not None:
        return HAND
    return max(HAND, min(FAR, joint.limits.upper - joint.start))


def _place(session: Session, joint: Joint, number: int, place: Place) -> float:
    """Where the board finds a joint that stands at its start, rad."""
    place(joint)
    _rest(session)
    return float(session.positions()[number])


def _rest(session: Session) -> None:
    """Wait until no joint has moved for a while."""
    clock, still = session.clock, session.clock.now()
    last, end = np.array(session.status.position), clock.now() + REST_LIMIT
    while clock.now() - still < REST_S:
        if clock.now() > end:
            raise Refused(f"{session.link.port}: a joint does not come to rest; support the arm so that none falls")
        session.pump()
        session.clock.sleep(PERIOD)
        if np.abs(session.difference(session.status.position, last)).max() > 0.25 * MOVES:
            last, still = np.array(session.status.position), clock.now()


def _probe(session: Session, mechanism: Mechanism, number: int) -> tuple[float, NDArray[np.float64]]:
    """Torque at which something moved, 0 if nothing did, and how far every joint had moved then (J,)."""
    joint = mechanism.streamed[number]
    most = mechanism.safety.probe_effort * joint_constants(mechanism, joint).effort
    _rest(session)
    before = np.array(session.status.position)
    moved = np.zeros(len(before))
    session.ask(Probe(0, number, 0.0), "PROBE")
    try:
        _currents_shown(session)
        for step in range(1, STEPS + 1):
            torque = 0.999 * most * step / STEPS
            session.ask(Probe(0, number, torque), "PROBE")
            end = session.clock.now() + STEP_S
            while session.clock.now() < end:
                session.clock.sleep(ASK)
                session.tell(Probe(0, number, torque))
                session.pump()
                session.faulted()
                moved = session.difference(session.status.position, before)
                if abs(moved[number]) > MOVES or np.abs(moved).max() > OTHER_MOVES:
                    return torque, moved
    finally:
        session.disarm()
    return 0.0, moved


def _currents_shown(session: Session) -> None:
    """Wait until the board has given its motors the pulse that shows their current sensors. Raises Faulted."""
    end = session.clock.now() + PULSE_S
    while session.clock.now() < end:
        session.clock.sleep(PERIOD)
        session.pump()
        session.faulted()


def summary(findings: list[Finding]) -> Mapping[str, str]:
    """Joint -> what is wrong with it, or 'good', its zero, and what is not known."""
    return {f.joint: (f.problem or "good") + (f"; its zero is at {f.zero:.5g}" if f.zero is not None else "")
            + (f"; not known: {f.unknown}" if f.unknown else "") for f in findings}


def advice(mechanism: Mechanism, findings: list[Finding]) -> str:
    """On servos with different firmware; empty where all have the same. LeRobot does not take such an arm."""
    of_version: dict[str, list[str]] = {}
    servos = {joint.name for joint in mechanism.streamed if joint.drive is not None and joint.drive.servo is not None}
    for finding in findings:
        if finding.firmware and finding.joint in servos:
            of_version.setdefault(finding.firmware, []).append(finding.joint)
    if len(of_version) < 2:
        return ""
    told = "; ".join(f"{version}: {', '.join(names)}" for version, names in sorted(of_version.items()))
    return f"servos have different firmware ({told}): bring all to one by Feetech's own tool"
