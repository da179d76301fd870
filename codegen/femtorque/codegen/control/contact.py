"""Constants of contact detection (firmware/src/control/ft_contact.h): a row per joint, and times.

The momentum observer is De Luca and Mattone's, in the form of this project's step: what the measured motion needs, less
what the motors made, filtered once. A motor's torque is that of its voltage less its back-EMF, after its winding's lag;
a drive's is what it was asked for, as much later as a command and its answer take.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from femtorque.codegen.board import Board
from femtorque.codegen.common import BadInput, exp
from femtorque.codegen.control.felt_noise import felt_noise
from femtorque.codegen.control.gains import three_digits
from femtorque.codegen.control.park import wayless
from femtorque.codegen.control.table import REAL, UINT32, member
from femtorque.codegen.drive import WIRES
from femtorque.codegen.mechanism import Contact, Joint, Mechanism, Park
from femtorque.codegen.model import Model, assemble, has_modes, in_mode

REACTIONS = {"none": 0, "stop": 1, "float": 2, "return": 3}
SLOW_HZ = 0.3  # bandwidth of the mean that a touch has to leave
SETTLES_S = 0.5  # s from power on: weight is taken over, friction gives way
DRIVE_DELAY = 3  # ticks from a command's forming to the interval that its answer shows the end of
SHARE_OF_DRIVE = 0.15  # the same of a drive, whose positions come in coarser steps: more noise
SHARE, OF_DRY, OF_NOISE = 0.02, 2.0, 6.0  # of effort, dry friction, noise: a threshold that the file does not give
QUIET_S = 1.0  # s at rest without a touch until an arm that has given way goes back, or on to lie down
RETURN_TRIES = 5  # ways back without getting there, after which it stays where it is
RETURN_SPEED = Park.speed  # of FOLLOW's limits, where the file says no other for lying down
LATE = 1  # ticks that a voltage acts before its effect is measured


class Electrical(Protocol):
    """A joint's other constants, as far as contact detection needs them (control.constants.JointConstants)."""

    @property
    def count(self) -> float:
        """rad or m per count."""

    @property
    def effort(self) -> float:
        """N m or N."""

    @property
    def resistance(self) -> float:
        """V per N m."""

    @property
    def inductance(self) -> float:
        """V per N m, of its change in a tick."""

    @property
    def back_emf(self) -> float:
        """V per rad, of u + u'."""


@dataclass(frozen=True)
class ContactConstants:
    """One joint's row of ft_contact_joint. u is a half increment in a tick."""

    per_volt: float = member(REAL, "N m per V; 0: a drive takes torques")
    damping: float = member(REAL, "N m per rad, of u + u': back-EMF")
    kept: float = member(REAL, "of what the torque lags, over a tick")
    part: float = member(REAL, "of it, in the tick's mean")
    torque: float = member(REAL, "N m: a touch, at rest")
    velocity: float = member(REAL, "N m per rad, of u + u': and more")
    acceleration: float = member(REAL, "N m per rad, of u' - u")
    delay: int = member(UINT32, "ticks from asking to acting")


@dataclass(frozen=True)
class ContactDetection:
    """Constants of contact detection. gain, slow: of r and of its mean, per tick. reaction: as in REACTIONS.
    quiet: ticks at rest without a touch. tries: ways back of an arm that returns, at most."""

    rows: list[ContactConstants]
    gain: float
    slow: float
    settles: int
    reaction: int
    quiet: int
    tries: int


def detection(mechanism: Mechanism, board: Board | None, rows: Sequence[Electrical],
              opens: int) -> ContactDetection | None:
    """Constants of contact detection; None where the file does not ask for it. Raises BadInput.

    rows: the joints' other constants. opens: ticks that brakes take to open.
    """
    feel = mechanism.feel
    if feel is None:
        return None
    if why := unfelt(mechanism):
        raise BadInput(mechanism.source or mechanism.name, "feel", None, why, "remove it")
    if feel.reaction == "return" and (why := wayless(mechanism)):
        raise BadInput(mechanism.source or mechanism.name, "feel.reaction", feel.reaction, why, '"float" or "stop"')
    hz = mechanism.control.rate_hz
    return ContactDetection(
        rows=[_row(joint, row, board, hz, noise)
              for joint, row, noise in zip(mechanism.streamed, rows, noises(mechanism, rows), strict=True)],
        gain=1.0 - exp(-2.0 * math.pi * feel.bandwidth_hz / hz), slow=1.0 - exp(-2.0 * math.pi * SLOW_HZ / hz),
        settles=opens + round(SETTLES_S * hz), reaction=REACTIONS[feel.reaction],
        quiet=round(QUIET_S * hz), tries=RETURN_TRIES if feel.reaction == "return" else 0)


def unfelt(mechanism: Mechanism) -> str:
    """Reason for which a mechanism cannot feel; '' if it can."""
    if mechanism.flexible:
        return "is not possible with flexible links: their bending is not measured"
    if has_modes(mechanism):
        return "is not possible with modes: forces that come and go with them would be felt as touches"
    if mechanism.constrained and assemble(Model.of(in_mode(mechanism))).redundant:
        return ("is not possible with more driven joints than can move freely: motors push against each other, which "
                "would be felt as if it came from outside")
    for joint in mechanism.streamed:
        bus = next((bus for bus in mechanism.buses if joint.drive and bus.name == joint.drive.bus), None)
        if bus is not None and bus.kind in WIRES:
            return f"is not possible with servos on a wire, as joint {joint.name} is: nobody knows the torque they make"
        if joint.drive is None and (joint.motor is None or joint.encoder is None):
            return f"needs motor and encoder, or a drive, of joint {joint.name}"
    return ""


def noises(mechanism: Mechanism, rows: Sequence[Electrical]) -> list[float]:
    """Standard deviation of each joint's noise, N m or N, to three digits (femtorque.codegen.control.felt_noise)."""
    hz = mechanism.control.rate_hz
    losses = [row.back_emf / row.resistance / hz if row.resistance else 0.0 for row in rows]
    return [three_digits(noise) for noise in felt_noise(mechanism, [row.count for row in rows], losses)]


def threshold(joint: Joint, effort: float, noise: float) -> Contact:
    """Thresholds of a joint: the file's, or a share of its effort, its dry friction and its noise. effort, noise: N m
    or N."""
    share = SHARE_OF_DRIVE if joint.drive else SHARE
    return joint.contact or Contact(torque=share * effort + hidden(joint, effort) + OF_NOISE * noise)


def hidden(joint: Joint, effort: float) -> float:
    """The most, N m or N, by which dry friction changes while a joint rests: it holds the joint one way, which the mean
    of what is felt follows, and then the other. effort: N m or N."""
    rubs = joint.friction
    return OF_DRY * (rubs.coulomb + (rubs.stribeck + rubs.load * effort))


def _row(joint: Joint, row: Electrical, board: Board | None, hz: float, noise: float) -> ContactConstants:
    at = threshold(joint, row.effort, noise)
    bridge = joint.motor is not None and joint.drive is None
    pole = joint.motor.R / (joint.motor.L * hz) if joint.motor and bridge and joint.motor.L and row.inductance else 0.0
    kept = exp(-pole) if pole else 0.0
    return ContactConstants(
        per_volt=1.0 / row.resistance if bridge else 0.0, damping=row.back_emf / row.resistance if bridge else 0.0,
        kept=kept, part=(1.0 - kept) / pole if pole else 0.0,
        torque=at.torque, velocity=at.velocity * hz, acceleration=at.acceleration * 2.0 * hz * hz,
        delay=LATE + (board.lead if board else 0) if bridge else DRIVE_DELAY)
