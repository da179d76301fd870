"""Published answers of registers (hil/chip/bus.c) do not change the results. One run has answers. In a second run
Python's models handle each access. Accesses, cycles, telemetry, torques and motions are equal bit for bit."""

import hashlib
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.mechanism.description import Brake
from femtorque.codegen.motion import knots
from femtorque.codegen.toolchain import BuildResult, platformio as build
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.chip.registers import Bus, Peripheral
from femtorque.hil.chip.scs import Dwt
from femtorque.hil.chip.stm32.debug import DebugUnit
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.plant import plant_of
from femtorque.hil.play import play_motion, session_with
from tests.support.boards import IMAGES as BUILT, image
from tests.support.suite import ROOT

IMAGES = [("f405rg-4", "voltage"), ("f405rg-4", "current"), ("f405rg-6", "voltage"), ("nucleo-g474re-6", "voltage"),
          ("nucleo-g474re-6", "current"), ("odrive-v3.6", "voltage"), ("odrive-v3.6", "current")]
CLOSED = "five_bar"  # instead of a board: a closed mechanism
SERVED = "so101_sts"  # instead of a board: an arm on servos
BRAKED = "f405rg-4 with brakes"
FEW = [("f405rg-4", "voltage", None), ("nucleo-g474re-6", "voltage", "estop"), ("f405rg-6", "voltage", "noise"),
       (CLOSED, "voltage", "estop"), (SERVED, "voltage", "reset"), (SERVED, "voltage", None),
       (BRAKED, "voltage", "estop")]
REST = [(*each, fault) for each in [*IMAGES, *((name, "voltage") for name in (CLOSED, SERVED, BRAKED))]
        for fault in (None, "estop", "noise", "crystal", "reset", "brown-out") if (*each, fault) not in FEW]


def built_for(name: str, drive: str) -> tuple[Mechanism, BuildResult]:
    """Return a mechanism and its image: three_link on a board, CLOSED, SERVED, or an arm with brakes."""
    if name == BRAKED:
        flat, _ = image(name.split()[0], drive)
        mechanism = replace(flat, name="braked", gravity=np.array([0.0, -9.81, 0.0]),
                            safety=replace(flat.safety, brake=Brake(release_s=0.03, engage_s=0.06)))
        return mechanism, build.build_image(mechanism, BUILT / "braked")
    if name not in (CLOSED, SERVED):
        return image(name, drive)
    mechanism = load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    return mechanism, build.build_image(mechanism, BUILT / name)


def record(name: str, drive: str, fault: str | None, answers: bool) -> tuple[str, dict[str, bytes], int]:
    """Return digests of all accesses with their cycles, the ticks' record, and the number of the models' calls."""
    mechanism, built = built_for(name, drive)
    accesses, asked = hashlib.sha256(), 0
    ask = Peripheral.read

    def read(self: Peripheral, offset: int, size: int) -> int:
        nonlocal asked
        asked += not isinstance(self, DebugUnit)  # read each tick if a halt must not stop the watchdog
        return ask(self, offset, size)

    with pytest.MonkeyPatch.context() as patch, VirtualBoard(built.elf, mechanism, plant_of(mechanism)) as board:
        patch.setattr(Bus, "answers", answers)
        patch.setattr(Peripheral, "read", read)
        core = board.chip.core

        def note(address: int, size: int, value: int | None) -> None:
            accesses.update(b"%d %d %d %d;" % (core.now, address, size, -1 if value is None else value))

        board.chip.bus.watch = note
        board.chip.reset("power")
        board.brakes = name in (CLOSED, SERVED)  # without brakes the joints sink and the board does not arm
        played = play_motion(board, mechanism, knots(short_motion(mechanism), mechanism), feedforward=True, fault=fault)
        assert fault is not None or played.ended == "done"
        result = board.record()
    kept = {field.name: getattr(result, field.name).tobytes() for field in fields(result) if field.name != "steps"}
    return accesses.hexdigest(), kept, asked


@pytest.mark.parametrize(("name", "drive", "fault"),
                         [*FEW, *(pytest.param(*each, marks=pytest.mark.bench) for each in REST)])
def test_answers_in_c_are_those_of_the_models(name, drive, fault):
    accesses, ticks, asked = record(name, drive, fault, True)
    reference, expected, always = record(name, drive, fault, False)
    assert asked < 0.05 * always  # C did answer
    assert accesses == reference
    assert [key for key in ticks if ticks[key] != expected[key]] == []


@pytest.mark.parametrize(("name", "drive"), [("f405rg-4", "current"), ("nucleo-g474re-6", "voltage"),
                                             (SERVED, "voltage")])
def test_a_board_under_power_asks_no_model(monkeypatch, name, drive):
    """The link and the ports are in C too. STATUS, directions and servos call no model in Python."""
    mechanism, built = built_for(name, drive)
    asked: list[str] = []
    with VirtualBoard(built.elf, mechanism, plant_of(mechanism)) as board:
        session = session_with(board)
        board.brakes = True
        session.connect()
        session.home([joint.start for joint in mechanism.streamed])
        session.arm()
        board.run(0.03)
        for way in (Peripheral.read, Peripheral.write):
            def ask(self: Peripheral, offset: int, *rest: int, way: Any = way) -> Any:
                if not isinstance(self, DebugUnit):
                    asked.append(self._where(offset))
                return way(self, offset, *rest)

            monkeypatch.setattr(Peripheral, way.__name__, ask)
        heard = session.link.bytes_received
        board.run(0.05)
        session.pump()
        assert session.link.bytes_received > heard and asked == []


def test_an_answer_that_is_wrong_is_seen(monkeypatch):
    """If the only error were C's cycle counter, by some cycles, accesses would happen at other times."""
    say = Dwt.say_cycles

    with monkeypatch.context() as patch:
        patch.setattr(Dwt, "say_cycles", lambda self, key, since: say(self, key, since - 500))
        accesses, _, _ = record("f405rg-4", "voltage", None, True)
    reference, _, _ = record("f405rg-4", "voltage", None, False)
    assert accesses != reference
