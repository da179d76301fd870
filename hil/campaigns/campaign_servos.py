"""Faults of servos on one wire, judged as femtorque.hil.campaigns.campaign_drives judges drives on CAN.

A servo is unsafe where it gives its motor a voltage when it may not; one that brakes its motor, or lets it float, is
not. Servos have no time limit: one that nobody reaches keeps its duty until the board cuts the supply of all. Only a
debugger that halts the board's processor, and the watchdog with it, leaves them on until somebody else does, as `check`
says; so does a board without such an output: `arm(cutoff=None)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Never

from femtorque.codegen.common.firmware import MECHANISMS
from femtorque.codegen.drive.catalogue import DRIVES
from femtorque.codegen.mechanism.buses import servo_motor
from femtorque.codegen.mechanism.description import Bus, Cutoff, Drive, Gains, Mechanism, ServoSetting
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.hil.board.supply_relay import RELEASE_S
from femtorque.hil.campaigns import campaign_drives as campaign
from femtorque.hil.campaigns.campaign import MOVED, Scene
from femtorque.hil.campaigns.campaign_drives import DRIVEN, LEVEL, RESTING, Injection, Outcome, later
from femtorque.hil.drives.families.feetech import motor as sts_motor
from femtorque.hil.drives.families.feetech import servo as sts
from femtorque.hil.drives.families.feetech.motor import ERRORS
from femtorque.hil.drives.families.feetech.servo import Sts3215

NAME = "feetech"
TYPE = DRIVES["feetech-sts3215-12v"]
LIGHT = 0.1  # of the mass of the drives' arm
TOLD = 0.012  # s until servos that are reached give nothing: found in a tick, sent with the next, obeyed 2 ms later
SILENT = 0.012 + TOLD  # five ticks more: s until one that has left is missed
CUTOFF = Cutoff()
CUT = CUTOFF.within_s + 4e-3 + RELEASE_S + 1e-3  # s: asked, in vain, in ticks of 2 ms; the relay; a step of the plant
HALTED = "halted"  # by a debugger
AWAY = 1.0  # rad, from the position that another servo reports

Strike = Callable[[Scene], None]


def refused(key: str, value: object, rule: str, hint: str = "") -> Never:
    """Fail: nothing that is made here is refused."""
    raise AssertionError(key)


def arm(cutoff: Cutoff | None = CUTOFF) -> Mechanism:
    """The drives' arm, light, on three servos, whose supply the board switches."""
    source = load_mechanism(MECHANISMS / "damiao_arm.toml")
    assert source.board is not None
    joints = []
    for number, (joint, start) in enumerate(zip(source.joints, LEVEL, strict=True), 1):
        drive = Drive(TYPE, "servos", number, pd="board", servo=ServoSetting())
        limits = replace(joint.limits, lower=max(joint.limits.lower, -2.5), upper=min(joint.limits.upper, 2.5),
                         velocity=4.0, effort=2.6)
        joints.append(replace(joint, drive=drive, start=start, limits=limits, gains=Gains(12.0, 0.6),
                              motor=servo_motor(joint.name, drive, None, refused)))
    links = tuple(replace(link, mass=LIGHT * link.mass, inertia=LIGHT * link.inertia) for link in source.links)
    return replace(source, name="campaign_feetech", joints=tuple(joints), links=links, buses=(Bus("servos", "sts"),),
                   control=replace(source.control, rate_hz=500, knot_hz=100),
                   board=replace(source.board, bus_voltage=12.0), safety=replace(source.safety, cutoff=cutoff))


# ---- what goes wrong


def first(scene: Scene) -> Any:
    """The first servo, of whatever family."""
    return scene.board.wiring.buses.servos[campaign.FIRST]


def wire(name: str, value: object, seconds: float | None = None) -> Strike:
    """Something becomes so on the wire; for so long."""
    def strike(scene: Scene) -> None:
        line = scene.board.wiring.buses.lines["servos"]
        before = getattr(line, name)
        setattr(line, name, value)
        if seconds is not None:
            later(scene, seconds, lambda: setattr(line, name, before))

    return strike


def servo(name: str, value: object, seconds: float | None = None) -> Strike:
    """Something becomes so at the first servo; for so long."""
    def strike(scene: Scene) -> None:
        one = first(scene)
        before = getattr(one, name)
        setattr(one, name, value)
        if seconds is not None:
            later(scene, seconds, lambda: setattr(one, name, before))

    return strike


def comes(register: int, value: int, size: int = 1) -> Strike:
    """The first servo comes with another setting."""
    def strike(scene: Scene) -> None:
        one = first(scene)
        one.stored[register:register + size] = value.to_bytes(size, "little")
        if one.powered:
            one.power_up(float(scene.board.wiring.buses.signs[0] * scene.board.plant.q[0]))

    return strike


def _other_servo(alone: bool) -> Strike:
    """Another one with its number is on the wire, elsewhere; alone: in its stead, and switched on as it is."""
    def strike(scene: Scene) -> None:
        one, line = first(scene), scene.board.wiring.buses.lines["servos"]
        other = Sts3215(line.clock, one.id, 12.0, AWAY, lambda: 12.0)
        other.registers[:] = one.registers
        one.cut = alone
        line.servos.insert(0, other)

    return strike


def _ails(code: int) -> Strike:
    """Report an error that only lessens the torque, or nothing."""
    def strike(scene: Scene) -> None:
        if code in (ERRORS["overload"], ERRORS["voltage"]):
            first(scene).latched |= code
        else:
            first(scene).fail(code)

    return strike


def injections() -> Iterator[Injection]:
    """All, in a fixed order."""
    silent, ails, either = ("DRIVE_SILENT",), ("DRIVE_FAULT",), ("DRIVE_SILENT", "DRIVE_FAULT")

    def each(what: str, detail: str, strike: Strike, faults: tuple[str, ...], within: float = SILENT,
             moments: tuple[str, ...] = DRIVEN, refusals: tuple[str, ...] = (), unreached: bool = False,
             ) -> Iterator[Injection]:
        """While driven; and at rest, where it lasts. unreached: what the board says does not come to all of them."""
        for moment in moments:
            yield Injection(what, detail, moment, strike, "off", faults, within + (CUT if unreached else 0.0),
                            unreached=unreached)
        for moment in RESTING if refusals else ():
            yield Injection(what, detail, moment, strike, "refused", refusals)

    yield from each("drive silent", "cable off", servo("cut", True), silent, refusals=silent, unreached=True)
    for moment in MOVED:
        yield Injection("drive late", "0.1 ms", moment, servo("late", 1e-4), "rides")
    yield from each("drive late", "1.5 ms", servo("late", 1.5e-3), silent, refusals=silent)
    yield from each("bus babbles", "without a pause", wire("babbles", True), silent, refusals=silent, unreached=True)
    yield from each("foreign frame", "two of one number", _other_servo(alone=False), silent, refusals=silent)
    yield from each("foreign frame", "another in its stead", _other_servo(alone=True),
                    ("ENCODER", "FOLLOWING", "POSITION", *either))
    for word, code in ERRORS.items():
        yield from each("drive's own fault", word, _ails(code), ails, TOLD)
    yield from each("drive's own fault", "it is hot", servo("temperature", 90.0), ails, TOLD, refusals=ails)
    yield from each("wire shorted", "for 50 ms", wire("shorted", True, 0.05), silent, unreached=True)
    yield from each("wire shorted", "for 3 s", wire("shorted", True, 3.0), silent, refusals=silent, unreached=True)
    for moment in MOVED:
        yield Injection("bytes disturbed", "1 % of packets", moment, wire("error_rate", 0.01), "rides")
        yield Injection("bytes disturbed", "30 % of packets", moment, wire("error_rate", 0.3), "either", either,
                        SILENT + CUT, unreached=True)
    for seconds in (2e-3, 0.02, 0.3):
        yield from each("drive's supply dips", f"{1e3 * seconds:g} ms", servo("supplied", False, seconds), either,
                        moments=DRIVEN[1:])  # while it is being switched on it is one that is slow to be
    yield from each("supply dips", "100 ms", campaign.supply_dips, ("UNDER_VOLTAGE", *either), TOLD)
    yield from _settings()
    for moment in DRIVEN:
        for name, strike in (("no supply", campaign.board_dies), (HALTED, campaign.board_halted)):
            yield Injection("board dies", name, moment, strike, "off", within=TOLD, dark=True, unreached=True)
        for cause in ("pin", "brownout"):
            yield Injection("board resets", cause, moment, campaign.board_reset(cause), "off", within=TOLD,
                            state="DISARMED", unreached=True)
        yield Injection("e-stop", "opens", moment, lambda scene: scene.board.estop(True), "off", within=TOLD,
                        state="ESTOP")


def _settings() -> Iterator[Injection]:
    """Wrong ones, from power-on."""
    for kind, name, strike in (
            ("wrong scale", "two steps a count", comes(sts.FACTOR, 2)),
            ("wrong scale", "another offset", comes(sts.OFFSET, 300, 2)),
            ("wrong setting", "less torque", comes(sts_motor.TORQUE, 500, 2)),
            ("wrong setting", "another model", comes(sts.MODEL, 2825, 2)),
            ("wrong setting", "limits of its own", comes(sts.LEAST, 1800, 2))):
        yield Injection(kind, name, "CHECK", strike, "refused", ("DRIVE_SETTING",))
    for name, strike in (("another number", comes(sts.ID, 9)), ("another rate", comes(sts.BAUD, 1))):
        yield Injection("wrong setting", name, "CHECK", strike, "refused", ("DRIVE_SILENT",))


def run(out: Path, pick: campaign.Pick = lambda all_: all_,
        on_outcome: Callable[[Outcome], None] = lambda outcome: None) -> list[Outcome]:
    """Build the arm's image and do what is picked."""
    these = pick(list(injections()))
    return [outcome for halted in (False, True) for outcome in campaign.done(
        arm(), [i for i in these if (i.name == HALTED) is halted], halted, out, on_outcome)]
