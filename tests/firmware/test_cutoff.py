"""The board cuts the supply of servos that do not confirm that they are off."""

from dataclasses import replace

import pytest

from femtorque.codegen.board import reader as boards
from femtorque.codegen.common import MECHANISMS, BadInput
from femtorque.codegen.drive.families.feetech import frames as feetech
from femtorque.codegen.emit import board_header
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.mechanism.description import Cutoff
from femtorque.codegen.wire import Float, messages
from tests.support.servos import Served, so101

TICK = 1.0 / 400.0  # s
DARK, WITHIN = 80, 12  # times of 0.2 s and 0.03 s in ticks, from the mechanism file
BEFORE = 5  # ticks until a missing answer of a servo counts as silence


@pytest.fixture
def board() -> Served:
    """Return a board just after its start."""
    return Served(so101())


def held(board: Served) -> Served:
    board.run(DARK + 160)
    assert board.command("ARM") == "NONE"
    board.run(30)
    assert board.state == "HOLD" and all(servo.driving for servo in board.servos.values())
    return board


def supplied(board: Served) -> bool:
    return bool(board.chip.servo_supply)


def now(board: Served) -> int:
    """Ticks since the start."""
    return round(400.0 * board.clock.seconds)


def until(board: Served, on: bool, most: int = 400) -> int:
    """Return the number of the first tick after which the supply is on or off, as requested."""
    end = now(board) + most
    while supplied(board) is not on:
        board.run(1)
        assert now(board) < end, f"the supply is not {on} after {most} ticks"
    return now(board)


def test_that_the_supply_comes_after_its_time_from_the_start_on_and_only_then_is_armed(board):
    assert until(board, True) == DARK + 1
    assert board.command("ARM") == "DRIVE_SILENT"
    board.run(160)
    assert board.command("ARM") == "NONE"


def test_that_servos_that_say_in_time_that_they_are_off_keep_their_supply(board):
    held(board)
    assert board.command("DISARM") == "NONE"
    for _ in range(100):
        board.run(1)
        assert supplied(board)
    assert not any(servo.driving for servo in board.servos.values())
    assert board.command("ARM") == "NONE"


@pytest.mark.parametrize("phase", range(8))
@pytest.mark.parametrize("said_off", [False, True])
def test_that_one_that_stays_on_costs_all_their_supply_though_it_said_off_before(board, phase, said_off):
    """An answer to a question from before the stop shows nothing. The switch is read in every eighth tick."""
    off, on = (feetech.packet(board.servos["gripper"].id, 0, bytes([is_on])) for is_on in (0, 1))
    held(board)
    board.run(phase)
    board.post("DISARM")
    while board.chip.outputs:
        board.spoil = lambda data: data.replace(on, off) if said_off and not board.chip.outputs else data
        board.run(1)
    board.spoil, since = lambda data: data.replace(off, on), now(board)
    assert until(board, False, 40) - since <= WITHIN + 3


def test_that_one_whose_wire_is_cut_costs_all_their_supply_within_its_time(board):
    held(board)
    list(board.servos.values())[2].cut, since = True, now(board)
    assert BEFORE + WITHIN <= until(board, False) - since <= BEFORE + WITHIN + 3
    board.run(2)
    assert board.state == "FAULT" and board.fault[0] == "DRIVE_SILENT"
    assert not any(servo.powered for servo in board.servos.values())


def test_that_a_wire_that_is_flooded_costs_all_their_supply(board):
    held(board)
    board.spoil = lambda data: bytes(len(data))
    for servo in board.servos.values():
        servo.cut = True
    since = now(board)
    assert until(board, False) - since <= BEFORE + WITHIN + 3


@pytest.mark.parametrize(("fault", "rate"), [
    ("ENCODER", 1.0), ("OVERSPEED", 0.02), ("FOLLOWING", 0.01), ("POSITION", 0.004), ("ENCODER_STUCK", 0.0)])
def test_that_another_servo_in_the_stead_of_one_is_not_believed(fault, rate):
    """The other servo has another position or motion, rad a tick. The other servo would report that it is off."""
    m = so101()
    joints = tuple(replace(j, limits=replace(j.limits, effort=0.2)) for j in m.joints)  # less than the weight needs
    board = Served(replace(m, joints=m.joints if rate else joints))
    board.run(DARK + 160)
    board.post("ARM")
    board.run(30 if rate else 0)
    if fault == "POSITION":  # the motion is led by hand, so the target moves on
        assert board.ask(Float(board.token + 1, 0)) == "NONE"
    for _ in range(600):
        board.angle["elbow_flex"] += rate
        board.run(1)
        if board.lib.fake_state_now() == messages.STATES["FAULT"][0]:
            break
    board.run(1)
    assert not supplied(board) and board.state == "FAULT" and board.fault[0] == fault


def test_that_the_e_stop_cuts_it_at_once(board):
    held(board)
    board.chip.estop = 1
    since = until(board, False, 3)
    assert board.state == "ESTOP"
    board.chip.estop = 0
    assert board.command("CLEAR") == "NONE"
    assert until(board, True) - since == DARK
    board.run(160)
    assert supplied(board) and board.command("ARM") == "NONE"


def test_that_a_silent_servo_is_woken_by_no_other_registers_than_its_own(board):
    held(board)
    board.lib.fake_tick_number(70)
    board.servos["gripper"].cut = True
    board.packets.clear()
    board.run(BEFORE + WITHIN)
    assert {p[5] for p in board.packets if p[4] == feetech.SYNC_WRITE} <= {feetech.DUTY, feetech.TORQUE_ENABLE, 55, 7}


def test_that_without_the_table_nothing_is_switched():
    app = Served(replace(so101(), safety=replace(so101().safety, cutoff=None)))
    app.run(160)
    assert not supplied(app) and app.command("ARM") == "NONE"


def test_that_boards_without_the_output_and_arms_without_servos_are_refused():
    m = so101()
    header = board_header.render(m, boards.load_board("f405rg-6"))["ft_board.h"]
    assert "#define FT_CUTOFF_PORT 1u" in header and "FT_PIN(1, 0, FT_OUTPUT, FT_DOWN" in header
    with pytest.raises(BadInput, match=r"safety\.cutoff: board 'f405rg-4' has no output for the servos' supply"):
        board_header.render(m, replace(boards.load_board("f405rg-4"), cutoff=None))
    none = load_mechanism(MECHANISMS / "three_link.toml")
    with pytest.raises(BadInput, match="has no use without servos on a wire"):
        board_header.render(replace(none, safety=replace(none.safety, cutoff=Cutoff())), boards.load_board("f405rg-4"))


def test_that_the_output_is_low_in_the_boot_loader_of_every_board_that_has_it():
    having = [boards.load_board(name) for name in boards.board_names() if boards.load_board(name).cutoff]
    assert {"f405rg-4", "f405rg-6", "nucleo-g474re-6"} <= {board.name for board in having}
    assert all(board.cutoff.pin not in board.loader_pulls for board in having)
