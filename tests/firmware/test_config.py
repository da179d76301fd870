"""The emitted constants follow from mechanism and board by the rules of codegen/control/constants.py."""

import struct
import zlib
from dataclasses import dataclass, replace

import numpy as np
import pytest

from femtorque.codegen.board import reader as board
from femtorque.codegen.common import BadInput
from femtorque.codegen.control import constants as control_source, joint_constants, table
from femtorque.codegen.control.constants import fine_digits, ramp, render, ring_size
from femtorque.codegen.mechanism import Motor
from femtorque.codegen.wire import messages
from tests.firmware.app import changed, load, sources, three_link
from tests.support import oracle


def joint(**parts):
    mechanism = three_link()
    j = mechanism.joints[0]
    changed = {n: replace(getattr(j, n), **v) if isinstance(v, dict) else v for n, v in parts.items()}
    return joint_constants(mechanism, replace(j, **changed))


@pytest.mark.parametrize("knot_hz", [1, 50, 100, 250, 256, 257, 1000])
def test_that_the_ring_is_a_power_of_two_and_holds_a_second(knot_hz):
    size = ring_size(knot_hz, 3)
    assert size & (size - 1) == 0
    assert knot_hz <= size < 2 * max(knot_hz, 2)


@pytest.mark.parametrize("joints", [4, 16, 64, 254])
def test_that_the_ring_of_many_joints_leaves_room_for_the_rest(joints):
    size = ring_size(1000, joints)
    assert size & (size - 1) == 0 and size >= 2
    assert size * joints * 24 <= 72 * 1024 < 2 * size * joints * 24


@pytest.mark.parametrize("rate_hz", [10, 100, 1000, 4000, 20000])
def test_that_a_stop_takes_a_quarter_second_unless_its_numbers_would_not_fit(rate_hz):
    half = ramp(rate_hz)
    assert half == (1000 if rate_hz > 8000 else pytest.approx(rate_hz / 8, abs=0.5))
    assert 4 * half**3 < 2**32


def test_that_a_segment_too_long_for_its_numbers_is_refused_with_the_nearest_rate():
    mechanism = three_link()
    with pytest.raises(BadInput, match=r"control.knot_hz = 5: at rate_hz = 8000 a segment may last 429 ticks"):
        render(replace(mechanism, control=replace(mechanism.control, rate_hz=8000, knot_hz=5)), None)


def test_that_rendering_is_reproducible_and_feedforward_is_all_that_its_switch_changes():
    mechanism = three_link()
    on_board = board.load_board(mechanism.board.use)
    assert render(mechanism, on_board) == render(mechanism, on_board)
    a, b = render(mechanism, on_board), render(mechanism, on_board, feedforward=False)
    assert a["ft_config.c"] == b["ft_config.c"]
    lines = zip(a["ft_config.h"].splitlines(), b["ft_config.h"].splitlines(), strict=True)
    changed = [(x, y) for x, y in lines if x != y]
    assert [x.split()[1] for x, _ in changed] == ["FT_FEEDFORWARD"]


def test_that_the_lead_is_the_boards_and_none_without_one():
    mechanism = three_link()
    assert "#define FT_LEAD 1u" in render(mechanism, board.load_board("f405rg-4"))["ft_config.h"]
    assert "#define FT_LEAD 0u" in render(replace(mechanism, board=None), None)["ft_config.h"]


def test_that_a_full_turn_of_counts_is_a_full_turn_of_position():
    for counts, gear, sign, at in ((8192, 1.0, 1, "joint"), (2000, -50.0, 1, "motor"), (4096, 7.3, -1, "motor")):
        mechanism = changed(encoder={"counts": counts, "at": at, "sign": sign}, motor={"gear": gear})
        c, digits = joint_constants(mechanism, mechanism.joints[0]), fine_digits(mechanism)
        turn = counts * (gear if at == "motor" else 1.0) * sign
        assert c.step * turn == pytest.approx(2.0 ** (32 + digits), rel=1e-9)
        assert c.count * turn == pytest.approx(2 * np.pi, rel=1e-12)


@pytest.mark.parametrize(("counts", "digits"), [(2_000_000, 16), (8192, 11), (8193, 12), (4, 0)])
def test_that_fine_positions_have_the_digits_that_a_count_leaves_in_32_bits(counts, digits):
    mechanism = changed(encoder={"counts": counts, "at": "joint"})
    assert fine_digits(mechanism) == digits
    steps = [joint_constants(mechanism, j).step for j in mechanism.joints]
    assert max(map(abs, steps)) < 2**31


def test_that_an_encoder_of_half_turns_is_refused():
    with pytest.raises(BadInput, match=r"joint\.\w+\.encoder\.counts = 4: one count must be less than half a turn"):
        fine_digits(changed(encoder={"counts": 4, "at": "motor"}, motor={"gear": 0.4}))


def test_that_motor_terms_are_those_of_the_joint_side():
    c = joint(motor=Motor(R=2.0, L=1e-3, K=0.05, gear=-10.0, inertia=1e-5, sign=1))
    assert c.rotor == pytest.approx(2.0 * 1e-5 * 100.0 * 1e6)
    assert c.resistance == pytest.approx(2.0 / -0.5)
    assert c.inductance == pytest.approx(1e-3 / -0.5 * 1000.0)
    assert c.back_emf == pytest.approx(-0.5 * 1000.0)
    other = joint(motor=Motor(R=2.0, L=1e-3, K=0.05, gear=-10.0, inertia=1e-5, sign=-1))
    assert (other.resistance, other.back_emf, other.rotor) == (-c.resistance, -c.back_emf, c.rotor)


def test_that_limits_not_given_are_the_motors():
    c = joint(limits={"effort": np.inf, "velocity": np.inf}, motor=Motor(R=2.0, L=1e-3, K=0.05, gear=4.0))
    assert c.effort == pytest.approx(24.0 / 2.0 * 0.2)
    assert c.speed == pytest.approx(24.0 / 0.2)
    ideal = joint(limits={"effort": np.inf, "velocity": np.inf}, motor=None)
    assert (ideal.effort, ideal.speed) == (control_source.UNLIMITED_EFFORT, 100.0)
    assert (ideal.resistance, ideal.back_emf) == (0.0, 0.0)


def test_that_continuous_joints_have_no_limits_and_others_count_turns():
    assert (joint(type="continuous").lower, joint(type="continuous").upper) == (-(2**31), 2**31 - 1)
    two_turns = joint(limits={"lower": -4 * np.pi, "upper": 4 * np.pi})
    assert (two_turns.lower, two_turns.upper) == (-(2 * 2**24), 2 * 2**24)


def test_that_without_a_measurement_there_is_neither_error_nor_fault():
    mechanism = oracle.planar_chain(3)
    assert all(".ku = FT_UNIT(0.0)" in row and ".following = FT_STEPS(2147483647u)" in row
               for row in render(mechanism, None)["ft_config.c"].split("ft_lab_config")[0].split("{ /* ")[1:])


GUARDED = {"ft_joint": "ft_joint_crc", "ft_lab_joint": "ft_lab_crc", "ft_follow_joint": "ft_follow_crc",
           "ft_heat": "ft_heat_crc"}


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", GUARDED)
def test_that_the_check_sum_of_a_table_is_that_of_its_bytes_in_memory(precision, name):
    files = sources(changed(motor={"continuous": 2.0, "thermal_s": 30.0}))
    look = {"look.c": '#include "ft_config.h"\n#include <string.h>\n'
                      "uint32_t size(void);\nuint32_t told(void);\nvoid look(void *to);\n"
                      f"uint32_t size(void) {{ return sizeof {name}; }}\n"
                      f"uint32_t told(void) {{ return {GUARDED[name]}; }}\n"
                      f"void look(void *to) {{ memcpy(to, {name}, sizeof {name}); }}\n"}
    kept = {name: text for name, text in files.items() if name.endswith(".h") or name == "ft_config.c"}
    ffi, lib = load(kept | look, "uint32_t size(void); uint32_t told(void); void look(void *to);", precision)
    bytes_ = bytearray(lib.size())
    lib.look(ffi.from_buffer(bytes_))
    assert len(bytes_) > 0 and lib.told() == zlib.crc32(bytes_)


def test_that_the_bytes_of_a_row_are_laid_out_as_c_lays_them_out():
    """A number's offset is a multiple of its size, and a row's size of its largest number's size."""

    @dataclass
    class Row:
        small: int = table.member(table.UINT32, "")
        large: float = table.member(table.REAL, "")
        last: int = table.member(table.INT32, "")
        note: str = ""

    rows = [Row(1, 2.0, -3), Row(4, 5.0, -6)]
    assert table.packed(rows, double=False) == struct.pack("<IfiIfi", 1, 2.0, -3, 4, 5.0, -6)
    assert table.packed(rows, double=True) == struct.pack("<I4xdi4xI4xdi4x", 1, 2.0, -3, 4, 5.0, -6)
    assert table.c_row(rows[0]) == [".small = 1u", ".large = FT_C(2.0)", ".last = -3"]


def test_that_the_reaction_to_every_fault_is_at_the_faults_number():
    """The numbers of faults have gaps, and the table is indexed by the number, not by a count of faults."""
    safety = {"computing": "coast", "sensing": "coast", "electrical": "brake", "motion": "hold", "host": "hold"}
    mechanism = replace(three_link(), safety=replace(three_link().safety, **safety))
    size = "\nextern const unsigned test_reactions;\nconst unsigned test_reactions = sizeof ft_reaction;\n"
    files = sources(mechanism, {"ft_config.c": lambda text: text + size})
    _, lib = load(files, "extern unsigned test_reactions; extern uint8_t ft_reaction[64];")
    named = ("coast", "brake", "hold")
    chosen = {fault: safety[name] for name, (faults, _, _) in messages.FAULT_CLASSES.items() for fault in faults}
    for fault, (number, _, _) in messages.FAULTS.items():
        assert number < lib.test_reactions, fault
        assert named[lib.ft_reaction[number]] == chosen.get(fault, "coast"), fault
