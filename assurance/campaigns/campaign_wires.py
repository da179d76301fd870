"""Faults of servos on one half-duplex serial bus, checked as in assurance.campaigns.campaign_drives. All families share
one table of faults. A Kind contains the differences of a family."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Never

from assurance.campaigns import campaign_drives as campaign
from assurance.campaigns.campaign import MOVED, Scene, Strike, host_gone
from assurance.campaigns.campaign_drives import DRIVEN, LEVEL, Injection, drive_becomes, wire_becomes
from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.drive import DriveType
from femtorque.codegen.mechanism import Drive, Friction, Gains, Joint, Mechanism, ServoSetting, load_mechanism
from femtorque.codegen.mechanism.buses import servo_motor
from femtorque.hil.drives import Servo

LIGHT = 0.1  # fraction of the mass of the drives' arm
REACH, VELOCITY = 2.5, 4.0  # limits of a joint: angle, rad, and velocity, rad/s
AWAY = 1.0  # angle between the first servo and the added servo, rad


@dataclass(frozen=True)
class Kind:
    """A servo family."""

    told: float  # time until servos that the board can reach are off, s
    silent: float  # time until a missing servo is detected and the remaining servos are off, s
    alone: Callable[[float], float]  # time until servos that the board cannot reach are off, s
    dead: float  # time until servos are off after the board's failure, s
    late: tuple[str, float]  # an allowed delay of answers, in words and in s
    chained: bool  # true if one missing answer hides the answers of further servos
    errors: Mapping[str, int]  # error codes by words
    ails: Callable[[int], Strike]  # causes an error
    hot: float  # too high a temperature, deg C
    rests: bool  # true if a servo reports heat while its motor is off
    another: Callable[[Scene], Any]  # makes a second servo like the first, at another position
    settings: tuple[tuple[str, str, Strike], ...]  # incorrect settings, by type and name
    lost: tuple[tuple[str, Strike], ...]  # settings with which a servo does not answer
    halted: float | None = None  # time until servos are off after a halt by a debugger, if it differs, s


def refused(key: str, value: object, rule: str, hint: str = "") -> Never:
    """Fail, because no arm of a campaign is refused."""
    raise AssertionError(key)


def light_arm(own: DriveType, effort: float, gains: Gains, friction: Friction | None = None) -> Mechanism:
    """Return the drives' arm, but light and with three servos. friction: friction of every joint; None for the arm's
    friction."""
    source = load_mechanism(MECHANISMS / "damiao_arm.toml")

    def on_servo(number: int, joint: Joint, start: float) -> Joint:
        drive = Drive(own, "servos", number, pd="board", servo=ServoSetting())
        limits = replace(joint.limits, lower=max(joint.limits.lower, -REACH), upper=min(joint.limits.upper, REACH),
                         velocity=VELOCITY, effort=effort)
        return replace(joint, drive=drive, start=start, limits=limits, gains=gains,
                       friction=joint.friction if friction is None else friction,
                       motor=servo_motor(joint.name, drive, None, refused))

    joints = tuple(on_servo(*row) for row in zip((1, 2, 3), source.joints, LEVEL, strict=True))
    links = tuple(replace(link, mass=LIGHT * link.mass, inertia=LIGHT * link.inertia) for link in source.links)
    return replace(source, joints=joints, links=links, safety=replace(source.safety, host="coast"))


# ---- the faults


def first(scene: Scene) -> Any:
    """Return the first servo."""
    return scene.board.wiring.buses.servos[campaign.FIRST]


def comes(register: int, value: int, size: int = 1) -> Strike:
    """Return the injection that stores another setting in the first servo."""
    def strike(scene: Scene) -> None:
        one = first(scene)
        one.stored[register:register + size] = value.to_bytes(size, "little")
        if one.powered:
            one.power_up(float(scene.board.wiring.buses.signs[0] * scene.board.plant.q[0]))

    return strike


def _other_servo(another: Callable[[Scene], Servo], alone: bool) -> Strike:
    """Return the injection of a second servo with the first servo's number. alone: it replaces the first."""
    def strike(scene: Scene) -> None:
        first(scene).cut = alone
        scene.board.wiring.buses.lines["servos"].servos += (another(scene),)

    return strike


def injections(kind: Kind) -> Iterator[Injection]:
    """Yield all faults, in a fixed order."""
    silent, ails, either = ("DRIVE_SILENT",), ("DRIVE_FAULT",), ("DRIVE_SILENT", "DRIVE_FAULT")

    def each(what: str, detail: str, strike: Strike, named: tuple[str, ...], within: float = kind.silent,
             unreached: bool = False, **more: Any) -> Iterator[Injection]:
        bound = kind.alone(within) if unreached else within
        return campaign.each(what, detail, strike, named, bound, unreached=unreached, **more)

    yield from each("drive silent", "cable off", drive_becomes(cut=True), silent, refusals=silent, unreached=True)
    words, seconds = kind.late
    yield from campaign.each("drive late", words, drive_becomes(late=seconds), moments=MOVED, ends="rides")
    yield from each("drive late", "1.5 ms", drive_becomes(late=1.5e-3), silent, refusals=silent, unreached=kind.chained)
    yield from each("bus babbles", "without a pause", wire_becomes(babbles=True), silent, refusals=silent,
                    unreached=True)
    yield from each("foreign frame", "two of one number", _other_servo(kind.another, alone=False), silent,
                    refusals=silent)
    yield from each("foreign frame", "another in its stead", _other_servo(kind.another, alone=True),
                    ("ENCODER", "FOLLOWING", "POSITION", *either), unreached=kind.chained)
    for word, code in kind.errors.items():
        yield from each("drive's own fault", word, kind.ails(code), ails, kind.told)
    yield from each("drive's own fault", "it is hot", drive_becomes(temperature=kind.hot), ails, kind.told,
                    refusals=ails if kind.rests else ())
    yield from each("wire shorted", "for 50 ms", wire_becomes(0.05, shorted=True), silent, unreached=True)
    yield from each("wire shorted", "for 3 s", wire_becomes(3.0, shorted=True), silent, refusals=silent, unreached=True)
    for moment in MOVED:
        yield Injection("bytes disturbed", "1 % of packets", moment, wire_becomes(error_rate=0.01), "rides")
        yield Injection("bytes disturbed", "30 % of packets", moment, wire_becomes(error_rate=0.3), "either", either,
                        kind.alone(kind.silent), unreached=True)
    for seconds in (2e-3, 0.02, 0.3):
        yield from each("drive's supply dips", f"{1e3 * seconds:g} ms", drive_becomes(seconds, supplied=False), either,
                        moments=DRIVEN[1:])  # late answers while drives are switched on are allowed
    yield from each("supply dips", "100 ms", campaign.supply_dips, ("UNDER_VOLTAGE", *either), kind.told)
    yield from each("host gone", "its line cut", host_gone, ("HOST_LOST",), campaign.HOST_LOST + kind.told)
    for what, name, strike in kind.settings:
        yield Injection(what, name, "CHECK", strike, "refused", ("DRIVE_SETTING",))
    for name, strike in kind.lost:
        yield Injection("wrong setting", name, "CHECK", strike, "refused", silent)
    yield from campaign.of_board(kind.dead, kind.told, kind.halted)


def run(of: ModuleType, out: Path, pick: campaign.Pick = lambda all_: all_) -> list[campaign.Outcome]:
    """Build the image of a family's arm, and inject the selected faults."""
    return campaign.done(of.arm(), pick(list(injections(of.KIND))), False, out)
