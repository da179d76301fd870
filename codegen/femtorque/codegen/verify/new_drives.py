"""Tables for `femtorque init --drive`: a bus of the board, and a drive or servo of the catalogue at every joint."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from femtorque.codegen.board import Board, line_divider
from femtorque.codegen.common import BadInput, hint
from femtorque.codegen.control import OF_NO_LOAD
from femtorque.codegen.drive import DRIVES, DriveType, Wire, bus_load, family_of
from femtorque.codegen.mechanism import FD_BITRATE, Gains

RATES = ((1000, 250), (800, 200), (500, 100), (400, 100), (250, 50), (200, 50), (100, 50))  # control and knots, Hz
SOFT = 0.2  # fraction of the stiffest gains, for servos; encoder steps and backlash make the stiffest gains audible
RANGE = 3.1  # rad: within half a turn, where a URDF gives no range, since a drive's position ends at its range
BITRATE = 1_000_000
CAN_VOLTS = 24.0

SETTING_UP = """
# Numbers are counted from the base on: give each {what} its own by its maker's tool, or write here what it has.
# Then `femtorque bringup --zero --write` finds signs and zeros, and `femtorque identify --write` friction."""

CUT = """
# [safety.cutoff]               # where the board's output switches the servos' supply (docs/drives.md): without it one
                                # that nobody reaches keeps its last duty until somebody cuts its supply"""


@dataclass(frozen=True)
class Bussed:
    """Drives on a bus of the board, by joint, and the control rate. volts: supply voltage of the drives."""

    kinds: dict[str, DriveType]
    bus: str
    wire: Wire
    rate_hz: int
    knot_hz: int
    holds: bool  # true if the servos close their loops, so that they hold the arm when a PC dies

    @property
    def volts(self) -> float:
        return _volts(next(iter(self.kinds.values())))

    @property
    def endless(self) -> bool:
        """Return True if a drive may run on without the board."""
        return not self.holds and any(family_of(kind).alone for kind in self.kinds.values())

    def head(self) -> str:
        first = next(iter(self.kinds.values()))
        what = _what(first)
        lasting = what == "servo" and bool(family_of(first).alone)
        rate = "" if self.wire.bitrate == BITRATE else f"\nbitrate = {self.wire.bitrate:.0f}"
        owned = f"\n# Set in each, as nobody can ask for it: {family_of(first).setup}" if family_of(first).setup else ""
        return (f'{SETTING_UP.format(what=what)}{owned}{CUT if lasting else ""}\n\n[[bus]]\nname = "{self.bus}"\n'
                f'kind = "{self.wire.kind}"{rate}')

    def tables(self, number: int, joint: dict[str, Any]) -> str:
        """Return the table of a joint of the URDF, without its name and gains. number: counted from 1."""
        kind = self.kinds[str(joint["name"])]
        # the gains inside some drives are unknown
        pd = ', pd = "drive"' if self.holds else ', pd = "board"' if family_of(kind).configuration else ""
        rotor = f", inertia = {kind.inertia:g}" if kind.inertia else ""  # a servo's catalogued motor includes it
        friction = "" if kind.servo is None else (
            f"friction = {{ viscous = {kind.servo.viscous:.3g}, coulomb = {kind.servo.coulomb:.3g} }}")
        return "\n".join(filter(None, (
            _limits(kind, joint), friction,
            f'drive = {{ type = "{kind.name}", bus = "{self.bus}", id = {number}{pd}{rotor} }}')))

    def gains(self, joint: str, stiffest: Gains) -> str:
        """Return the gains of a joint's drive as a text: for servos, a fraction of the stiffest gains."""
        servo = self.kinds[joint].servo
        if servo is not None and self.holds:
            return (f"gains = {{ ku = {servo.loop.usual * servo.stiffness():.3g}, kv = 0.0 }}   # P {servo.loop.usual} "
                    f"of the servo's own loop, at most {servo.loop.most}")
        share = 1.0 if servo is None else SOFT
        why = "" if servo is None else f"   # {SOFT:g} of the stiffest, for the servo's play"
        return f"gains = {{ ku = {share * stiffest.ku:.3g}, kv = {share * stiffest.kv:.3g} }}{why}"


def _limits(kind: DriveType, joint: dict[str, Any]) -> str:
    asked = joint.get("limits", {})
    most = {"velocity": OF_NO_LOAD * kind.velocity, "effort": kind.torque}
    less = [f"{key} = {_down(value)}" for key, value in most.items() if value < asked.get(key, math.inf)]
    if not {"lower", "upper"} <= asked.keys():
        return f"limits = {{ lower = -{RANGE}, upper = {RANGE}, {', '.join(less)} }}   # invented"
    return f"limits = {{ {', '.join(less)} }}   # the {_what(kind)} gives no more" if less else ""


def _volts(kind: DriveType) -> float:
    return CAN_VOLTS if kind.servo is None else kind.servo.volts


def _what(kind: DriveType) -> str:
    return "drive" if kind.servo is None else "servo"


def _down(value: float) -> str:
    """Return the text of a number, rounded down to three digits."""
    scale = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.floor(value / scale * (1.0 + 1e-12)) * scale:.3g}"


def bussed(urdf: Path, moving: list[dict[str, Any]], board: Board, asked: Sequence[str]) -> Bussed:
    """Return the drives of the joints. asked: DRIVE for every joint, JOINT=DRIVE for one joint.

    Raise BadInput for an unknown drive, and for a drive that is impossible with this board or these joints."""
    kinds = _kinds(urdf, [str(joint["name"]) for joint in moving], asked)
    for joint in moving:
        kind = kinds[str(joint["name"])]
        if joint["type"] == "prismatic":
            raise BadInput("femtorque init", "--drive", kind.name, f"turns, and joint {joint['name']!r} slides",
                           "lock it, or write its drive by hand")
    servos = [kind.servo for kind in kinds.values() if kind.servo is not None]
    holds = len(servos) == len(kinds) and (board.is_pc or any(servo.unsafe for servo in servos))
    kinds = {joint: replace(kind, servo=kind.servo and replace(kind.servo, holds=holds))
             for joint, kind in kinds.items()}
    bus, wire = _bus(board, list(kinds.values()))
    load = bus_load(wire, list(enumerate(kinds.values(), 1)))
    took = 0.0 if board.adapter is None else board.adapter.delay + board.adapter.jitter
    fastest = min(load.fastest, 1.0 / (took + load.worst))
    rates = next((pair for pair in RATES if pair[0] <= fastest), None)
    if rates is None:
        raise BadInput("femtorque init", "--drive", " ".join(asked),
                       f"bus {bus!r} bears {len(moving)} of them at {fastest:.0f} Hz",
                       "lock some joints, or write a second bus by hand")
    return Bussed(kinds, bus, wire, *rates, holds)


def _kinds(urdf: Path, joints: list[str], asked: Sequence[str]) -> dict[str, DriveType]:
    """Return the drive of every joint."""
    every, own = None, dict[str, DriveType]()
    for one in asked:
        joint, equals, name = one.rpartition("=")
        if name not in DRIVES:
            raise BadInput("femtorque init", "--drive", one, "no such drive", hint(name, list(DRIVES), "drives"))
        if equals and joint not in joints:
            raise BadInput("femtorque init", "--drive", one, f"{urdf.name} has no such joint that moves",
                           hint(joint, joints, "joints"))
        if (joint in own) if equals else every is not None:
            raise BadInput("femtorque init", "--drive", one, f"joint {joint!r} is given two" if equals else
                           "every joint is given two", "for one joint write JOINT=DRIVE")
        if equals:
            own[joint] = DRIVES[name]
        else:
            every = DRIVES[name]
    bare = [joint for joint in joints if joint not in own]
    if bare and every is None:
        raise BadInput("femtorque init", "--drive", " ".join(asked), f"leaves {', '.join(bare)} without one",
                       f"--drive {bare[0]}=DRIVE, or --drive DRIVE for all that are not named")
    return {joint: own.get(joint) or every for joint in joints}  # type: ignore[misc]


def _bus(board: Board, kinds: list[DriveType]) -> tuple[str, Wire]:
    """Return the first bus that can carry all drives."""
    first = kinds[0]
    other = next((kind for kind in kinds if family_of(kind).wire != family_of(first).wire
                  or _volts(kind) != _volts(first)), None)
    if other is not None:
        raise BadInput("femtorque init", "--drive", other.name, f"shares neither wire nor supply with {first.name}",
                       "write the second bus by hand")
    wire = family_of(first).wire
    if board.is_pc:
        return _bus_of_pc(kinds)
    names = list(board.can if wire is None else board.half_duplex)
    if not names:
        what = "CAN bus" if wire is None else "wire for servos"
        raise BadInput("femtorque init", "--board", board.name, f"has no {what} for {first.name}",
                       "take another board; docs/boards.md lists what each has")
    if wire is not None:
        usart = board.chip.usarts[board.half_duplex[names[0]].usart]
        rate = next(rate for rate in wire.bitrates if line_divider(usart, usart.clock_hz, rate) is not None)
        return names[0], Wire(wire.kind, rate)
    fd = all(kind.fd for kind in kinds) and board.chip.cans[board.can[names[0]].controller].data is not None
    return names[0], Wire("can-fd", BITRATE, FD_BITRATE) if fd else Wire("can", BITRATE)


def _bus_of_pc(kinds: list[DriveType]) -> tuple[str, Wire]:
    """Return a bus by a usual name: a PC's adapters take any rate."""
    wire = family_of(kinds[0]).wire
    if wire is not None:
        return "servos", Wire(wire.kind, wire.bitrates[0])
    return "can1", Wire("can-fd", BITRATE, FD_BITRATE) if all(kind.fd for kind in kinds) else Wire("can", BITRATE)
