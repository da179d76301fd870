"""Constants of contact detection (firmware/src/control/ft_contact.h): one row per joint, and the times.

The method is the momentum observer of De Luca and Mattone, with this project's integration step. The residual is the
torque of the measured motion minus the motors' torque. One low-pass filter filters the residual. For a motor on a
bridge, the torque follows from its voltage, back-EMF and winding lag. For a drive, the torque is its setpoint, delayed
by the time of command and answer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from femtorque.codegen.board import Board
from femtorque.codegen.common import exp
from femtorque.codegen.control.felt_noise import felt_noise
from femtorque.codegen.control.gains import three_digits
from femtorque.codegen.control.joint_row import JointConstants
from femtorque.codegen.control.park import wayless
from femtorque.codegen.control.table import REAL, UINT32, member
from femtorque.codegen.drive import WIRES
from femtorque.codegen.mechanism import Contact, Joint, Mechanism, Park, refuse
from femtorque.codegen.model import Model, assemble, has_modes, in_mode

REACTIONS = {"none": 0, "stop": 1, "float": 2, "return": 3}
SLOW_HZ = 0.3  # bandwidth of the residual's mean, Hz; a contact is a deviation from this mean
SETTLES_S = 0.5  # time after power-on without contact detection, s, in which motors overcome weight and friction
DRIVE_DELAY = 3  # ticks from a command to the answer that shows its effect
SHARE_OF_DRIVE = 0.15  # the same factor on effort for a drive, whose position steps are coarser and make more noise
SHARE, OF_DRY, OF_NOISE = 0.02, 2.0, 6.0  # factors on effort, dry friction, noise; a threshold is the sum
QUIET_S = 1.0  # time at rest without contact until an arm that yielded returns or continues to park, s
RETURN_TRIES = 5  # number of interrupted returns after which the arm stays where it is
RETURN_SPEED = Park.speed  # default scale of FOLLOW's limits during a return
LATE = 1  # ticks from a voltage to its measured effect


@dataclass(frozen=True)
class ContactConstants:
    """The row of one joint in ft_contact_joint. u is a half increment of the target in a tick."""

    per_volt: float = member(REAL, "N m per V; 0: a drive takes torques")
    damping: float = member(REAL, "N m per rad, of u + u': back-EMF")
    kept: float = member(REAL, "share of the torque's lag that is left after a tick")
    part: float = member(REAL, "share of the lag in the tick's mean")
    torque: float = member(REAL, "N m: threshold of a touch at rest")
    velocity: float = member(REAL, "N m per rad of u + u': rise of the threshold")
    acceleration: float = member(REAL, "N m per rad of u' - u: rise of the threshold")
    delay: int = member(UINT32, "ticks from a setpoint to its torque")


@dataclass(frozen=True)
class ContactDetection:
    """Constants of contact detection. gain, slow: filter gains of the residual and of its mean, per tick."""

    rows: list[ContactConstants]
    gain: float
    slow: float
    settles: int
    reaction: int  # number of the reaction, from REACTIONS
    quiet: int  # ticks at rest without contact before a return
    tries: int  # maximum number of returns


NOTHING = ContactDetection([], 0.0, 0.0, 0, 0, 0, RETURN_TRIES)


def detection(mechanism: Mechanism, board: Board | None, rows: Sequence[JointConstants],
              opens: int) -> ContactDetection:
    """Return the constants of contact detection; NOTHING if the mechanism file has no table [feel]. Raise BadInput.
    rows: the constants of the joints from the main table. opens: ticks that the brakes take to release."""
    feel = mechanism.feel
    if feel is None:
        return NOTHING
    if why := unfelt(mechanism):
        refuse(mechanism, "feel", None, why, "remove it")
    if feel.reaction == "return" and (why := wayless(mechanism)):
        refuse(mechanism, "feel.reaction", feel.reaction, why, '"float" or "stop"')
    hz = mechanism.control.rate_hz
    return ContactDetection(
        rows=[_row(joint, row, board, hz, noise)
              for joint, row, noise in zip(mechanism.streamed, rows, noises(mechanism, rows), strict=True)],
        gain=1.0 - exp(-2.0 * math.pi * feel.bandwidth_hz / hz), slow=1.0 - exp(-2.0 * math.pi * SLOW_HZ / hz),
        settles=opens + round(SETTLES_S * hz), reaction=REACTIONS[feel.reaction],
        quiet=round(QUIET_S * hz), tries=RETURN_TRIES)


def unfelt(mechanism: Mechanism) -> str:
    """Return the reason why contact detection is impossible for this mechanism; '' if it is possible."""
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


def noises(mechanism: Mechanism, rows: Sequence[JointConstants]) -> list[float]:
    """Return the standard deviation of each joint's torque noise, N m or N, rounded down to three digits."""
    hz = mechanism.control.rate_hz
    losses = [row.back_emf / row.resistance / hz if row.resistance else 0.0 for row in rows]
    return [three_digits(noise) for noise in felt_noise(mechanism, [row.count for row in rows], losses)]


def threshold(joint: Joint, effort: float, noise: float) -> Contact:
    """Return a joint's contact threshold, N m or N: the file's value or a default. The default is a weighted sum of
    effort, dry friction and noise."""
    share = SHARE_OF_DRIVE if joint.drive else SHARE
    return joint.contact or Contact(torque=share * effort + hidden(joint, effort) + OF_NOISE * noise)


def hidden(joint: Joint, effort: float) -> float:
    """Return the largest change of dry friction, N m or N, when a resting joint's load reverses. effort: the joint's
    effort, N m or N."""
    rubs = joint.friction
    return OF_DRY * (rubs.coulomb + (rubs.stribeck + rubs.load * effort))


def _row(joint: Joint, row: JointConstants, board: Board | None, hz: float, noise: float) -> ContactConstants:
    at = threshold(joint, row.effort, noise)
    bridge = joint.motor is not None and joint.drive is None
    pole = joint.motor.R / (joint.motor.L * hz) if joint.motor and bridge and joint.motor.L and row.inductance else 0.0
    kept = exp(-pole) if pole else 0.0
    return ContactConstants(
        per_volt=1.0 / row.resistance if bridge else 0.0, damping=row.back_emf / row.resistance if bridge else 0.0,
        kept=kept, part=(1.0 - kept) / pole if pole else 0.0,
        torque=at.torque, velocity=at.velocity * hz, acceleration=at.acceleration * 2.0 * hz * hz,
        delay=LATE + (board.lead if board else 0) if bridge else DRIVE_DELAY)
