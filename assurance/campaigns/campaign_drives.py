"""Faults of drives on a bus: every fault on every family (a row of KINDS), at several times. An outcome is unsafe if a
drive's model gives torque against the table below, and bad if state or fault differ from docs/faults.md."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import methodcaller
from pathlib import Path

import numpy as np

from assurance.campaigns.campaign import (
    BEFORE, LIES_NEAR, MOVED, ON_THE_WAY, REACH, STAY, Scene, Strike, estop, host_gone, hot, low_supply, on, on_the_way,
    park_of, reported)
from femtorque.codegen.common import MECHANISMS, Refused
from femtorque.codegen.drive import DRIVES, DriveType
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.toolchain import platformio as build
from femtorque.hil.board import VirtualBoard, faults
from femtorque.hil.board.buses import STEP
from femtorque.hil.chip.stm32 import probe as swd
from femtorque.hil.drives import Drive, Servo
from femtorque.hil.drives.families.cubemars.drive import AK_FAULTS
from femtorque.hil.drives.families.damiao import drive as damiao
from femtorque.hil.drives.families.damiao.drive import Damiao
from femtorque.hil.drives.families.moteus import drive as moteus
from femtorque.hil.drives.families.odrive_can import drive as odrive
from femtorque.hil.drives.families.robstride import drive as robstride
from femtorque.hil.plant import stepped_of

LEVEL = (-0.5, 0.3, -0.2)  # angles at the start, rad: the drives bear the arm's weight
FIRST = 0  # the faulty drive
CONNECTED = 3e-3  # time from a debugger's connection to its halt, s; OpenOCD needs longer
NO_TORQUE = 1e-3  # of a drive's largest torque
NEAR = 0.06  # largest error of an arm that continues its motion, rad
ARMED = 2.0  # maximum time from power-on until the board is armed, s
AGAIN = 4e-4  # time until a permanent error returns after it was cleared, in every tick, s
INTRUDES = 2.3e-3  # time between frames of a foreign sender, s; ten frames occur in each tenth of a tick
BOOT = 0.4  # maximum time until a reset board sends again, s
SECONDS = 1.6  # time until a motion that continues has ended, s

HOST_LOST = 1.0  # time from the host's last byte until the outputs are off, s: ten times host_timeout_s
RESTING = ("CHECK", "DISARMED")
DRIVEN = ("ARM", *MOVED, "FLOAT")


# ---- families


@dataclass(frozen=True)
class Kind:
    """A drive family. shared: all drives answer with one identifier, so simultaneous answers disturb each other until
    the drives are in bus-off. timeout: maximum time without commands until a drive stops, s; None if a drive stops only
    at power-off."""

    types: tuple[str, str, str]  # drive types, from the shoulder on
    codes: dict[str, int]  # error codes of its faults
    board: str = "f405rg-4"  # board of the arm
    fd: bool = False  # true if the drives are on CAN FD
    pd: str = "board"  # "drive" or "board", whichever closes the loop
    tells: bool = True  # true if a drive reports that it is enabled
    shared: bool = False
    timeout: float | None = 0.021
    own: Callable[[DriveType], DriveType] = lambda drive: drive  # sets the ranges in the drive
    rests: bool = True  # true if a drive reports faults while it is off
    forgets: bool = True  # true if a drive loses a setting at power-off
    beat: float = 0.0  # time between the heartbeats that report errors, s


KINDS = {
    "damiao": Kind(("damiao-4340", "damiao-4340", "damiao-4310"), damiao.FAULTS),
    "damiao-fd": Kind(("damiao-4340", "damiao-4340", "damiao-4310"), damiao.FAULTS, "nucleo-g474re-6", fd=True,
                      pd="drive"),
    "robstride": Kind(("robstride-02", "robstride-02", "robstride-00"), robstride.FAULTS, pd="drive"),
    "cubemars": Kind(("cubemars-ak10-9", "cubemars-ak10-9", "cubemars-ak80-9"), AK_FAULTS, pd="drive", tells=False,
                     timeout=None),
    "mini-cheetah": Kind(("mini-cheetah",) * 3, {}, pd="drive", tells=False, shared=True,
                         timeout=0.026),
    "moteus": Kind(("moteus-r4", "moteus-r4", "moteus-c1"), moteus.FAULTS, "nucleo-g474re-6", fd=True, pd="drive",
                   own=lambda drive: replace(drive, torque=20.0, kp=120.0, kd=6.0), rests=False, forgets=False),
    "odrive-can": Kind(("odrive-pro", "odrive-pro", "odrive-s1"), odrive.FAULTS, forgets=False, beat=odrive.BEAT),
}

EFFORT = 0.9  # maximum fraction of a drive's torque


def arm_of(name: str) -> Mechanism:
    """Return the horizontal arm with three drives of a family. Without a host the arm coasts visibly."""
    kind, source = KINDS[name], load_mechanism(MECHANISMS / "damiao_arm.toml")
    assert source.board is not None
    joints = []
    for joint, kind_of, start in zip(source.joints, kind.types, LEVEL, strict=True):
        assert joint.drive is not None
        own = kind.own(DRIVES[kind_of])
        number = joint.drive.id
        reply = {"damiao": joint.drive.reply, "cubemars": number, "mini-cheetah": 0}.get(own.family)
        limits = replace(joint.limits, effort=min(joint.limits.effort, EFFORT * own.torque))
        drive = replace(joint.drive, type=own, reply=reply, pd=kind.pd)
        joints.append(replace(joint, drive=drive, start=start, limits=limits))
    bus = replace(source.buses[0], kind="can-fd", data_bitrate=5_000_000) if kind.fd else source.buses[0]
    return replace(source, name=f"campaign_{name}".replace("-", "_"), joints=tuple(joints), buses=(bus,),
                   board=replace(source.board, use=kind.board), safety=replace(source.safety, host="coast"))


LIES = (-0.8, 0.6, -0.5)  # rad
LYING_S = 5.0  # time until the arm is in its parking pose, from any pose, s


def parked_of(name: str) -> Mechanism:
    """Return the arm of this family that moves to a parking pose before its drives are switched off."""
    arm = arm_of(name)
    return replace(arm, name=f"{arm.name}_parked", safety=replace(arm.safety, host="auto", park=park_of(arm, LIES)))


# ---- the faults


@dataclass(frozen=True)
class Injection:
    """A fault to inject in a state: CHECK, from power-on; ARM, while drives are being enabled; or another state. ends:
    "off": no drive has torque after `within` s. "refused": no drive ever has torque, and ARM is refused. "rides": the
    arm continues. "either": the arm continues or is off."""

    kind: str
    name: str
    moment: str
    strike: Strike
    ends: str
    faults: tuple[str, ...] = ()  # allowed stored faults or refusals
    within: float = 0.03
    state: str = "FAULT"  # state of the board
    dark: bool = False  # true if the board no longer sends
    unreached: bool = False  # true if the board reaches no drive
    lies: tuple[float, ...] = ()  # the arm's pose when its drives are switched off, rad


def _first(scene: Scene) -> Drive:
    return scene.board.wiring.buses.drives[FIRST]


def _all(scene: Scene) -> list[Drive | Servo]:
    return list(scene.board.wiring.buses.all.values())


def drive_becomes(seconds: float | None = None, **values: object) -> Strike:
    """Return the injection that sets attributes of the first drive or servo, for some seconds or permanently."""
    return on(faults.becomes(faults.first, seconds, **values))


def wire_becomes(seconds: float | None = None, **values: object) -> Strike:
    """Return the injection that sets attributes of the bus, for some seconds or permanently."""
    return on(faults.becomes(faults.wire, seconds, **values))


_cut = drive_becomes(cut=True)


def later(scene: Scene, seconds: float, action: Callable[[], None]) -> None:
    scene.board.at(scene.board.seconds + seconds, action)


def _fails(code: int, again: float | None = None) -> Strike:
    """Return the injection that makes the first drive fail, once or every `again` s."""
    def strike(scene: Scene) -> None:
        if _first(scene).powered:
            _first(scene).fail(code)
        if again:
            later(scene, again, lambda: strike(scene))

    return strike


def _short(seconds: float, again: float = 0.0, times: int = 1) -> Strike:
    """Return the injection that short-circuits the bus for some seconds, several times."""
    touch = faults.becomes(faults.wire, seconds, shorted=True)

    def strike(scene: Scene) -> None:
        for i in range(times):
            later(scene, i * again, lambda: touch(scene.board))

    return strike


def _without_supply(seconds: float, boot: float = 0.0) -> Strike:
    """Return the injection that switches off the first drive's supply. boot: time until the drive is on the bus again,
    s."""
    return on(faults.every(faults.becomes(faults.first, boot=boot),
                           faults.becomes(faults.first, seconds, supplied=False)))


# the drives' supply and the voltage that the board measures
supply_dips = on(faults.becomes(faults.whole, 0.1, bus_voltage=0.0))


def _narrow(scene: Scene) -> None:
    """Set another range of position."""
    drive = _first(scene)
    if isinstance(drive, Damiao):
        drive.registers[21] *= 0.8
    drive.ranges = replace(drive.ranges, position=0.8 * drive.ranges.position)


def _other_mode(scene: Scene) -> None:
    drive = _first(scene)
    if isinstance(drive, Damiao):
        drive.registers[10] = 2.0
    elif isinstance(drive, robstride.RobStride):
        drive.parameters[robstride.RUN_MODE] = 1


def _softer(share: float) -> Strike:
    """Return the injection that sets the drive to a fraction of the file's gains."""
    def strike(scene: Scene) -> None:
        drive = _first(scene)
        assert isinstance(drive, moteus.Moteus)
        for gain in ("kp", "kd"):
            drive.stream.settings[f"servo.pid_position.{gain}"] *= share

    return strike


def board_dies(scene: Scene) -> None:
    scene.board.chip.supply(0.0)


def board_halted(scene: Scene) -> None:
    """Connect a debugger, which stops the watchdog in halts, and halt the processor a tick or more later."""
    debugger = swd.Probe(scene.board.chip)
    debugger.attach()
    later(scene, CONNECTED, debugger.halt)


def each(what: str, detail: str, strike: Strike, named: tuple[str, ...] = (), within: float = Injection.within,
         resting: Strike | None = None, moments: tuple[str, ...] = DRIVEN,
         refusals: tuple[str, ...] = (), unreached: bool = False, ends: str = "off") -> Iterator[Injection]:
    """Yield one fault while the arm is driven, and if `refused` one at rest, with the permanent fault `resting`."""
    for moment in moments:
        yield Injection(what, detail, moment, strike, ends, named, within, unreached=unreached)
    for moment in RESTING if refusals else ():
        yield Injection(what, detail, moment, resting or strike, "refused", refusals)


def injections(name: str) -> Iterator[Injection]:
    """Yield all faults of one drive family, in a fixed order."""
    kind = KINDS[name]
    last = kind.timeout if kind.timeout is not None else 0.03
    own = last + 0.01  # time until drives that the board cannot reach have stopped, s
    # time until drives that the board can reach get a stop, s: the tick detects the fault, the next tick sends the stop
    told = 0.008 + kind.beat
    hot = next((code for word, code in kind.codes.items() if "over temperature" in word), 0)
    ailing = {"silent": ("DRIVE_SILENT",), "ails": ("DRIVE_FAULT",), "bus": ("BUS_OFF", "DRIVE_SILENT")}

    yield from each("drive silent", "cable off", _cut, ailing["silent"], own, refusals=("DRIVE_SILENT",))
    for late in (1.5e-3, 4e-3):
        yield from each("drive late", f"{1e3 * late:g} ms", drive_becomes(late=late), moments=MOVED, ends="rides")
    yield from each("bus babbles", "lowest identifier", on(faults.intruder(0, 0.0)), ailing["silent"], own,
                    refusals=("DRIVE_SILENT",), unreached=True)
    foreign = on(faults.intruder(None, INTRUDES))
    # the drive uses only the last frame of a tick, so a foreign frame may need ten tries
    yield from each("foreign frame", "in the drive's name", foreign,
                    ("ENCODER", "DRIVE_FAULT", "DRIVE_SILENT"), 10.0 * INTRUDES + told,
                    refusals=("DRIVE_SETTING", "ENCODER", "NOT_HOMED", "MOVING"))
    for word, code in kind.codes.items():
        yield from each("drive's own fault", word, _fails(code), ailing["ails"], told,
                        moments=("TRACK",) if code != hot else DRIVEN,
                        resting=_fails(code, AGAIN), refusals=("DRIVE_FAULT",) if code == hot and kind.rests else ())
    yield from each("bus off", "shorted for 50 ms", _short(0.05), ailing["bus"], own, unreached=True)
    yield from each("bus off", "shorted for 1 s", _short(1.0), ailing["bus"], own,
                    refusals=("DRIVE_SILENT",), unreached=True)
    yield from each("bus off", "shorted 5 times, 20 ms each", _short(0.02, 0.15, 5), ailing["bus"], own,
                    moments=MOVED, unreached=True)
    yield from each("bus held dominant", "for 50 ms", on(faults.held(0.05)), ailing["bus"], own, unreached=True)
    for moment in MOVED:
        yield Injection("terminator unplugged", "one", moment, wire_becomes(terminators=1), "either", ailing["bus"],
                        own, unreached=True)
        yield Injection("frames disturbed", "1 %", moment, wire_becomes(error_rate=0.01),
                        "either" if kind.shared else "rides", ("DRIVE_SILENT",) if kind.shared else (), own,
                        unreached=kind.shared)
    yield from each("terminator unplugged", "both", wire_becomes(terminators=0), ailing["bus"], own,
                    refusals=("DRIVE_SILENT",), unreached=True)
    anew = ("ENCODER",) if kind.beat else ()  # the position has a new origin before a heartbeat reports the restart
    for seconds in (0.02, 0.3):
        yield from each("drive's supply dips", f"{1e3 * seconds:g} ms", _without_supply(seconds),
                        (*ailing["silent"], *ailing["ails"], *anew), told + 6e-3)
    if kind.tells:
        yield from each("drive's supply dips", "2 ms", _without_supply(2e-3), (*ailing["ails"], *anew), told,
                        moments=DRIVEN[1:])
        arming = "off" if kind.forgets else "either"  # the drive is enabled again before it reports the loss
        yield Injection("drive's supply dips", "2 ms", "ARM", _without_supply(2e-3), arming,
                        (*ailing["ails"], *anew), told + 6e-3)
        for boot in (1e-3, 3e-3, 5e-3, 20e-3):
            for moment, ends in (("ARM", arming), ("TRACK", "off")):
                yield Injection("drive's supply dips", f"2 ms, boots in {1e3 * boot:g} ms", moment,
                                _without_supply(2e-3, boot), ends, (*ailing["silent"], *ailing["ails"], *anew),
                                told + 6e-3)
    else:  # the drive switches off without a report, so its joint falls behind
        behind = ("FOLLOWING", "OVERSPEED", "POSITION", "ENCODER")
        yield from each("drive's supply dips", "2 ms", _without_supply(2e-3), behind, 1.5, moments=MOVED)
    yield from each("supply dips", "100 ms", supply_dips, ("UNDER_VOLTAGE", *ailing["silent"], *ailing["ails"]),
                    told)
    yield from each("host gone", "its line cut", host_gone, ("HOST_LOST",), HOST_LOST + told)
    yield from _settings(name)
    yield from of_board(own, told)


def of_board(own: float, told: float, halted: float | None = None) -> Iterator[Injection]:
    """Yield faults of the board. own: time until drives that the board cannot reach have stopped, s. told: time until
    all further drives have stopped, s. halted: time until drives have stopped after a halt by a debugger, s, if this is
    not `own`.
    """
    for moment in DRIVEN:
        for name, strike, within in (("no supply", board_dies, own),
                                     ("halted", board_halted, halted or own + CONNECTED)):
            yield Injection("board dies", name, moment, strike, "off", within=within, dark=True, unreached=True)
        for cause in ("pin", "brownout"):
            yield Injection("board resets", cause, moment, on(methodcaller("reset", cause)), "off",
                            within=own, state="DISARMED", unreached=True)
        yield Injection("e-stop", "opens", moment, estop, "off", within=told, state="ESTOP")


def _settings(name: str) -> Iterator[Injection]:
    """Yield incorrect settings from power-on. Only Damiao's drives report their range of velocity. With other drives
    only motion shows an incorrect range."""
    told = name.startswith("damiao")
    if name == "moteus":  # frames contain physical units, and no register contains the gains
        for detail, strike in (("another meaning", on(faults.rescale(0.8))), ("of the rotor", drive_becomes(home=1))):
            yield Injection("wrong scale", detail, "CHECK", strike, "refused", ("DRIVE_SETTING",))
        yield Injection("wrong scale", "0.8 of its gains", "CHECK", _softer(0.8), "rides")
        return
    if name == "odrive-can":  # frames contain physical units, and no message contains the limits
        for detail, strike in (("another protocol", on(faults.rescale(0.8))),
                               ("old firmware", drive_becomes(firmware=(0, 5, 6)))):
            yield Injection("wrong scale", detail, "CHECK", strike, "refused", ("DRIVE_SETTING",))
        yield Injection("wrong scale", "torque ends near vel_limit", "TRACK", drive_becomes(limited=True), "off",
                        ("FOLLOWING", "POSITION", "OVERSPEED"), 1.0)
        return
    yield Injection("wrong scale", "0.8 of the velocity", "CHECK", on(faults.rescale(0.8)),
                    "refused" if told else "rides", ("DRIVE_SETTING",) if told else ())
    if told or name == "robstride":
        yield Injection("wrong scale", "0.8 of the position", "CHECK", _narrow, "refused", ("DRIVE_SETTING",))
        yield Injection("wrong mode", "of its own", "CHECK", _other_mode, "refused", ("DRIVE_SETTING",))


def parked(name: str) -> Iterator[Injection]:
    """Yield all faults of `parked_of`, in a fixed order. Drives are switched off only in the pose, but the loss of a
    drive switches off the remaining drives immediately."""
    park, kind = parked_of(name).safety.park, KINDS[name]
    assert park is not None

    for moment in MOVED:
        yield Injection("parked arm", "host gone", moment, host_gone, "off", ("HOST_LOST",), HOST_LOST + LYING_S,
                        lies=LIES)
        if park.supply_v is not None:
            yield Injection("parked arm", "supply low", moment, low_supply, "off", ("LOW_SUPPLY",), LYING_S, lies=LIES)
        if park.heat:
            yield Injection("parked arm", "too hot", moment, hot(), "off", ("OVER_TEMPERATURE",), LYING_S, lies=LIES)
    own = (kind.timeout if kind.timeout is not None else 0.03) + 0.01
    ways = [("cable off", _cut), ("bus held dominant", on(faults.held(0.05)))]
    ways += [("drive's own fault", _fails(next(iter(kind.codes.values()))))] if kind.codes else []
    for detail, what in ways:
        yield Injection("parked arm", f"on its way, {detail}", "HOLD", on_the_way(what), "off", ("HOST_LOST",),
                        ON_THE_WAY + own + kind.beat, unreached=detail.startswith("bus"))
    yield Injection("parked arm", "on its way, e-stop", "HOLD", on_the_way(estop),
                    "off", within=ON_THE_WAY + own, state="ESTOP")


# ---- judging


@dataclass(frozen=True)
class Outcome:
    """Outcome of an injected fault. left: unreachable drives without a timeout continued until the board reached them
    again, or switched off the supply."""

    injection: Injection
    state: str
    fault: str
    seconds: float  # time from the injection until no drive had torque, s
    fastest: float  # largest speed of a joint, as a fraction of the joint's maximum
    unsafe: str = ""  # description of a forbidden torque or motion, or empty
    bad: str = ""  # another error, or empty
    left: bool = False

    @property
    def good(self) -> bool:
        return not self.unsafe and not self.bad


class _Judge:
    """Monitors the drives' torques in every step of the plant. limited: no drive may have torque without a timeout."""

    def __init__(self, board: VirtualBoard, limited: bool) -> None:
        self._board, self._limited = board, limited
        self.since = 0.0
        self.last = 0.0  # last time at which a drive had torque, s
        self.where = np.array(board.plant.q)  # positions at this time, rad
        self.endless = False  # true if a drive without a timeout was commanded
        self.fastest = 0.0
        self._speeds = np.array([joint.limits.velocity for joint, _ in board.joints])
        for drive in board.wiring.buses.drives.values():
            self._watch(drive)
        servos = list(board.wiring.buses.servos.values())
        moved = stepped_of(board.plant)
        if servos and moved is not None:
            moved.watch(lambda: self._look_at(servos))

    def _watch(self, drive: Drive) -> None:
        def watched(torque: float, seconds: float, now: float, velocity: float) -> None:
            if abs(torque) > NO_TORQUE * drive.ranges.torque and not self._braking(drive, torque, velocity):
                self._note(now, seconds)
                self.endless |= self._limited and drive.driving and math.isinf(drive.timeout)

        drive.watch(watched)

    @staticmethod
    def _braking(drive: Drive, torque: float, velocity: float) -> bool:
        """Return whether a timed-out drive takes energy out of its joint, except for the lag of its current."""
        return drive.brakes_alone and torque * velocity < NO_TORQUE * drive.ranges.torque

    def _look_at(self, servos: list[Servo]) -> None:
        """Record servos whose motors have a voltage. Without voltage a motor brakes or coasts."""
        driven = max(servo.driven for servo in servos)
        if driven + STEP > self.last:
            self._note(driven, STEP)

    def _note(self, now: float, seconds: float) -> None:
        """Record that a drive has torque from now on, for some seconds."""
        self.last = now + seconds
        self.where = np.array(self._board.plant.q)
        if now > self.since:
            self.fastest = max(self.fastest, float(np.max(np.abs(self._board.plant.v) / self._speeds)))


def play(injection: Injection, mechanism: Mechanism, elf: Path, unlimited: bool = False) -> Outcome:
    """Inject one fault and check the result. unlimited: drives without a timeout."""
    scene = Scene(mechanism, elf)
    scene.board.brakes = True  # until the arm is armed
    judge = _Judge(scene.board, limited=not unlimited)
    try:
        if injection.moment in RESTING:
            return _at_rest(scene, judge, injection)
        if injection.moment == "ARM":
            _begin_to_arm(scene, injection)
        else:
            scene.enter(injection.moment)
            scene.run(BEFORE if injection.moment != "TRACK" else 0.3)
        scene.board.brakes = False
        judge.since = struck = scene.board.seconds
        injection.strike(scene)
        if injection.ends in ("rides", "either"):
            return _riding(scene, judge, injection)
        scene.run(injection.within + STAY)
        scene.run(BOOT, lambda: injection.dark or scene.witness.state == injection.state)
        seconds = max(judge.last - struck, 0.0)
        if unlimited and scene.board.wiring.buses.at_work:
            return _cut_off(scene, judge, injection)
        if unlimited and injection.unreached and seconds > injection.within:  # the board can reach the drives again
            return replace(_judged(scene, judge, injection, 0.0), seconds=seconds, left=True)
        return _judged(scene, judge, injection, seconds)
    finally:
        scene.close()


def _begin_to_arm(scene: Scene, injection: Injection) -> None:
    """Run until drives are being enabled."""
    scene.enter("DISARMED")
    scene.run(BEFORE + scene.session.configuration.supply_s)
    with suppress(Refused):
        scene.session.post("ARM")
    while not any(drive.driving for drive in _all(scene)):
        scene.board.run(2e-4)
        if scene.board.seconds > ARMED:
            raise Refused(f"the board has not armed after {ARMED:g} s")


def _at_rest(scene: Scene, judge: _Judge, injection: Injection) -> Outcome:
    """Inject a fault from power-on or at rest. The host then tries to arm. ARM is refused, or ends in the fault."""
    if injection.moment == "CHECK":
        injection.strike(scene)
    scene.session.connect()
    scene.run(0.15 + scene.session.configuration.supply_s)
    if injection.moment != "CHECK":
        injection.strike(scene)
        scene.run(0.15)
    refusal = ""
    try:
        scene.enter("HOLD")
    except Refused as error:
        refusal = str(error)
    if injection.ends == "rides":
        judge.since = scene.board.seconds
        return _riding(scene, judge, injection)
    scene.run(STAY)
    state, named = scene.witness.state, next((name for name in injection.faults if name in refusal), "")
    unsafe = f"torque {judge.last:.3f} s after power-on" if judge.last else ""
    bad = "" if named and state in ("DISARMED", "FAULT") else f"{state}: {refusal or 'armed'}"
    return Outcome(injection, state, named, 0.0, judge.fastest, unsafe, bad)


def _riding(scene: Scene, judge: _Judge, injection: Injection) -> Outcome:
    """Check an arm that reaches the end of its motion, keeps its position, or has all drives off."""
    moves = injection.moment in ("TRACK", "FOLLOW")
    wanted = np.array(LEVEL) + REACH if moves else np.array(scene.board.plant.q)
    scene.run(SECONDS if moves else 0.4)
    if injection.ends == "either" and scene.witness.last.fault:
        scene.run(injection.within)
        ended = scene.board.seconds
        scene.run(STAY)
        return _judged(scene, judge, injection, max(judge.last - ended, 0.0))
    state = scene.witness.state
    away = float(np.abs(scene.board.plant.q - wanted).max())
    unsafe = f"{away:.3f} rad from where it should be" if away > NEAR else ""
    unsafe = "a drive gave torque without its own limit of time" if judge.endless else unsafe
    fine = state in MOVED and not scene.witness.last.fault
    return Outcome(injection, state, "", 0.0, judge.fastest, unsafe, "" if fine else f"{state} {scene.witness.faults}")


def _cut_off(scene: Scene, judge: _Judge, injection: Injection) -> Outcome:
    """Switch off the supply of unreachable drives that continue, as the e-stop loop would."""
    reached = [drive for drive in _all(scene) if not drive.cut and not injection.unreached]
    on = [drive for drive in reached if drive.driving]
    for drive in _all(scene):
        drive.supplied = False
    struck = scene.board.seconds
    scene.run(STAY)
    outcome = _judged(scene, judge, injection, max(judge.last - struck, 0.0))
    return replace(outcome, left=True, unsafe="a drive within reach is on" if on else outcome.unsafe)


def _judged(scene: Scene, judge: _Judge, injection: Injection, seconds: float) -> Outcome:
    state = scene.witness.state
    fault = scene.witness.faults[-1] if scene.witness.faults and scene.witness.last.fault else ""
    unsafe = bad = ""
    if seconds > injection.within:
        unsafe = f"torque for {1e3 * seconds:.1f} ms"
    elif scene.board.wiring.buses.at_work:
        unsafe = "a drive is still on"
    elif judge.endless:
        unsafe = "a drive gave torque without its own limit of time"
    elif injection.lies and np.abs(judge.where - injection.lies).max() > LIES_NEAR:
        unsafe = f"let go at {np.round(judge.where, 2)} rad"
    elif judge.fastest > 1.0:
        unsafe = f"a joint driven to {judge.fastest:.2f} of its largest speed"
    if not injection.dark and state != injection.state:
        bad = f"{state} instead of {injection.state}"
    elif injection.faults and fault not in injection.faults:
        bad = f"{fault or 'no fault'} instead of {' or '.join(injection.faults)}"
    return Outcome(injection, state, fault, seconds, judge.fastest, unsafe, bad)


# ---- the whole campaign


Pick = Callable[[list[Injection]], list[Injection]]


def run(name: str, out: Path, pick: Pick = lambda all_: all_, lies: bool = False) -> list[Outcome]:
    """Inject the selected faults on a drive family. lies: use the arm with a parking pose."""
    arm, every = (parked_of(name), parked(name)) if lies else (arm_of(name), injections(name))
    return done(arm, pick(list(every)), KINDS[name].timeout is None, out)


def done(mechanism: Mechanism, these: list[Injection], unlimited: bool, out: Path) -> list[Outcome]:
    """Build the image of an arm and inject faults. unlimited: its drives have no timeout."""
    elf = build.build_image(mechanism, out / mechanism.name).elf
    return reported(play(injection, mechanism, elf, unlimited) for injection in these)
