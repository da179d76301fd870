"""Faults of Dynamixel X servos on one wire, judged as femtorque.hil.campaigns.campaign_drives judges drives on CAN.

A servo is unsafe where it has a current to make when it may not. One that nobody reaches stops by its own watchdog:
nobody cuts their supply here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from femtorque.codegen.common.firmware import MECHANISMS
from femtorque.codegen.drive.catalogue import DRIVES
from femtorque.codegen.mechanism.buses import servo_motor
from femtorque.codegen.mechanism.description import Bus, Drive, Friction, Gains, Mechanism, ServoSetting
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.hil.campaigns import campaign_drives as campaign
from femtorque.hil.campaigns.campaign import MOVED, Scene
from femtorque.hil.campaigns.campaign_drives import DRIVEN, LEVEL, RESTING, Injection, Outcome
from femtorque.hil.campaigns.campaign_servos import Strike, comes, first, refused, servo, wire
from femtorque.hil.drives.families.dynamixel import servo as x
from femtorque.hil.drives.families.dynamixel.servo import ERRORS, Dynamixel

NAME = "dynamixel"
TYPE = DRIVES["dynamixel-xm430-w350"]
LIGHT = 0.1  # of the mass of the drives' arm
TOLD = 0.008  # s until servos that are reached give nothing: found in a tick, sent with the next, obeyed 1 ms later
SILENT = 0.007 + TOLD  # five ticks more, and the one in which its answer was missing first
WATCHDOG = 2 * x.UNIT + 0.002  # s: as the board sets it, in ticks of 1 ms, and two periods of the servo's
AWAY = 1.0  # rad, from the position that another servo reports


def arm() -> Mechanism:
    """The drives' arm, light, on three servos at 1 kHz."""
    source = load_mechanism(MECHANISMS / "damiao_arm.toml")
    assert source.board is not None and TYPE.servo is not None
    friction, joints = Friction(TYPE.servo.viscous, TYPE.servo.coulomb), []
    for number, (joint, start) in enumerate(zip(source.joints, LEVEL, strict=True), 1):
        drive = Drive(TYPE, "servos", number, pd="board", servo=ServoSetting())
        limits = replace(joint.limits, lower=max(joint.limits.lower, -2.5), upper=min(joint.limits.upper, 2.5),
                         velocity=4.0, effort=3.0)
        joints.append(replace(joint, drive=drive, start=start, limits=limits, gains=Gains(30.0, 1.5),
                              friction=friction, motor=servo_motor(joint.name, drive, None, refused)))
    links = tuple(replace(link, mass=LIGHT * link.mass, inertia=LIGHT * link.inertia) for link in source.links)
    return replace(source, name="campaign_dynamixel", joints=tuple(joints), links=links,
                   buses=(Bus("servos", "dynamixel", 2_000_000),),
                   control=replace(source.control, rate_hz=1000, knot_hz=100),
                   board=replace(source.board, use="nucleo-g474re-6", bus_voltage=12.0))


def _other_servo(alone: bool) -> Strike:
    """Another one with its number is on the wire, elsewhere; alone: in its stead, and switched on as it is."""
    def strike(scene: Scene) -> None:
        one, line = first(scene), scene.board.wiring.buses.lines["servos"]
        other = Dynamixel(line.clock, one.id, one.model, one.bitrate, AWAY, lambda: 12.0)
        other.registers[:], other.ready = one.registers, 0.0
        one.cut = alone
        line.servos.insert(0, other)

    return strike


def _ails(code: int) -> Strike:
    return lambda scene: first(scene).fail(code)


def injections() -> Iterator[Injection]:
    """All, in a fixed order."""
    silent, ails, either = ("DRIVE_SILENT",), ("DRIVE_FAULT",), ("DRIVE_SILENT", "DRIVE_FAULT")

    def each(what: str, detail: str, strike: Strike, faults: tuple[str, ...], within: float = SILENT,
             moments: tuple[str, ...] = DRIVEN, refusals: tuple[str, ...] = (), unreached: bool = False,
             ) -> Iterator[Injection]:
        """While driven; and at rest, where it lasts. unreached: what the board says does not come to all of them."""
        for moment in moments:
            yield Injection(what, detail, moment, strike, "off", faults, max(within, WATCHDOG) if unreached else within)
        for moment in RESTING if refusals else ():
            yield Injection(what, detail, moment, strike, "refused", refusals)

    yield from each("drive silent", "cable off", servo("cut", True), silent, refusals=silent, unreached=True)
    for moment in MOVED:
        yield Injection("drive late", "20 us", moment, servo("late", 2e-5), "rides")
    yield from each("drive late", "1.5 ms", servo("late", 1.5e-3), silent, refusals=silent, unreached=True)
    yield from each("bus babbles", "without a pause", wire("babbles", True), silent, refusals=silent, unreached=True)
    yield from each("foreign frame", "two of one number", _other_servo(alone=False), silent, refusals=silent)
    yield from each("foreign frame", "another in its stead", _other_servo(alone=True),
                    ("ENCODER", "FOLLOWING", "POSITION", *either), unreached=True)
    for word, code in ERRORS.items():
        yield from each("drive's own fault", word, _ails(code), ails, TOLD)
    yield from each("drive's own fault", "it is hot", servo("temperature", 95.0), ails, TOLD)
    yield from each("wire shorted", "for 50 ms", wire("shorted", True, 0.05), silent, unreached=True)
    yield from each("wire shorted", "for 3 s", wire("shorted", True, 3.0), silent, refusals=silent, unreached=True)
    for moment in MOVED:
        yield Injection("bytes disturbed", "1 % of packets", moment, wire("error_rate", 0.01), "rides")
        yield Injection("bytes disturbed", "30 % of packets", moment, wire("error_rate", 0.3), "either", either,
                        max(SILENT, WATCHDOG))
    for seconds in (2e-3, 0.02, 0.3):
        yield from each("drive's supply dips", f"{1e3 * seconds:g} ms", servo("supplied", False, seconds), either,
                        moments=DRIVEN[1:])  # while it is being switched on it is one that is slow to be
    yield from each("supply dips", "100 ms", campaign.supply_dips, ("UNDER_VOLTAGE", *either), TOLD)
    yield from _settings()
    for moment in DRIVEN:
        for name, strike in (("no supply", campaign.board_dies), ("halted", campaign.board_halted)):
            yield Injection("board dies", name, moment, strike, "off", within=WATCHDOG, dark=True)
        for cause in ("pin", "brownout"):
            yield Injection("board resets", cause, moment, campaign.board_reset(cause), "off", within=WATCHDOG,
                            state="DISARMED")
        yield Injection("e-stop", "opens", moment, lambda scene: scene.board.estop(True), "off", within=TOLD,
                        state="ESTOP")


def _settings() -> Iterator[Injection]:
    """Wrong ones, from power-on."""
    for kind, name, strike in (
            ("wrong scale", "turned round", comes(x.DRIVE_MODE, 1)),
            ("wrong scale", "another offset", comes(x.HOMING, 300, 4)),
            ("wrong setting", "less current", comes(x.CURRENT_LIMIT, 500, 2)),
            ("wrong setting", "a goal switches it on", comes(x.DRIVE_MODE, 8)),
            ("wrong setting", "another model", comes(x.MODEL, 1030, 2)),
            ("wrong setting", "it bears all", comes(x.SHUTDOWN, 0)),
            ("wrong setting", "old firmware", comes(x.FIRMWARE, 44))):
        yield Injection(kind, name, "CHECK", strike, "refused", ("DRIVE_SETTING",))
    for name, strike in (("another number", comes(x.ID, 9)), ("another rate", comes(x.BAUD, 1))):
        yield Injection("wrong setting", name, "CHECK", strike, "refused", ("DRIVE_SILENT",))


def run(out: Path, pick: campaign.Pick = lambda all_: all_,
        on_outcome: Callable[[Outcome], None] = lambda outcome: None) -> list[Outcome]:
    """Build the arm's image and do what is picked."""
    return campaign.done(arm(), pick(list(injections())), False, out, on_outcome)
