"""Arms with drives on buses, driven by their images: seven joints on CAN FD, and one arm with motors and drives."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import Bus, Drive, Mechanism, load_mechanism
from femtorque.codegen.motion import knots
from femtorque.codegen.toolchain import platformio as build
from femtorque.hil.board import VirtualBoard
from femtorque.hil.bus import Adapter, Frame
from femtorque.hil.chip import SYSTICK
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.plant import plant_of
from femtorque.hil.play.closed_loop import Result, play_motion
from tests.support.boards import IMAGES
from tests.support.can_bench import MEGABIT


def mixed() -> Mechanism:
    """Return three_link with a drive in place of its last motor."""
    m = load_mechanism(MECHANISMS / "three_link.toml")
    drive = Drive(DRIVES["damiao-4310"], "can1", 1, 0x11, pd="board", inertia=0.01)
    joints = [replace(j, motor=None, encoder=None, drive=drive) if j.name == "wrist" else j for j in m.joints]
    return replace(m, name="mixed", joints=tuple(joints), buses=(Bus("can1"),))


def mixed_with_current_loops() -> Mechanism:
    """Return the mixed arm with current loops at the other two joints, at the PWM frequency."""
    m = mixed()
    joints = tuple(replace(j, motor=replace(j.motor, drive="current")) if j.motor else j for j in m.joints)
    return replace(m, name="mixed_current", joints=joints)


def seven() -> Mechanism:
    return load_mechanism(MECHANISMS / "openarm_like.toml")


def on_can_fd() -> Mechanism:
    """Return the small arm with drives on the G4's CAN FD. In this test the board sends only torques to the drives."""
    m = load_mechanism(MECHANISMS / "damiao_arm.toml")
    bus = replace(m.buses[0], kind="can-fd", data_bitrate=5_000_000)
    return replace(m, name="damiao_fd", board=replace(m.board, use="nucleo-g474re-6"), buses=(bus,))


def played(m: Mechanism) -> tuple[Result, float]:
    """Return the result of a short motion, and the fraction of time in which the bus was busy."""
    image = build.build_image(m, IMAGES / m.name)
    with VirtualBoard(image.elf, m, plant_of(m)) as board:
        board.brakes = True
        result = play_motion(board, m, knots(short_motion(m), m), feedforward=True)
        return result, board.wiring.buses.wires["can1"].busy_seconds / board.seconds


@pytest.mark.parametrize(("arm", "nearest", "busy"), [
    (mixed, 1e-3, 0.3), (mixed_with_current_loops, 2e-3, 0.3), (seven, 1e-3, 0.75), (on_can_fd, 1e-3, 0.35)])
def test_an_arm_with_drives_moves_as_the_host_computes_it(arm, nearest, busy):
    result, share = played(arm())
    assert (result.ended, result.state, result.faults) == ("done", "DISARMED", ())
    assert result.bit_identical is True and result.outputs_safe
    assert np.all(result.tracking_max < nearest)
    assert 0.5 * busy < share < busy


def test_frames_on_a_bus_do_not_delay_the_update_of_duties():
    """Without preload, the firmware writes duties FT_TICK_AHEAD before the update. Another node's frame arrives 0.3 us
    later in each tick, until its end is past the write. The delay left is one block, which the virtual chip never
    interrupts."""
    m = mixed()
    joints = tuple(replace(j, drive=replace(j.drive, bus="can2")) if j.drive else j for j in m.joints)
    m = replace(m, name="mixed_single", board=replace(m.board, use="f405rg-6"), buses=(Bus("can2"),), joints=joints)
    image, ends = build.build_image(m, IMAGES / m.name), []
    with VirtualBoard(image.elf, m, plant_of(m)) as board:
        core, wire = board.chip.core, board.wiring.buses.wires["can2"]
        done, hz = core.on_exception, board.board.chip.sysclk_hz
        period = hz // m.control.rate_hz
        foreign = Adapter(wire, MEGABIT)

        def ended(number, handled):
            done(number, handled)
            if number == SYSTICK:
                ends.append(core.events.now)

        def send(left: int) -> None:
            foreign.send([Frame(0x55, bytes(8))])
            if left:
                wire.clock.after(1e-3 + 0.3e-6, lambda: send(left - 1))

        core.on_exception = ended
        core.hear()
        board.run(0.05)
        wire.clock.after((ends[-1] + 2 * period - core.events.now) / hz - 150e-6, lambda: send(500))
        board.run(0.51)
    late = (np.array(ends[10:]) - ends[10] + period // 2) % period - period // 2
    assert len(late) > 500 and np.ptp(late) < 100  # 168 cycles are 1 us; the interrupt of a frame takes longer


def test_an_image_without_drives_has_no_code_of_buses():
    """The image contains no function of the packages for drives, and no row of their tables."""
    m = load_mechanism(MECHANISMS / "three_link.toml")
    project = build.project(m)
    names = {path.rsplit("/", 1)[-1] for path in project.files}
    assert not names & {"ft_bus.c", "ft_damiao.c", "ft_mit.c", "ft_robstride.c", "ft_buses.c", "ft_can.c"}
    config = project.files["src/emitted/ft_config.h"].decode() + project.files["src/emitted/ft_config.c"].decode()
    assert "#define FT_BUS_DRIVES 0" in config and "ft_drive" not in config
    assert "FT_BUS(" not in project.files["src/emitted/ft_board.h"].decode()


def test_an_image_has_only_the_dialects_of_its_drives():
    names = {path.rsplit("/", 1)[-1] for path in build.project(seven()).files}
    assert {"ft_bus.c", "ft_damiao.c", "ft_mit.c", "ft_can.c"} <= names and "ft_robstride.c" not in names
