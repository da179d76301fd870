"""The first power-up of an arm, one joint at a time: does the motor turn it, the right way, and is what is counted
right?

Two looks at each joint. The probe: the board gives it alone a small torque, open loop, growing until it moves; nothing
relies on its encoder. On current loops every motor is given a pulse of a few per cent of the voltage before, no loop
closed: a current sensor of the wrong sign ends the looks there, with what to do. The hand: with no power at all,
somebody turns it by a known angle in its positive direction. The hand tells the encoder's sign and counts; both
together tell the motor's sign. A drive on a bus turns and counts the same way, or it is not set up: the hand tells
its sign, and what it cannot be asked for is told in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codegen.board.channels import file_of
from codegen.common.errors import BadInput, Refused
from codegen.control.constants import joint_constants
from codegen.mechanism.description import Joint, Mechanism
from codegen.mechanism.edit import set_joint
from codegen.wire.codec import Probe
from host.link import drives
from host.link.requests import ASK
from host.link.session import PERIOD, Session

STEPS, STEP_S = 10, 0.15  # torques tried on the way to the most, and how long each
PULSE_S = 0.02  # by then the board has judged its current sensors
REST_S, REST_LIMIT = 0.4, 5.0  # s without motion before a look, and the longest to wait for it
MOVES = 0.02  # rad or m by which a joint has moved
OTHER_MOVES = 0.25  # the same of a joint that is not driven: outer ones swing a little when inner ones start
HAND = 0.5  # rad, or a tenth in m: the angle asked for
COUNTS_WRONG = 0.05  # a hand is no better than this


@dataclass(frozen=True)
class Finding:
    """Of one joint. problem: empty if all is well. values: what to write into the file to mend it. unknown: what nobody
    here can know of its drive; empty for none."""

    joint: str
    problem: str
    torque: float  # at which it moved, N m or N; 0 if it did not
    ratio: float | None  # counted over told motion of the hand; None if it was not asked for
    values: dict[str, dict[str, int]]
    unknown: str = ""

    def data(self) -> dict[str, Any]:
        return {"joint": self.joint, "problem": self.problem, "torque": self.torque, "ratio": self.ratio,
                "values": self.values, "unknown": self.unknown}


Hand = Callable[[Joint, float], None]  # ask somebody to turn a joint by that much; returns when it is done


def bring_up(session: Session, mechanism: Mechanism, hand: Hand | None = None,
             on_joint: Callable[[str], None] = lambda name: None) -> list[Finding]:
    """Look at every driven joint. The board is DISARMED before and after. hand: without it, counts are not looked at.

    Raises BadInput for an arm whose brakes the board opens, and Refused if the board refuses, finds a current sensor
    wrong, or a joint does not come to rest.
    """
    if mechanism.safety.brake is not None:
        raise BadInput(file_of(mechanism), "safety.brake", None, "a probe holds no joint, and all brakes open at once",
                       "support the arm, open its brakes from a supply of their own, and use a file without "
                       "[safety.brake]")
    findings = []
    for number, joint in enumerate(mechanism.streamed):
        bussed = joint.drive is not None and joint.drive.servo is None
        if not bussed and (joint.motor is None or joint.encoder is None):
            continue
        on_joint(joint.name)
        ratio = None if hand is None else _by_hand(session, joint, number, hand)
        if bussed and (wrong := drives.words(session.drives, mechanism.streamed, number)):
            findings.append(Finding(joint.name, wrong, 0.0, ratio, {}, _unknown(joint)))
            break  # the board drives none while one is set otherwise
        torque, moved = _probe(session, mechanism, number)
        findings.append((judge_drive if bussed else judge)(mechanism, number, torque, moved, ratio))
    return findings


def judge_drive(mechanism: Mechanism, number: int, torque: float, moved: NDArray[np.float64],
                ratio: float | None) -> Finding:
    """The same of a joint whose drive is on a bus. Its torque and its position have one sign."""
    joint = mechanism.streamed[number]
    drive = joint.drive
    assert drive is not None
    values: dict[str, dict[str, int]] = {}
    problems = []
    if ratio is not None and abs(ratio) < 0.1:
        problems.append("its drive's position does not follow when it is turned by hand: is it this joint's id?")
    elif ratio is not None:
        if ratio < 0.0:
            problems.append("its drive counts the wrong way")
            values["drive"] = {"sign": -drive.sign}
        if abs(abs(ratio) - 1.0) > COUNTS_WRONG:
            problems.append(f"its drive tells {abs(ratio):.2g} times the angle: read its range of position, "
                            f"{drive.type.position:g} rad in the file, out of it; or there is a gear behind it")
    other = int(np.argmax(np.abs(moved)))
    if torque == 0.0:
        problems.append("nothing moves when it is driven: check its supply, and whether it is blocked")
    elif abs(moved[number]) < MOVES:
        problems.append(f"joint {mechanism.streamed[other].name!r} moves when it is driven: two drives have each "
                        "other's id")
    elif moved[number] < 0.0:
        problems.append("it turns against its torque: have it calibrated by its maker's tool")
    return Finding(joint.name, "; ".join(problems), torque, ratio, values, _unknown(joint))


def _unknown(joint: Joint) -> str:
    """What a drive cannot be asked for and does not show when it moves."""
    drive = joint.drive
    if drive is None or drive.type.family == "damiao":
        return ""
    return (f"whether its range of torque is {drive.type.torque:g} N m: it does not tell; let it carry a weight that "
            "you know")


def judge(mechanism: Mechanism, number: int, torque: float, moved: NDArray[np.float64], ratio: float | None) -> Finding:
    """What two looks mean. torque: positive, at which something moved (0: nothing did); moved (J,) by the probe."""
    joint = mechanism.streamed[number]
    assert joint.motor is not None and joint.encoder is not None
    values: dict[str, dict[str, int]] = {}
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


def write(path: Path, findings: list[Finding]) -> None:
    """Mend the file where a finding says how."""
    for finding in findings:
        if finding.values:
            set_joint(path, finding.joint, finding.values)


def _by_hand(session: Session, joint: Joint, number: int, hand: Hand) -> float:
    """Counted over told motion."""
    angle = HAND if joint.type != "prismatic" else 0.1 * HAND
    _rest(session)
    before = np.array(session.status.position)
    hand(joint, angle)
    _rest(session)
    return float(session.difference(session.status.position, before)[number] / angle)


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
    """Joint -> what is wrong with it, or 'good', and what is not known."""
    return {f.joint: (f.problem or "good") + (f"; not known: {f.unknown}" if f.unknown else "") for f in findings}
