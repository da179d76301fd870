"""A PC as the board, in lock-step with virtual drives, with a host at its port."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from femtorque.codegen.board import PC_BOARD, Times
from femtorque.codegen.mechanism import Gains, Mechanism, load_mechanism
from femtorque.codegen.toolchain import build_program
from femtorque.hil.board import SteppedPc, VirtualClock
from femtorque.hil.plant import plant_of
from femtorque.host.link import Configuration, Link, Session

NONE = Times()
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


def so101(rate_hz: int = 200, holds: bool = False) -> Mechanism:
    """Return the SO-101. holds: the servos close their loops. Otherwise the owner accepts that the last duty stays when
    the PC dies."""
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
    file = ROOT / "build" / "boards" / "pc_so101.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return replace(load_mechanism(file), name=f"pc_so101_{rate_hz}{'_holds' if holds else ''}")


def aloha() -> Mechanism:
    """Return an arm of Dynamixel servos, which are asked one by one until they are set up."""
    mechanism = load_mechanism(ROOT / "mechanisms" / "aloha_like.toml")
    assert mechanism.board is not None
    return on_pc(replace(mechanism, safety=replace(mechanism.safety, cutoff=None),
                         board=replace(mechanism.board, accept="falls")), 200, softer=0.3)


def program_of(mechanism: Mechanism) -> Path:
    return build_program(mechanism, ROOT / "build" / "boards" / mechanism.name)


@contextmanager
def stepped(mechanism: Mechanism, times: Times = NONE, serial: bool = False) -> Iterator[tuple[SteppedPc, Session]]:
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
