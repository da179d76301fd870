"""A whole arm with drives on a bus: flash image, controller of the virtual chip, bus, drives, plant. The arm moves, and
faults of bus or drive end in a named state with no driven joint."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from femtorque.codegen.board import CutoffOutput
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.drive import Wire, bus_load
from femtorque.codegen.mechanism.description import Cutoff
from femtorque.codegen.motion import knots
from femtorque.codegen.toolchain import platformio as build
from femtorque.codegen.verify import examine
from femtorque.codegen.verify.bus_budget import bus_loads
from femtorque.hil.board.faults import FAULTS, inject
from femtorque.hil.board.supply_relay import OPERATE_S, SupplyRelay
from femtorque.hil.board.under_test import VirtualClock
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.bus.frame import INTERMISSION, image
from femtorque.hil.bus.wire import Passed
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.drives.families.moteus.drive import TIMEOUT
from femtorque.hil.drives.families.odrive_can.drive import WATCHDOG
from femtorque.hil.plant import plant_of
from femtorque.hil.play import Result, play_motion, session_with
from tests.hil.board.test_boards import armed
from tests.support import rig
from tests.support.boards import IMAGES
from tests.support.bus_arm import OTHERS, arm, at_rate, described


@contextmanager
def board(kind: str = "damiao", level: bool = False) -> Iterator[VirtualBoard]:
    """level: true for an arm that is stretched out horizontally at power-up."""
    mechanism, elf = arm(kind)
    stood = replace(mechanism, joints=tuple(replace(j, start=0.0) for j in mechanism.joints)) if level else mechanism
    with VirtualBoard(elf, mechanism, plant_of(stood)) as made:
        made.brakes = True
        yield made


def moved(on: VirtualBoard, fault: str | None = None) -> Result:
    m = on.mechanism
    return play_motion(on, m, knots(short_motion(m), m), feedforward=True, fault=fault)


@dataclass(frozen=True)
class Run:
    """A motion, with the frames on its first bus."""

    result: Result
    passed: list[Passed]
    driving: bool  # true if a drive still drives its joint at the end


@cache
def run_of(kind: str) -> Run:
    """Play the motion with the slowest transceivers that ISO 11898-2:2016 allows."""
    with board(kind) as on:
        passed, on.wiring.buses.wires["can1"].loop_delay = logged(on), SLOWEST
        result = moved(on)
        return Run(result, passed, any(drive.driving for drive in drives(on)))


def logged(on: VirtualBoard) -> list[Passed]:
    """Return a list that collects the frames on the first bus from now on."""
    passed: list[Passed] = []
    on.wiring.buses.wires["can1"].log = passed.append
    return passed


def start(on: VirtualBoard) -> list[float]:
    return [joint.start for joint in on.mechanism.streamed]


def drives(on: VirtualBoard):
    return list(on.wiring.buses.drives.values())


@contextmanager
def watched(kind: str, seconds: float) -> Iterator[tuple[VirtualBoard, list[Passed], float]]:
    """Return an armed board, the frames on its first bus during a number of seconds, and the bus load."""
    with board(kind) as on:
        passed, wire = logged(on), on.wiring.buses.wires["can1"]
        armed(on)
        on.run(0.05)
        assert all(drive.driving for drive in drives(on))
        passed.clear()
        busy = wire.busy_seconds
        on.run(seconds)
        yield on, passed, (wire.busy_seconds - busy) / seconds


@pytest.mark.parametrize("kind", ["damiao", "fd", "robomaster", "three", *OTHERS])
def test_the_image_moves_an_arm_of_drives_as_the_host_computes_it(kind):
    """Rotors, which the file contains, are most of some joints' inertia. A RobStride that is switched on below its zero
    reports one turn too much. No frame is disturbed."""
    run = run_of(kind)
    result, passed = run.result, run.passed
    assert result.ended == "done" and result.state == "DISARMED" and result.bit_identical is True
    assert np.all(result.tracking_max < (1.5e-3 if kind == "odrive-can" else 1e-3))
    assert np.all(np.ptp(result.record.q, axis=0) > 0.03) and result.outputs_safe and not run.driving
    assert len(passed) > 300 and all(p.error is None for p in passed)
    assert all(p.frame.fast for p in passed) == (kind in ("fd", "three", "moteus"))
    assert any(p.frame.extended for p in passed) == (kind in ("robstride", "moteus"))
    assert kind != "moteus" or {(len(p.frame.data), p.frame.extended) for p in passed} == {
        (2, True), (3, True), (12, True), (32, True), (3, False), (7, False), (16, False)}


@pytest.mark.parametrize(("kind", "ids"), [
    ("damiao", (1, 2, 3, 0x11, 0x12, 0x13)), ("fd", (1, 2, 3, 0x11, 0x12, 0x13)),
    ("moteus", (0xF701, 0xF702, 0xF703, 0x177, 0x277, 0x377))])
def test_each_tick_brings_every_drive_one_frame_and_loads_the_bus_as_check_says(kind, ids):
    """The arm is at rest, and the commands have kp = kd = 0. Zeros need more stuff bits than random numbers."""
    with watched(kind, 0.1) as (on, passed, share):
        sent = [p.frame.id for p in passed]
        assert all(abs(sent.count(k) - 100) <= 1 for k in ids)
        (said,) = bus_loads(on.mechanism)
        assert said.load.mean / 1.1 < 1e-3 * share < said.load.worst


SLOWEST = 255e-9  # time from a controller's transmit pin to its receive pin, s
# Damiao's register 35 also allows 8 and 10 Mbit/s. No clock of this chip can be divided to these bit rates.
RATES = (1_000_000, 2_000_000, 2_500_000, 3_200_000, 4_000_000, 5_000_000)
MADE = {"f405rg-4": (1_000_000,), "nucleo-g474re-6": (1_000_000, 2_000_000, 2_500_000, 5_000_000)}


@pytest.mark.bench  # the fastest and the slowest bit rate are above
@pytest.mark.parametrize(("name", "rate"), [(name, rate) for name, rates in MADE.items() for rate in rates])
def test_every_rate_of_damiaos_that_a_chips_clock_makes_moves_the_arm(name, rate):
    """Transceivers are the slowest that ISO 11898-2:2016 allows. No frame is disturbed."""
    mechanism = at_rate(name, rate)
    with VirtualBoard(build.build_image(mechanism, IMAGES / mechanism.name).elf, mechanism, plant_of(mechanism)) as on:
        passed, on.wiring.buses.wires["can1"].loop_delay = logged(on), SLOWEST
        result = moved(on)
        assert result.ended == "done" and np.all(result.tracking_max < 1e-3)
        assert len(passed) > 1000 and all(p.error is None for p in passed)
        assert all(p.frame.fast for p in passed) == (rate > 1_000_000)


@pytest.mark.parametrize(("name", "rate"), [(name, rate) for name, rates in MADE.items() for rate in RATES
                                            if rate not in rates])
def test_every_other_rate_of_damiaos_is_refused_by_check(name, rate):
    with pytest.raises(BadInput, match=r"cannot be made exactly of 170 MHz; nearest: (2500000|5000000)$"
                       if name == "nucleo-g474re-6" else "speaks classic CAN alone"):
        examine(at_rate(name, rate))


@pytest.mark.parametrize(("kind", "told"), [("damiao", Wire("can", 1e6)), ("robstride", Wire("can", 1e6)),
                                            ("mini-cheetah", Wire("can", 1e6)), ("fd", Wire("can-fd", 1e6, 5e6))])
def test_no_round_takes_longer_than_check_says(kind, told):
    """The recorded run contains set-up, rest and motion. One round has more frames: in the tick that switches the
    drives off, the board sends switch-off frames in addition to the commands. The next round follows immediately."""
    said = bus_load(told, [(j.drive.id, j.drive.type) for j in described(kind).streamed])
    data_bit = 1.0 / (told.data_bitrate or told.bitrate)
    rounds: list[list[float]] = []
    last = -1.0
    for p in run_of(kind).passed:
        length = image(p.frame).length(1.0 / told.bitrate, data_bit)
        if p.seconds - length - last > 50e-6:  # after an idle time, the bus carries a frame of another tick
            rounds.append([])
        rounds[-1].append(length + INTERMISSION / told.bitrate)
        last = p.seconds
    assert len(rounds) > 300 and sum(len(r) != 6 for r in rounds[5:-1]) <= 1
    assert 0.8 * said.worst < max(sum(r) for r in rounds if len(r) <= 6) <= said.worst


def test_commands_leave_at_equal_times():
    """A tick's commands leave at the next tick's start, spread by interrupts and transmission times."""
    with board() as on:
        passed = logged(on)
        on.run(0.2)
        times = [p.seconds for p in passed if p.frame.id == 1][-100:]
        assert len(times) == 100 and np.ptp(np.diff(times)) < 20e-6


@pytest.mark.parametrize("kind", ["damiao", "fd"])
def test_commands_are_with_the_drives_when_check_says(kind):
    """The time counts from the next tick's start, at which, by another test, commands leave."""
    with board(kind) as on:
        passed = logged(on)
        armed(on)
        ticks = on.ticks
        while on.ticks == ticks:
            on.run(1e-6)
        began = on.seconds - on.tick_cycles / on.board.chip.sysclk_hz
        passed.clear()
        on.run(0.1)
        (bus,) = bus_loads(on.mechanism)
        after = [bus.period + (p.seconds - began) % bus.period for p in passed if p.frame.id < 0x10]
        least, most = bus.command_after
        assert len(after) > 290 and least - 1e-6 < min(after) < least + 20e-6 and 0.75 * most < max(after) < most


FOREIGN = "ENCODER or DRIVE_SILENT"  # depends on the time: the foreign frame is sent earlier or collides
STATES = {"drive-silent": "DRIVE_SILENT", "drive-ails": "DRIVE_FAULT", "drive-restarts": "DRIVE_SILENT",
          "bus-babble": "DRIVE_SILENT", "bus-foreign": FOREIGN, "bus-short": "BUS_OFF",
          "bus-held": "DRIVE_SILENT or BUS_OFF"}  # depends on the sender at that time: a drive, or the board
SETTING = {"drive-rescaled": "DRIVE_SETTING"}
WRONG: dict[str, dict[str, str]] = {
    "damiao": STATES | SETTING, "fd": {name: STATES[name] for name in ("drive-silent", "bus-foreign", "bus-short")},
    "robstride": {name: STATES[name] for name in ("drive-silent", "bus-foreign")},
    "cubemars": {name: STATES[name] for name in ("drive-ails", "drive-restarts")},
    "mini-cheetah": {name: STATES[name] for name in ("drive-silent", "bus-foreign", "bus-short")},
    # the campaign sends a frame of another node at many phases of a tick
    "moteus": {name: said for name, said in STATES.items() if name != "bus-foreign"} | SETTING,
    "odrive-can": STATES | SETTING | {"bus-short": "BUS_OFF or DRIVE_SILENT"}}  # depends on the node that detects it
ENDLESS = ("cubemars", "mini-cheetah")  # in MIT mode these drives have no timeout


@pytest.mark.parametrize(("kind", "fault", "name"), [
    (kind, *pair) for kind, pairs in WRONG.items() for pair in pairs.items()])
def test_what_goes_wrong_on_the_bus_ends_in_its_name_with_nothing_driven(kind, fault, name):
    """If the board cannot reach the drives, the torque ends with the drives' timeouts. A moteus then brakes."""
    with board(kind) as on:
        result = moved(on, fault)
        assert result.state == ("DISARMED" if fault in SETTING else "FAULT")
        assert any(one in (result.faults or (result.ended,))[0] for one in name.split(" or "))
        assert kind in ENDLESS or all(drive.timeout < 0.2 for drive in drives(on)) or fault in SETTING
        on.run(0.1)
        assert on.outputs_safe()
        assert kind in ENDLESS or not any(drive.driving and not drive.brakes_alone for drive in drives(on))


@pytest.mark.parametrize(("kind", "safe"), [("cubemars", False), ("mini-cheetah", True)])
def test_when_the_board_dies_drives_without_a_time_limit_go_on_until_their_supply_is_cut(kind, safe):
    """`check` asks CubeMars' owners for a supply relay that the enable output switches."""
    with board(kind) as on:
        armed(on)
        on.run(0.02)
        on.chip.supply(0.0)
        on.run(0.05)
        assert on.outputs_safe() is safe and all(drive.driving for drive in drives(on))
        for drive in drives(on):
            drive.supplied = False
        on.run(0.01)
        assert on.outputs_safe() and not any(drive.driving for drive in drives(on))


def test_a_supply_that_hangs_on_enable_needs_a_start_button_until_the_board_is_armed():
    """ARM needs answers of the drives, and `enable` is high only after ARM. Until then the button bridges the relay."""
    with board("robomaster") as on:
        cutoff = replace(on.mechanism, safety=replace(on.mechanism.safety, cutoff=Cutoff()))
        relay = SupplyRelay(replace(on.board, cutoff=CutoffOutput(pin=on.board.outputs.enable)), on.chip, cutoff)
        pressed = [False]

        def supply() -> None:
            for drive in drives(on):
                drive.supplied = relay.closed or pressed[0]
            on.at(on.seconds + 1e-3, supply)

        supply()
        on.run(0.1)
        with pytest.raises(Refused, match="DRIVE_SILENT"):
            armed(on)
        pressed[0] = True
        on.run(0.5)
        session = armed(on)
        on.run(OPERATE_S)
        pressed[0] = False
        on.run(0.2)
        assert all(drive.driving for drive in drives(on))
        session.disarm()
        on.run(0.05)
        assert not any(drive.powered for drive in drives(on))


@pytest.mark.parametrize("kind", ["damiao", "fd", *OTHERS])
def test_what_comes_in_every_tick_drives_answer_without_python(kind):
    """A Python call in each frame took two fifths of the processor time of seven drives."""
    with board(kind) as on:
        armed(on)
        asked = []
        on.run(0.05)
        for drive in drives(on):
            drive.handle = asked.append
        passed = logged(on)
        on.run(0.05)
        assert asked == [] and len(passed) > 280


@pytest.mark.parametrize("early", [False, True])
def test_mini_cheetahs_that_the_board_did_not_reach_are_off_once_it_does_again(early):
    """Early firmware keeps its phase voltages meanwhile, and leaves its mode at the next command."""
    with board("mini-cheetah", level=True) as on:
        for drive in drives(on):
            drive.early = early
        armed(on)
        on.run(0.02)
        for drive in drives(on):
            drive.cut = True
        on.run(0.06)
        assert all(drive.motor.standing is early for drive in drives(on))
        assert on.outputs_safe() is not early
        for drive in drives(on):
            drive.cut = False
        on.run(0.05)
        assert on.outputs_safe() and not any(drive.driving for drive in drives(on))


@pytest.mark.parametrize("fault", ["drive-late", "bus-open-end"])
def test_late_answers_and_repeated_frames_are_ridden_out(fault):
    with board() as on:
        result = moved(on, fault)
        assert result.ended == "done" and result.faults == () and np.all(result.tracking_max < 0.05)


@pytest.mark.parametrize(("kind", "controller"), [("damiao", "CAN1"), ("fd", "FDCAN1")])
def test_the_bus_is_back_after_a_short_and_the_arm_moves_again(kind, controller):
    with board(kind) as on:
        session = armed(on)
        inject("bus-short", on, VirtualClock(on), 0.05)
        on.run(0.06)
        assert on.chip.cans[controller].counters.off
        on.run(0.4)
        assert not on.chip.cans[controller].counters.off
        session.link.close()
        again = session_with(on)
        again.connect()
        again.clear()
        again.home(start(on))
        again.arm()
        on.run(0.02)
        assert all(drive.driving for drive in drives(on))


@pytest.mark.parametrize("release", np.arange(0.102, 0.1041, 250e-6))
@pytest.mark.parametrize(("kind", "controller", "sends"), [
    ("damiao", "CAN1", lambda can: can.read(0x04, 4) & 1 << 8),  # MSR.TXM
    ("fd", "FDCAN1", lambda can: can.read(0x44, 4) >> 3 & 3 == 3)])  # PSR.ACT
def test_the_bus_is_back_after_it_was_held_dominant_whenever_it_is_released(kind, controller, sends, release):
    """The board is bus off, because it was sending. The board tries again in two of each 102 ticks."""
    with board(kind) as on:
        armed(on)
        can, wire = on.chip.cans[controller], on.wiring.buses.wires["can1"]
        on.run(0.02)
        while not sends(can):
            on.run(2e-6)
        wire.hold()
        on.run(0.01)
        assert can.counters.off and not on.outputs_safe()
        on.run(release - 0.01)
        assert on.outputs_safe() and not any(drive.driving for drive in drives(on))
        wire.release()
        on.run(0.01)
        assert not can.counters.off and all(drive.commanded > on.seconds - 2e-3 for drive in drives(on))


@pytest.mark.parametrize(("kind", "hears", "most"), [
    ("damiao", lambda on: on.chip.cans["CAN1"].read(0x04, 4) & 1 << 9, 255),  # MSR.RXM; ESR.REC has eight bits
    ("fd", lambda on: on.chip.cans["FDCAN1"].read(0x44, 4) >> 3 & 3 == 2, 128)])  # PSR.ACT; ECR.REC has seven, and RP
def test_errors_in_sending_and_in_hearing_are_told_apart(kind, hears, most):
    """A missing acknowledgement raises the transmit counter to 128. Then the bus is dominant as a drive sends."""
    with board(kind) as on:
        session = session_with(on)
        session.connect()
        while not on.wiring.buses.wires["can1"].idle:
            on.run(2e-6)
        for drive in drives(on):
            drive.cut = True
        session.wait(lambda: session.drives is not None and session.drives.sending[0] == 128, 0.5, "sends well")
        assert session.drives.receiving[0] == 0
        for drive in drives(on):
            drive.cut = False
        session.wait(lambda: session.drives.sending[0] == 0, 0.5, "has errors still")
        while not hears(on):
            on.run(2e-6)
        on.wiring.buses.wires["can1"].hold()
        session.wait(lambda: session.drives.receiving[0] != 0, 0.5, "hears well")
        assert (session.drives.sending[0], session.drives.receiving[0]) == (0, most)


@pytest.mark.parametrize("kind", ["damiao", "fd"])
def test_a_bus_that_is_held_from_the_start_is_off_until_it_is_released(kind):
    with board(kind) as on:
        on.wiring.buses.wires["can1"].hold()
        session = session_with(on)
        session.connect()
        session.wait(lambda: session.drives is not None and session.drives.off[0] == 1, 0.5, "is not off")
        on.wiring.buses.wires["can1"].release()
        session.wait(lambda: session.drives.off[0] == 0, 0.5, "is not back")


@pytest.mark.parametrize(("kind", "stopped"), [
    ("damiao", lambda drive: drive.status == 0xD), ("moteus", lambda drive: drive.mode == TIMEOUT),
    ("odrive-can", lambda drive: drive.errors == WATCHDOG)])
def test_when_the_board_dies_the_drives_stop_by_themselves(kind, stopped):
    """The reset pin is held low, so the board sends nothing. The board set the drives' timeout before it was armed. The
    board clears an ODrive's errors when the drive is back on the bus."""
    with board(kind) as on:
        session = armed(on)
        on.run(0.02)
        assert all(drive.driving for drive in drives(on))
        on.chip.supply(0.0)
        longest = max(drive.timeout for drive in drives(on))
        assert longest <= (0.1 if kind == "damiao" else 0.0201)
        on.run(longest + 2e-3)
        assert all(map(stopped, drives(on))) and on.outputs_safe()
        session.link.close()
        if kind == "odrive-can":
            on.chip.supply(3.3)
            on.run(0.8)
            assert [drive.errors for drive in drives(on)] == [0] * 3


def test_a_board_with_buses_alone_runs_on_its_crystal_of_12_mhz_and_on_no_other():
    with board("robomaster") as on:
        assert on.chip.rcc.hse_hz == 12_000_000
        result = moved(on, "wrong-crystal")  # 16 MHz
        assert "CRYSTAL" in result.ended and result.faults == ("CRYSTAL",)
        assert result.outputs_safe and not any(drive.driving for drive in drives(on))


@pytest.mark.parametrize("kind", ["damiao", "robomaster", "three"])
def test_the_e_stop_loop_disables_the_drives(kind):
    with board(kind) as on:
        armed(on)
        on.run(0.02)
        on.estop(True)
        on.run(0.02)
        assert [drive.status for drive in drives(on)] == [0] * 3 and on.outputs_safe()


def test_faults_of_buses_are_refused_where_there_is_none_and_the_other_way_round():
    with pytest.raises(BadInput, match="needs a drive on a bus"):
        rig.play("bus-short")
    with board() as on, pytest.raises(BadInput, match=re.escape("needs an encoder")):
        inject("encoder-jump", on, VirtualClock(on), 0.0)
    assert {name for name in FAULTS if FAULTS[name].needs in ("a drive on a bus", "a drive on CAN")} == {
        *STATES, "drive-late", "drive-rescaled", "bus-open-end"}
