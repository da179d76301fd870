"""A PC as the board, in lock-step with virtual drives, with a host at its port."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from femtorque.codegen.board import PC_BOARD, Times
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import Gains, Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory, from_rows, knots
from femtorque.codegen.toolchain import build_program
from femtorque.codegen.wire import messages as m
from femtorque.hil.board import SteppedPc, VirtualClock
from femtorque.hil.board.stepped_pc import Dialect
from femtorque.hil.plant import plant_of
from femtorque.host.link import Configuration, Link, Session
from femtorque.host.stream import stream

NONE = Times()
STATE = {number: name for name, (number, _) in m.STATES.items()}
ROOT = Path(__file__).resolve().parents[2]


def on_pc(mechanism: Mechanism, rate_hz: int | None = None, knot_hz: int = 50, softer: float = 1.0,
          times: Times = NONE) -> Mechanism:
    """Return a mechanism on a PC. times: of its adapters. softer: factor of its gains."""
    assert mechanism.board is not None
    control = mechanism.control if rate_hz is None else replace(mechanism.control, rate_hz=rate_hz, knot_hz=knot_hz)
    joints = tuple(replace(j, gains=Gains(softer * j.gains.ku, softer * j.gains.kv)) for j in mechanism.joints)
    return replace(mechanism, name=f"pc_{mechanism.name}_{control.rate_hz}", control=control, joints=joints,
                   board=replace(mechanism.board, use=PC_BOARD),
                   buses=tuple(replace(b, delay=times.delay, jitter=times.jitter) for b in mechanism.buses))


STS = "feetech-sts3215-12v"


def so101(rate_hz: int = 200, holds: bool = False, servo: str = STS) -> Mechanism:
    """Return the SO-101. holds: the servos close their loops. Otherwise the owner accepts that the last duty stays when
    the PC dies. servo: type of all servos. An XL330 weighs 18 g and an STS3215 55 g, so the links of an arm of XL330
    have a third of their mass."""
    text = (ROOT / "mechanisms" / "so101_sts.toml").read_text(encoding="utf-8")
    text = re.sub(r"\[safety\.cutoff\].*\n", "", text)
    for was, becomes in (('use = "f405rg-6"', 'use = "pc"\naccept = "no time limit"'),
                         ("rate_hz = 400", f"rate_hz = {rate_hz}"), ("knot_hz = 100", "knot_hz = 50")):
        assert was in text
        text = text.replace(was, becomes)
    if holds:
        text = text.replace('accept = "no time limit"', "")
        text = re.sub(r'(bus = "servos", id = \d)', r'\1, pd = "drive"', text)
        loops = iter((15.5, 31.0, 31.0, 31.0, 15.5, 15.5))  # N m/rad: P 16 and 32
        text = re.sub(r"gains = {.*}", lambda _: f"gains = {{ ku = {next(loops)}, kv = 0.0 }}", text)
    if servo != STS:
        text = _other_servos(text, servo)
    file = ROOT / "build" / "boards" / "pc_so101.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return replace(load_mechanism(file), name=f"pc_so101_{rate_hz}{'_holds' if holds else ''}"
                   f"{servo.removeprefix(STS).replace('-', '_')}")


def _other_servos(text: str, name: str) -> str:
    """Return the file with other servos, which close their loops with the gain that `init` writes."""
    kind = DRIVES[name]
    assert kind.servo is not None
    heavy = 1.0 if kind.torque > 2.0 else 0.33
    for was, becomes in ((STS, name), ('kind = "sts"', 'kind = "dynamixel"\nbitrate = 1_000_000'),
                         ("bus_voltage = 12.0", f"bus_voltage = {kind.servo.volts}"),
                         ("effort = 2.9", f"effort = {0.99 * kind.torque:.3g}"),
                         ("viscous = 0.048, coulomb = 0.091",
                          f"viscous = {kind.servo.viscous}, coulomb = {kind.servo.coulomb}")):
        text = text.replace(was, becomes)
    text = re.sub(r"(?<=mass = )[\d.]+", lambda m: f"{heavy * float(m[0]):.4g}", text)
    text = re.sub(r"(?<=inertia = \[).*(?=\])",
                  lambda m: ", ".join(f"{heavy * float(x):.5g}" for x in m[0].split(",")), text)
    ku = kind.servo.loop.usual * kind.servo.stiffness()
    return re.sub(r"gains = {.*}", f"gains = {{ ku = {ku:.4g}, kv = 0.0 }}", text)


def aloha() -> Mechanism:
    """Return an arm of Dynamixel servos, which are asked one by one until they are set up."""
    mechanism = load_mechanism(ROOT / "mechanisms" / "aloha_like.toml")
    assert mechanism.board is not None
    return on_pc(replace(mechanism, safety=replace(mechanism.safety, cutoff=None),
                         board=replace(mechanism.board, accept="falls")), 200, softer=0.3)


def program_of(mechanism: Mechanism) -> Path:
    return build_program(mechanism, ROOT / "build" / "boards" / mechanism.name)


@contextmanager
def stepped(mechanism: Mechanism, times: Times = NONE,
            serial: Dialect | None = None) -> Iterator[tuple[SteppedPc, Session]]:
    """Run the program and connect a host, when the drives' settings have been read."""
    configuration = Configuration.of(mechanism)
    with SteppedPc(program_of(mechanism), mechanism, plant_of(mechanism), times, serial) as board:
        session = Session(Link(board.plug_in(), clock=VirtualClock(board), baud=configuration.baud), configuration)
        session.connect()
        board.run(60 / mechanism.control.rate_hz)
        yield board, session
        session.link.close()


def armed(board: SteppedPc, session: Session) -> None:
    session.home([joint.start for joint in board.mechanism.streamed])
    session.arm()


def state(session: Session) -> str:
    session.pump()
    return STATE[session.status.state]


def settle(board: SteppedPc, session: Session, seconds: float, talk: bool = True) -> str:
    """Let time pass, with a host that talks or is silent, and return the state."""
    for _ in range(round(seconds / 0.02)):
        board.run(0.02)
        if talk:
            session.pump()
    return state(session)


def drives_of(board: SteppedPc):
    return list(board.buses.all.values())


def motion_of(mechanism: Mechanism, seconds: float = 0.6, way: tuple[float, ...] = (0.2,)) -> Trajectory:
    """Return a motion from the start to each distance of `way` in turn, rad. seconds: of each part."""
    begin = np.array([joint.start for joint in mechanism.streamed])
    at, rest = [begin, *(begin + x for x in way)], np.zeros((len(way) + 1, len(begin)))
    times = [seconds * k for k in range(len(at))]
    return from_rows([j.name for j in mechanism.streamed], times, at, rest, rest)


def error(motion: Trajectory, at: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the rms error (J,) of positions (N, J) at times (N,), rad, for the time of the begin that fits best."""
    def rms(begin: float) -> np.ndarray:
        return np.sqrt(np.mean((motion.at(np.clip(at - begin, 0.0, motion.duration))[0] - q) ** 2, axis=0))

    tried = np.arange(at[0], at[-1] - 0.5 * motion.duration, 1e-3)
    for step in (5e-5, 1e-5):
        about = min(tried, key=lambda begin: float(np.sum(rms(begin) ** 2)))
        tried = about + step * np.arange(-20, 21)
    return rms(about)


def played(board: SteppedPc, session: Session, motion: Trajectory | None = None) -> np.ndarray:
    """Stream a motion. Return the plant's rms error (J,) over it, rad."""
    motion = motion or motion_of(board.mechanism)
    rows: list[tuple[float, np.ndarray]] = []
    on = board.clock.after

    def look() -> None:
        board.catch_up()
        rows.append((board.seconds, np.array(board.plant.q)))
        on(5e-3, look)

    on(0.0, look)
    assert stream(session, knots(motion, board.mechanism)).ended == "done"
    return error(motion, np.array([t for t, _ in rows]), np.array([row for _, row in rows]))
