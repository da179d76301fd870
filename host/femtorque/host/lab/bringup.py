"""The first power-up of an arm, joint by joint. The tests check that the motor turns the joint in the right direction,
and that the encoder's count is right.

Each joint is tested by two methods, by a probe and by hand. The probe drives one joint in open loop. The torque starts
at 0 and grows until the joint moves, first in one direction and then in the other direction. The probe does not use the
joint's encoder. A joint that moves without torque is called sinking. The probe then applies its largest torque to a
sinking joint in both directions, each for as long as the joint sank. The motions are compared. If the board has current
loops, the board first drives every motor in open loop by a pulse of a few per cent of the voltage. If a current sensor
has the wrong sign, the tests end, and a message gives the remedy.

With the power off, the user turns the joint by a known angle in its positive direction, and then by a fraction of this
angle back. If the ratios of counted angle to known angle differ for the two turns, the joint sank when it was released.
Different ratios allow no conclusion. The turns show the encoder's sign and counts. The turns and the probe
together show the motor's sign.

The motor and the encoder of a bus drive agree by construction. Turning the joint by hand shows the drive's sign. The
drive's encoder is absolute. So the user moves the joint to its start position. The encoder's reading there gives the
drive's zero. Settings that a drive cannot report are listed as text for the user. All results are stored in the file.
The settings in the drives are not changed. If the measured gear is close to a common gear ratio, the file gets the
common ratio. Until the file is corrected, the joint is not driven, since its torque would be wrong.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.board import file_of
from femtorque.codegen.common import BadInput, Refused, read_text, write_text
from femtorque.codegen.control import joint_constants, loaded, placed
from femtorque.codegen.drive import family_of
from femtorque.codegen.mechanism import Drive, Joint, Mechanism, load_mechanism, set_joint
from femtorque.codegen.wire import Drives, Probe
from femtorque.host.link import ASK, PERIOD, Session, drives

STEPS, STEP_S = 10, 0.15  # number of torque steps up to the maximum, and the duration of each step
PULSE_S = 0.02  # time after which the board has finished its test of the current sensors, s
REST_S, REST_LIMIT = 0.4, 5.0  # time without motion before a test, s; maximum wait for this rest, s
MOVES = 0.02  # displacement above which a joint counts as moving, rad or m
OTHER_MOVES = 0.25  # tolerated motion of an undriven joint, rad or m; outer joints swing when inner joints start
HAND = 0.5  # angle of a turn by hand, rad; a prismatic joint is moved by a tenth of this number in m
# gear ratios that a turn by hand can distinguish
USUAL = (0.25, 0.5, *(0.5 * n for n in range(2, 11)), 6.0, 7.0, 8.0, 9.0, 10.0)
SHOWN = 0.55  # displacement after which a drive's position range and velocity range have been checked, rad
FAR = 0.75  # angle of a CAN drive's turn by hand, rad; a wrong velocity range shows only above half a radian
LOOK_S = 0.3  # time without torque, to find out whether a joint sinks, s
APART = 0.25  # fraction of MOVES: smaller differences between two motions are ignored
COUNTS_WRONG = 0.05  # error of a hand
BACK = 0.75  # fraction of the angle; the turn back is shorter, because a full turn back could hide a sinking joint
ALIKE = 0.15  # maximum difference between the ratios of two turns; one turn by hand has an error of 0.05
NONE = 0.1  # fraction of the angle: below it, the encoder did not follow the motion
UNLIKE = ("the counts of the turn by hand and of the turn back differ: hold the joint until it has been counted, and "
          "bring it up again")
NOT_DRIVEN = "how it turns: no joint is driven while a drive is silent or has other settings than the file"
NO_GEAR = "how it turns: the joint is not driven before its gear is right"


@dataclass(frozen=True)
class Finding:
    """Test result for one joint. gear: turns of the drive per turn of the joint, measured by hand. None: not measured.
    """

    joint: str
    problem: str  # empty if the joint passed
    torque: float  # torque at the first motion, N m or N; 0: no motion
    ratio: float | None  # counted angle over the user's angle; None: unknown
    values: Mapping[str, Mapping[str, float | str]]  # corrected keys for the file
    unknown: str = ""  # facts about the drive that this test cannot measure
    sinks: str = ""  # advice for a joint that sinks
    zero: float | None = None  # the drive's reading at the joint's zero, rad or servo counts
    firmware: str = ""  # the drive's version, if reported
    gear: float | None = None

    def data(self) -> dict[str, Any]:
        unknown = "; ".join(filter(None, (self.unknown, self.sinks)))
        return {"joint": self.joint, "problem": self.problem, "torque": self.torque, "ratio": self.ratio,
                "values": self.values, "unknown": unknown, "zero": self.zero, "firmware": self.firmware,
                "gear": self.gear}


@dataclass(frozen=True)
class Probed:
    """Response of the only driven joint."""

    way: int  # sign of the counted motion under positive torque: 1, -1, or 0 if unknown
    torque: float  # absolute torque at the first motion; 0 if the joint did not move
    other: int | None = None  # the joint that moved in place of the driven joint
    sinks: int | None = None  # name of a sinking joint
    one_way: bool = False  # true if the joint moved only for one sign of the torque


@dataclass(frozen=True)
class Look:
    """Measurements of a joint by hand and by the probe; None: not measured."""

    ratio: float | None = None  # counted angle over the user's angle, NaN if the two ratios differ
    place: float | None = None  # measured position at the joint's start, rad
    probed: Probed | None = None


Hand = Callable[[Joint, float], None]  # asks the user to turn a joint by an angle; returns when the user has done so
Place = Callable[[Joint], None]  # function that asks the user to move a joint to its start position


def bring_up(session: Session, mechanism: Mechanism, hand: Hand | None = None,
             on_joint: Callable[[str], None] = lambda name: None, place: Place | None = None) -> list[Finding]:
    """Test every driven joint. The board is DISARMED before and after. hand: if None, the encoder counts are not
    tested. place: if None, the drives' zeros remain unknown. While a drive is silent or has wrong settings, no joint is
    driven.

    Raises BadInput for an arm whose brakes the board opens. Raises Refused if the board refuses or finds a wrong
    current sensor, and if a joint does not come to rest.
    """
    if mechanism.safety.brake is not None:
        raise BadInput(file_of(mechanism), "safety.brake", None, "a probe holds no joint, and all brakes open at once",
                       "support the arm, open its brakes from a separate supply, and use a file without "
                       "[safety.brake]")
    findings = []
    for number, joint in enumerate(mechanism.streamed):
        if joint.drive is not None:
            findings.append(_look_at_drive(session, mechanism, number, hand, on_joint, place))
        elif joint.motor is not None and joint.encoder is not None:
            on_joint(joint.name)
            ratio = None if hand is None else _by_hand(session, joint, number, hand)
            findings.append(judge(mechanism, number, _probe(session, mechanism, number), ratio))
    return findings


def _look_at_drive(session: Session, mechanism: Mechanism, number: int, hand: Hand | None,
                   on_joint: Callable[[str], None], place: Place | None) -> Finding:
    """Test one joint on a drive. The test first waits until the arm is at rest, so that the board has reported its
    drives."""
    joints = mechanism.streamed
    joint = joints[number]
    on_joint(joint.name)
    _rest(session)
    report = session.hear_of_drives()
    if drives.state(report, number) == "silent":
        return judge_drive(mechanism, number, Look(), report)
    assert joint.drive is not None
    at = None if place is None or not placed(joint, joint.drive) else _place(session, joint, number, place)
    ratio = None if hand is None else _by_hand(session, joint, number, hand)
    report = session.hear_of_drives()
    if _other(ratio) or not all(drives.ready(report, joints, j) for j in range(len(joints))):
        return judge_drive(mechanism, number, Look(ratio, at), report)
    return judge_drive(mechanism, number, Look(ratio, at, _probe(session, mechanism, number)), session.drives)


def _other(ratio: float | None) -> bool:
    """Return True if the counted angle differs from the user's angle, or if the two turns disagree."""
    return ratio is not None and not abs(abs(ratio) - 1.0) <= COUNTS_WRONG


def judge_drive(mechanism: Mechanism, number: int, look: Look, report: Drives | None = None) -> Finding:
    """Return the test result for a joint with a bus drive. The drive's torque and position have the same sign."""
    joint, ratio = mechanism.streamed[number], look.ratio
    drive = joint.drive
    assert drive is not None
    if report is not None and drives.state(report, number) == "silent":
        return Finding(joint.name, drives.silent_words(report, mechanism.streamed, number), 0.0, None, {}, NOT_DRIVEN)
    values: dict[str, float] = {}
    problems = []
    if report is not None and not drives.ready(report, mechanism.streamed, number):
        problems.append(drives.unarmed(report, mechanism.streamed, number))
        values |= drives.mending(report, drive, number)
    if ratio is not None and math.isnan(ratio):
        return Finding(joint.name, "; ".join((*problems, UNLIKE)), 0.0, None, {"drive": values} if values else {},
                       NO_GEAR, firmware=drives.firmware(report, mechanism.streamed, number))
    if ratio is not None and abs(ratio) < NONE:
        problems.append("its drive's position does not follow a turn by hand: does the id belong to this joint?")
    elif ratio is not None:
        if ratio < 0.0:
            problems.append("its drive counts the wrong way")
            values["sign"] = -drive.sign
        if _other(ratio):
            words, found = _other_ratio(mechanism, number, abs(ratio), report)
            problems.append(words)
            values |= found
    zero, mended = None, replace(drive, sign=int(values.get("sign", drive.sign)), gear=values.get("gear", drive.gear))
    if not placed(joint, mended):  # the command `home` then sets the joint's position
        values |= {"zero": 0.0} if drive.zero else {}
    elif look.place is not None and ("gear" in values or not _other(ratio)):
        zero = values["zero"] = zero_of(joint, look.place, mended)
    if look.probed is not None:
        problems += _driven(mechanism, number, look.probed)
    sinks = _support(mechanism, number, look.probed) if look.probed and look.probed.sinks is not None else ""
    sinks = "" if any(sinks in problem for problem in problems) else sinks
    not_driven = NO_GEAR if _other(ratio) and drives.ready(report, mechanism.streamed, number) else NOT_DRIVEN
    unknown = filter(None, (_unknown(joint), "" if look.probed is not None else not_driven))
    return Finding(joint.name, "; ".join(problems), look.probed.torque if look.probed else 0.0, ratio,
                   {"drive": values} if values else {},
                   "; ".join(unknown), sinks, zero, drives.firmware(report, mechanism.streamed, number),
                   None if ratio is None else drive.gear * abs(ratio))


def _driven(mechanism: Mechanism, number: int, probed: Probed) -> list[str]:
    if probed.torque == 0.0:
        return ["nothing moves when it is driven: check its supply, and that it is not blocked"]
    if probed.other is not None:
        other = mechanism.streamed[probed.other].name
        return [f"joint {other!r} moves when it is driven: the ids of two drives are swapped"]
    if not _sure(mechanism, number, probed):
        return [_unsure(mechanism, number, probed)]
    if probed.way < 0:
        return ["it turns against its torque: calibrate it with its maker's tool"]
    return []


def _sure(mechanism: Mechanism, number: int, probed: Probed) -> bool:
    """Return True if the torque must have caused the motion: the joint moved under both signs of the torque, or gravity
    cannot move the joint."""
    return probed.way != 0 and (not probed.one_way or mechanism.streamed[number].name not in loaded(mechanism))


def _unsure(mechanism: Mechanism, number: int, probed: Probed) -> str:
    if probed.way == 0:
        return (f"{_support(mechanism, number, probed)}, and bring it up again: it moves in the same direction for "
                "every torque")
    return ("it moved for one sign of its torque only, and gravity may have moved it: support it where it can move "
            "to both sides, and bring it up again")


def _support(mechanism: Mechanism, number: int, probed: Probed) -> str:
    what = "it" if probed.sinks in (None, number) else f"joint {mechanism.streamed[probed.sinks].name!r}"
    return f"{what} sinks: support it"


def _other_ratio(mechanism: Mechanism, number: int, ratio: float,
                 report: Drives | None) -> tuple[str, dict[str, float]]:
    """Explain a turn by hand for which a drive reported a different angle, and return the key that corrects the file.
    The gear is determined only if the drive's range of position is known. The range is known if the drive reports it,
    or if the drive's velocities agree with its positions."""
    joint = mechanism.streamed[number]
    drive = joint.drive
    assert drive is not None
    what, own, turns = "servo" if drive.servo else "drive", drive.type.position, drive.gear * ratio
    asked_for = family_of(drive.type).position_known or ratio * asked(joint) > SHOWN
    if report is None or not drives.ready(report, mechanism.streamed, number) or not asked_for:
        range_is = f": its range of position may be about {own / ratio:.3g} rad, and it must be {own:g}"
        return (f"its {what} reports {ratio:.2g} times the angle{'' if drive.servo else range_is}; or the gear between "
                f"the two is {turns:.2g}, and not {drive.gear:g}"), {}
    words = f"its {what} makes {turns:.3g} turns per turn of the joint, and the file says {drive.gear:g}"
    gear = usual_gear(turns)
    if gear is None:
        return f"{words}: no usual gear is near; count its teeth and write drive.gear", {}
    return f"{words}: a gear of {gear:g}", {"gear": gear}


def usual_gear(turns: float) -> float | None:
    """Return the common gear ratio nearest to a measured ratio, or None if no common ratio is near."""
    nearest = min(USUAL, key=lambda gear: abs(math.log(turns / gear)))
    return nearest if abs(turns / nearest - 1.0) <= COUNTS_WRONG else None


def zero_of(joint: Joint, place: float, mended: Drive) -> float:
    """Return the drive's reading at the joint's zero: rad within half a turn, or servo counts. place: the board's
    position of the joint at its start, rad. mended: the drive with its measured sign and gear."""
    drive = joint.drive
    assert drive is not None  # away: angle of the drive's output from the file's zero, rad
    away = drive.sign * drive.gear * place - mended.sign * mended.gear * joint.start
    if drive.servo is None:
        return math.remainder(drive.zero + away, math.tau)
    turn = family_of(drive.type).places.turn
    return round(drive.servo.zero + away * turn / math.tau) % turn


def _unknown(joint: Joint) -> str:
    """Return a sentence that names the facts that neither the drive's reports nor a motion can show."""
    drive = joint.drive
    if drive is None or family_of(drive.type).torque_known:
        return ""
    return (f"whether its range of torque is {drive.type.torque:g} N m: it does not report that; let it carry a known "
            "weight")


def judge(mechanism: Mechanism, number: int, probed: Probed, ratio: float | None) -> Finding:
    """Return the test result that follows from the probe and from the turns by hand. ratio: counted angle over the
    user's angle; NaN if the two turns disagreed, None if the user was not asked."""
    joint = mechanism.streamed[number]
    assert joint.motor is not None and joint.encoder is not None
    values: dict[str, dict[str, float]] = {}
    problems = []
    if ratio is not None and math.isnan(ratio):
        return Finding(joint.name, UNLIKE, probed.torque, None, {})
    if ratio is not None and abs(ratio) < NONE:
        return Finding(joint.name, "its encoder does not count a turn by hand: check wiring and supply",
                       probed.torque, ratio, {})
    if ratio is not None and ratio < 0.0:
        problems.append("its encoder counts the wrong way")
        values.setdefault("encoder", {})["sign"] = -joint.encoder.sign
    if ratio is not None and abs(abs(ratio) - 1.0) > COUNTS_WRONG:
        counts = round(joint.encoder.counts * abs(ratio))
        problems.append(f"its encoder has about {counts} counts per turn, not {joint.encoder.counts}")
        values.setdefault("encoder", {})["counts"] = counts
    if probed.torque == 0.0:
        problems.append("nothing moves when it is driven: check motor, driver and encoder, and that it is not blocked")
    elif probed.other is not None:
        problems.append(f"joint {mechanism.streamed[probed.other].name!r} counts when it is driven: two encoders or "
                        "two motors are swapped")
    elif not _sure(mechanism, number, probed):
        problems.append(_unsure(mechanism, number, probed))
    elif probed.way * (-1 if ratio is not None and ratio < 0.0 else 1) < 0:
        if ratio is None:
            problems.append("it turns against its torque: the sign of its encoder or of its motor is wrong; a turn by "
                            "hand shows which")
        else:
            problems.append("its motor turns it the wrong way")
            values.setdefault("motor", {})["sign"] = -joint.motor.sign
    return Finding(joint.name, "; ".join(problems), probed.torque, ratio, values,
                   sinks="" if probed.sinks is None else _support(mechanism, number, probed))


def write_bring_up(path: Path, findings: list[Finding]) -> dict[str, str]:
    """Write the corrected keys of the findings into the file. Returns each joint whose changes the file's validation
    refused, with the reason."""
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
    """Return the ratio of the counted angle to the user's angle, as the mean of a turn and a turn back. NaN if the two
    ratios differ."""
    angle = asked(joint)
    return agreed(*(_turned(session, joint, number, hand, by) for by in (angle, -BACK * angle)))


def agreed(there: float, back: float) -> float:
    """Return the mean ratio of two turns. NaN if the ratios differ by more than the error of a turn by hand, or if only
    one of them is near 1."""
    mean = 0.5 * (there + back)
    if max(abs(there), abs(back)) < NONE:
        return mean
    if abs(there - back) > ALIKE * abs(mean) or _other(mean) and not (_other(there) and _other(back)):
        return math.nan
    return mean


def _turned(session: Session, joint: Joint, number: int, hand: Hand, angle: float) -> float:
    _rest(session)
    before = np.array(session.status.position)
    hand(joint, angle)
    _rest(session)
    return float(session.difference(session.status.position, before)[number] / angle)


def asked(joint: Joint) -> float:
    """Return the angle for a turn by hand from the joint's start, rad, or m for a prismatic joint. For CAN drives the
    angle is HAND to FAR, as the joint's limits allow."""
    if joint.type == "prismatic":
        return 0.1 * HAND
    if joint.drive is None or joint.drive.servo is not None:
        return HAND
    return max(HAND, min(FAR, joint.limits.upper - joint.start))


def _place(session: Session, joint: Joint, number: int, place: Place) -> float:
    """Return the measured position of a joint at its start, rad."""
    place(joint)
    _rest(session)
    return float(session.positions()[number])


def _rest(session: Session) -> None:
    clock, still = session.clock, session.clock.now()
    last, end = np.array(session.status.position), clock.now() + REST_LIMIT
    while clock.now() - still < REST_S:
        if clock.now() > end:
            raise Refused(f"{session.link.port}: a joint does not come to rest; support the arm so that no joint falls")
        session.pump()
        session.clock.sleep(PERIOD)
        if np.abs(session.difference(session.status.position, last)).max() > 0.25 * MOVES:
            last, still = np.array(session.status.position), clock.now()


def _probe(session: Session, mechanism: Mechanism, number: int) -> Probed:
    """Drive one joint only: first with zero torque, then in both directions."""
    most = 0.999 * mechanism.safety.probe_effort * joint_constants(mechanism, mechanism.streamed[number]).effort
    ramp = [(most * step / STEPS, STEP_S) for step in range(1, STEPS + 1)]
    still = _drive(session, number, [(0.0, LOOK_S)])
    if still.moves(number) or still.others(number) is not None:
        pulse = [(most, still.seconds[-1])]
        return sinking(number, still, _drive(session, number, pulse), _drive(session, number, _against(pulse)))
    return moving(number, still, _drive(session, number, ramp), _drive(session, number, _against(ramp)))


def _against(torques: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(-torque, seconds) for torque, seconds in torques]


@dataclass(frozen=True)
class Driven:
    """Motion of a driven joint."""

    seconds: NDArray[np.float64]  # (K,): since the beginning
    moved: NDArray[np.float64]  # (K, J): counted motion
    torque: float  # the last torque

    def moves(self, number: int) -> bool:
        return bool(abs(self.moved[-1, number]) > MOVES)

    def others(self, number: int) -> int | None:
        """Return an undriven joint that moved too far while this joint was driven."""
        other = int(np.argmax(np.abs(self.moved[-1])))
        return None if other == number or abs(self.moved[-1, other]) <= OTHER_MOVES else other


def moving(number: int, still: Driven, forwards: Driven, backwards: Driven) -> Probed:
    """Return the test result for a joint that is at rest without torque: the direction in which it moves for each sign
    of the torque. If another joint moved too far, decide whether the torque moved that joint."""
    ways = [sign * int(np.sign(seen.moved[-1, number])) if seen.moves(number) else 0
            for sign, seen in ((1, forwards), (-1, backwards))]
    torque = next((abs(seen.torque) for way, seen in zip(ways, (forwards, backwards), strict=True) if way), 0.0)
    if not any(ways):
        for seen in (forwards, backwards):
            if (other := seen.others(number)) is not None:
                by_itself = _by_itself(other, still, forwards, backwards)
                return Probed(0, abs(seen.torque), None if by_itself else other, other if by_itself else None)
        return Probed(0, 0.0)
    return Probed(int(np.sign(sum(ways))), torque, one_way=0 in ways)


def _by_itself(other: int, still: Driven, forwards: Driven, backwards: Driven) -> bool:
    """Return True if an undriven joint moves without a torque, or in the same direction for both signs."""
    ahead, back = forwards.moved[-1, other], backwards.moved[-1, other]
    return bool(abs(still.moved[-1, other]) > MOVES or (ahead * back > 0.0 and min(abs(ahead), abs(back)) > MOVES))


def sinking(number: int, still: Driven, forwards: Driven, backwards: Driven) -> Probed:
    """Return the response of a joint that sinks. Compare the motion under each torque with the motion without torque
    over the same time. The direction is unknown if both torques shift the motion to the same side, or if the two
    motions hardly differ."""
    until = min(seen.seconds[-1] for seen in (still, forwards, backwards))
    places = [float(np.interp(until, seen.seconds, seen.moved[:, number])) for seen in (backwards, still, forwards)]
    apart = np.diff(places)
    way = int(np.sign(apart[0])) if np.sign(apart[0]) == np.sign(apart[1]) and np.min(
        np.abs(apart)) > APART * MOVES else 0
    return Probed(way, abs(forwards.torque), sinks=number if still.moves(number) else still.others(number))


def _drive(session: Session, number: int, torques: list[tuple[float, float]]) -> Driven:
    """Apply torques to one joint in sequence, each for its duration in s. Stop when the joint moves or another joint
    moves too far."""
    _rest(session)
    before = np.array(session.status.position)
    seconds, moved, torque = [0.0], [np.zeros(len(before))], 0.0
    session.ask(Probe(0, number, 0.0), "PROBE")
    try:
        _currents_shown(session)
        begin = end = session.clock.now()
        for torque, lasts in torques:
            session.ask(Probe(0, number, torque), "PROBE")
            end += lasts
            while session.clock.now() < end:
                session.clock.sleep(ASK)
                session.tell(Probe(0, number, torque))
                session.pump()
                session.faulted()
                seconds.append(session.clock.now() - begin)
                moved.append(session.difference(session.status.position, before))
                if abs(moved[-1][number]) > MOVES or np.abs(moved[-1]).max() > OTHER_MOVES:
                    return Driven(np.array(seconds), np.array(moved), torque)
    finally:
        session.disarm()
    return Driven(np.array(seconds), np.array(moved), torque)


def _currents_shown(session: Session) -> None:
    """Wait until the board has applied the test pulse to its current sensors. Raises Faulted."""
    end = session.clock.now() + PULSE_S
    while session.clock.now() < end:
        session.clock.sleep(PERIOD)
        session.pump()
        session.faulted()


def bring_up_summary(findings: list[Finding]) -> Mapping[str, str]:
    """Return for each joint its problem or 'good', its zero, the facts that remain unknown, and whether the joint
    sinks."""
    return {f.joint: (f.problem or "good") + (f"; its zero is at {f.zero:.5g}" if f.zero is not None else "")
            + (f"; not known: {f.unknown}" if f.unknown else "") + (f"; {f.sinks}" if f.sinks else "")
            for f in findings}


def bring_up_advice(mechanism: Mechanism, findings: list[Finding]) -> str:
    """Return advice if the servos have different firmware, which LeRobot does not accept. Empty if all firmware is
    equal."""
    of_version: dict[str, list[str]] = {}
    servos = {joint.name: family_of(joint.drive.type).title for joint in mechanism.streamed
              if joint.drive is not None and joint.drive.servo is not None}
    for finding in findings:
        if finding.firmware and finding.joint in servos:
            of_version.setdefault(finding.firmware, []).append(finding.joint)
    if len(of_version) < 2:
        return ""
    report = "; ".join(f"{version}: {', '.join(names)}" for version, names in sorted(of_version.items()))
    tool = f"{next(iter(servos.values()))}'s tool"
    return f"servos have different firmware ({report}): bring all to one version with {tool}"
