"""The whole SO-101 on its servos: flash image, the virtual chip's USART on a half-duplex bus, servos, plant."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.drive import Wire, bus_load
from femtorque.codegen.motion import Trajectory, knots
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.chip.stm32.probe import Probe
from femtorque.hil.chip.stm32.serial import FE
from femtorque.hil.drives.families.feetech import servo as sts
from femtorque.hil.drives.families.feetech.servo import Sts3215
from femtorque.hil.drives.servo import PERIOD
from femtorque.hil.plant import plant_of
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import Result, play_motion, session_with
from femtorque.host.link import Session
from femtorque.host.record import log as logs
from femtorque.host.show import Findings
from tests.firmware.frames import STS, compiled
from tests.support import rig
from tests.support.servos import arm

JOINTS = 6


@contextmanager
def board(name: str = "f405rg-6", feedforward: bool = True, backlash: bool = False,
          cutoff: bool = True) -> Iterator[VirtualBoard]:
    """backlash: of the servos' gears. cutoff: the board can switch off the servos' supply."""
    m, elf = arm(name, feedforward, cutoff)
    with VirtualBoard(elf, m, plant_of(m) if backlash else Plant(m)) as made:
        made.brakes = True
        yield made


def servos(on: VirtualBoard) -> list[Sts3215]:
    return list(on.wiring.buses.servos.values())


def moved(on: VirtualBoard, fault: str | None = None, feedforward: bool = True, log: Path | None = None) -> Result:
    motion = Trajectory.load(MECHANISMS / "so101_sts.csv", on.mechanism)
    return play_motion(on, on.mechanism, knots(motion, on.mechanism), feedforward=feedforward, fault=fault, log=log)


def armed(on: VirtualBoard) -> Session:
    session = session_with(on)
    session.connect()
    rig.pump(on, session, 60)
    rig.arm(on, session)
    return session


def over_phases(name: str = "f405rg-6") -> tuple[NDArray[np.float64], float]:
    """Return the rms (JOINTS,) and maximum error, rad, over phases of the servos' millisecond in the tick."""
    squares, worst = [], 0.0
    for later in (0.0, 0.25e-3, 0.5e-3, 0.75e-3):
        with board(name) as on:
            for servo in servos(on):
                servo.phase = (servo.phase + later) % PERIOD
            result = moved(on)
            assert (result.ended, result.state, result.faults) == ("done", "DISARMED", ())
            assert result.bit_identical is True and result.outputs_safe
            assert not any(servo.driving for servo in servos(on))
        squares.append(result.tracking_rms**2)
        worst = max(worst, result.tracking_max.max())
    return np.sqrt(np.mean(squares, axis=0)), worst


def test_the_image_moves_the_arm_as_the_host_computes_it_far_nearer_than_pd_alone():
    """The gears have no backlash. The tracking error is 1.3 counts of the encoders on average. Without feed-forward the
    tracking error is ten times as large."""
    rms, worst = over_phases()
    with board(feedforward=False) as on:
        alone = moved(on, feedforward=False)
    assert alone.ended == "done"
    assert np.all(rms < 2e-3) and worst < 4e-3
    assert np.linalg.norm(rms) < 0.1 * np.linalg.norm(alone.tracking_rms)


def test_with_the_backlash_of_the_gears_the_arm_stays_within_it_and_its_report_says_so(tmp_path):
    """The backlash is 17 mrad. Weight and friction determine the position of an output within the backlash. The report
    must not name a cause: neither the encoder, nor the model, nor positions that are one tick old."""
    with board(backlash=True) as on:
        result = moved(on, log=tmp_path / "run.mcap")
    assert (result.ended, result.state, result.bit_identical) == ("done", "DISARMED", True)
    assert np.all(result.tracking_rms < 8e-3) and np.all(result.tracking_max < 17.5e-3)
    said = " ".join(Findings(logs.read_log(tmp_path / "run.mcap")).sentences)
    assert "within the play of a servo's gear, 17.5 mrad by the file or as measured at one servo" in said
    assert "did not show" not in said and "The model was farthest" not in said


@pytest.mark.parametrize("name", ["f405rg-4", "nucleo-g474re-6"])
def test_every_board_with_such_a_wire_moves_it(name):
    assert np.all(over_phases(name)[0] < 2e-3)


def test_the_duties_on_the_wire_are_bit_for_bit_those_of_the_host():
    """The host encodes the image's duties. A servo without a report of its voltage gets the law's duty."""
    told: list[bytes] = []
    with board() as on:
        line, usart = on.wiring.buses.lines["servos"], on.chip.usarts[on.board.half_duplex["servos"].usart]

        def arrive(data: bytes, disturbed: bool) -> None:
            """Pass on an answer, without its voltage."""
            begin, size = next(packet[5:7] for packet in reversed(told) if packet[4] == 0x82)
            at = 5 + sts.VOLTAGE - begin
            if 5 <= at < 5 + size:
                data = data[:at] + b"\0" + data[at + 1:-1]
                data += bytes([~sum(data[2:]) & 0xFF])
            usart.line_in(data, FE if disturbed else 0)

        line.log, line.arrive = lambda seconds, packet: told.append(packet), arrive
        result = moved(on)
    sent = [p[7:-1] for p in told if p[4] == 0x83 and p[5] == sts.DUTY and any(p[8:-1:3]) | any(p[9:-1:3])]
    duty, limits = result.record.duty, [joint.drive.servo.limit for joint in on.mechanism.streamed]
    begins = int(np.flatnonzero(duty.any(axis=1))[0])  # first duty of the control law; duties begin when servos are on
    count = len(sent) - 1
    assert count > 400
    assert any(packs(duty[k:k + count], limits) == sent[:count] for k in range(begins, begins + 60))


def packs(duty, limits) -> list[bytes]:
    """Return each tick's duty packet. Packing adds the rounding remainder of the last tick."""
    ffi, lib = compiled("feetech", "sts", cdef=STS)
    frame, carried = ffi.new("ft_frame *"), ffi.new("float[6]")
    packets = []
    for row in duty:
        packet = b""
        for k in range(JOINTS):
            lib.ft_feetech_command(frame, ffi.new("ft_drive_config *", {"id": k + 1, "share": limits[k]}),
                                   ffi.new("ft_drive_target *", {"share": row[k]}), carried + k)
            packet += bytes([k + 1]) + bytes(frame.data)[:2]
        packets.append(packet)
    return packets


def test_a_tick_takes_of_the_wire_what_check_says():
    """The comparison excludes the time that servos need before each answer, which `check` estimates."""
    with board() as on:
        line = on.wiring.buses.lines["servos"]
        session = armed(on)
        rig.pump(on, session, 2)  # by now the board has sent the volatile settings
        times: list[tuple[float, int]] = []
        line.log = lambda seconds, packet: times.append((seconds, len(packet)))
        rig.pump(on, session, 10)
        ticks = 0.1 * on.mechanism.control.rate_hz
        taken = sum(size for _, size in times) * 1e-5 / ticks
        bus = bus_load(Wire("sts", 1e6), [(j.drive.id, j.drive.type) for j in on.mechanism.streamed])
        assert taken == pytest.approx(bus.mean - JOINTS * 40e-6, rel=0.06)


@pytest.mark.parametrize(("fault", "named"), [
    ("drive-silent", "DRIVE_SILENT"), ("drive-late", "DRIVE_SILENT"), ("drive-ails", "DRIVE_FAULT"),
    ("drive-restarts", "DRIVE_SILENT"), ("bus-babble", "DRIVE_SILENT"), ("bus-foreign", "DRIVE_SILENT"),
    ("bus-short", "DRIVE_SILENT"), ("estop", "ESTOP"),
    ("supply-off", "UNDER_VOLTAGE or DRIVE_FAULT"),  # depends on whether the board or a servo detects the fault first
    ("reset", "")])
def test_what_goes_wrong_ends_with_no_servo_that_turns(fault, named):
    """If the board cannot reach its servos, it switches off their supply."""
    with board() as on:
        result = moved(on, fault)
        assert result.ended != "done"
        said = f"{result.ended} {result.state}"
        assert any(name in said for name in named.split(" or ")), said
        assert result.outputs_safe and result.dangers == []
        assert not any(servo.driving or servo.turning for servo in servos(on))


@pytest.mark.parametrize(("fault", "joints"), [("bus-babble", range(JOINTS)), ("drive-silent", range(1))])
def test_that_servos_that_nobody_reaches_keep_their_duty_where_nobody_cuts_their_supply_which_is_said(fault, joints):
    """`check` states that there is no other means to stop these servos."""
    with board(cutoff=False) as on:
        result = moved(on, fault)
        assert "DRIVE_SILENT" in result.ended and not result.outputs_safe
        going = [on.mechanism.streamed[j].name for j in result.driven]
        assert going and set(result.driven) <= set(joints)
        assert result.dangers == [f"outputs are NOT safe: joint {name} keeps its last duty until the supply is cut"
                                  for name in going]
        on.bus_voltage = 0.0
        on.run(0.01)
        assert not any(servo.driving for servo in servos(on))


def test_that_servos_of_a_board_that_dies_are_let_go_by_its_next_start():
    """The watchdog resets the board after at most 0.1 s. The first packet follows shortly afterwards."""
    with board(cutoff=False) as on:
        armed(on)
        assert all(servo.driving for servo in servos(on))
        on.chip.halt()
        on.run(0.02)
        assert all(servo.driving for servo in servos(on))
        on.chip.resume()
        on.reset("pin")
        on.run(0.05)
        assert not any(servo.driving for servo in servos(on))


def debugged(on: VirtualBoard) -> None:
    """Connect a debugger in the way that OpenOCD does, and halt the processor."""
    probe = Probe(on.chip)
    probe.attach()
    on.run(0.004)
    probe.halt()


@pytest.mark.parametrize(("strike", "name"), [
    (lambda on: on.chip.halt(), "f405rg-6"), (debugged, "f405rg-6"), (debugged, "f405rg-4"),
    (lambda on: on.chip.supply(0.0), "f405rg-6"), (lambda on: on.reset("pin"), "f405rg-6")],
    ids=["hangs", "debugger", "debugger, where PWM stops", "no supply", "reset"])
def test_that_servos_of_a_board_that_dies_lose_their_supply(strike, name):
    """The watchdog resets a hanging board. In reset or without power the relay is open."""
    with board(name) as on:
        armed(on)
        assert all(servo.driving for servo in servos(on))
        strike(on)
        on.run(0.12)
        assert not any(servo.driving for servo in servos(on))
        assert not any(servo.powered for servo in servos(on))
