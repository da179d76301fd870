"""Comparison of the firmware's constants with a calculation by hand from the mechanism file. The tests do not call the
code that computes the constants. The tests parse ft_config.h and ft_config.c, and repeat the numbers of the mechanism
files. Numbers that are no key of a file come from the documentation."""

import math
import re
import struct
from functools import cache

import numpy as np
import pytest

from femtorque.codegen.board import reader as boards
from femtorque.codegen.emit import sources
from femtorque.codegen.mechanism import load_mechanism
from tests.support.rig import ROOT

TURN = 2.0 * math.pi / 2**32  # angle per unit of position in messages, rad
METRE = 2.0**-28  # m
SLIDER = """
name = "slider"
gravity = [0.0, 0.0, 0.0]
control = { rate_hz = 500, knot_hz = 100, observer_hz = 40, host_timeout_s = 0.2 }
board = { use = "f405rg-4", bus_voltage = 12.0 }
safety = { stuck_s = 0.5, float_speed = 0.5, jog_speed = 0.2, probe_effort = 0.4, gain_overlay = [0.3, 2.5], \
electrical = "brake", motion = "hold", brake = { release_s = 0.0501, engage_s = 0.1 }, \
park = { pose = { rail = -0.2 }, speed = 0.2 } }
feel = { reaction = "return", bandwidth_hz = 20.0 }

[[link]]
name = "carriage"
mass = 2.0
com = [0.0, 0.0, 0.0]
inertia = [0.01, 0.01, 0.01, 0.0, 0.0, 0.0]

[[joint]]
name = "rail"
type = "prismatic"
parent = "base"
child = "carriage"
axis = [1.0, 0.0, 0.0]
start = 0.1
limits = { lower = -0.25, upper = 0.4, velocity = 0.5 }
friction = { viscous = 3.0, coulomb = 4.0, stribeck = 2.0, stribeck_velocity = 0.05, load = 0.1 }
motor = { R = 2.0, L = 1e-3, K = 0.05, gear = 80.0, inertia = 2e-6, sign = -1, channel = 1, continuous = 1.5, \
thermal_s = 20.0 }
encoder = { counts = 1000, at = "motor", sign = -1, zero = "stop" }
home = { at = 0.39, direction = 1, speed = 0.02, effort = 10.0 }
gains = { ku = 2000.0, kv = 50.0, ki = 100.0 }
"""


@cache
def _given(name: str) -> tuple[str, str]:
    mechanism = load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    return _texts(mechanism)


def _texts(mechanism):
    made = sources.sources(mechanism, boards.load_board(mechanism.board.use) if mechanism.board else None)
    return made["ft_config.h"], made["ft_config.c"]


@pytest.fixture(scope="module")
def slider(tmp_path_factory):
    return _written(tmp_path_factory.mktemp("slider"), SLIDER)


def _written(folder, text: str) -> tuple[str, str]:
    path = folder / "slider.toml"
    path.write_text(text)
    return _texts(load_mechanism(path))


def _value(text: str) -> float:
    """Return a number of C without the macros around it. For the name of a rule, return the rule's index."""
    if text.startswith("FT_RULE_"):
        return ["EQUAL", "ALIKE", "PLACE", "AT_MOST", "AT_LEAST"].index(text.removeprefix("FT_RULE_"))
    found = re.search(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", re.sub(r"\b(?:INT|UINT)\d+_C\b|FT_\w+", "", text))
    assert found, text
    return float(found[0])


def _rows(texts: tuple[str, str], table: str) -> list[dict[str, float]]:
    """Return the rows of a table: {member: number}."""
    body = re.search(rf"{table}\[\w+\] = \{{\n(.*?)\n\}};", texts[1], re.DOTALL)
    assert body, table
    return [{name: _value(value) for name, value in re.findall(r"\.(\w+) = ([^\n]*),$", row, re.MULTILINE)}
            for row in body[1].split("\n    },") if row.strip()]


def _bits(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def _defined(texts: tuple[str, str], *names: str) -> list[float]:
    return [_value(re.search(rf"#define {name} ([^\n/]*)", texts[0])[1]) for name in names]


def _same(got: dict[str, float], wanted: dict[str, float]) -> None:
    assert set(got) == set(wanted)
    near = {name: pytest.approx(x, rel=2e-7, abs=1.0 if name == "seek_ticks" else 1e-12) for name, x in wanted.items()}
    assert {name: (x, wanted[name]) for name, x in got.items() if x != near[name]} == {}


def _observed(bandwidth: float, hz: float, count: float) -> float:
    """Return the observer's velocity for one count, rad/s or m/s: (1 - p)^2 per tick, p = exp(-2 pi f dt)."""
    return (1.0 - math.exp(-2.0 * math.pi * bandwidth / hz)) ** 2 * count * hz


def test_a_joint_that_a_motor_turns_directly():
    count = 2.0 * math.pi / 8192
    one = _observed(80.0, 1000.0, count)
    _same(_rows(_given("three_link"), "ft_joint")[0], {
        "unit": TURN, "per_unit": 1.0 / TURN, "count": count,
        "ku": 35.4 * TURN, "kv": 2.0 * 1.62 * 1000.0, "ki": 0.0,
        "rotor": 2.0 * 3e-3 * 1000.0**2, "viscous": 2e-3 * 1000.0,
        "coulomb": 0.02, "coulomb_slope": 0.02 * 1000.0 / (2.0 * 0.01), "coulomb_width": 0.01 / 1000.0,
        "effort": 4.5,  # less than the stall torque 0.35 * 24 / 1.6 = 5.25 N m
        "resistance": 1.6 / 0.35, "inductance": 2.5e-3 * 1000.0 / 0.35, "back_emf": 0.35 * 1000.0,
        "speed": 8.0,
        "overspeed": (1.25 * 8.0 + 4.0 * one) / 2000.0, "rest": max(0.02 * 8.0, 2.0 * one) / 2000.0,
        "span": math.pi / 2.0,
        "following": round(2.0 * 4.5 / 35.4 / TURN), "start": round(0.01 / TURN),
        "step": 2**19 * 2**11,  # 2^32 / 8192 message units per count; the remaining digits of 32 bits are fine digits
        "counts": math.ceil(2.0 * 8.0 / 1000.0 / count) + 4,
        "lower": math.floor(-3.1 / (256.0 * TURN)), "upper": math.ceil(3.1 / (256.0 * TURN)),
        "room": math.ceil(3.1 / (256.0 * TURN)) - math.floor(-3.1 / (256.0 * TURN)),
        "margin": round(0.05 / (256.0 * TURN)), "patience": 100})


def test_a_joint_that_slides_with_its_encoder_at_the_motor_behind_a_gear(slider):
    count = 2.0 * math.pi / (1000 * 80.0)  # the motor turns 80 rad per metre
    constant = 0.05 * 80.0  # N/A
    effort = constant * 12.0 / 2.0  # stall torque, because the file sets no limit
    one = _observed(40.0, 500.0, count)
    assert effort == 24.0
    _same(_rows(slider, "ft_joint")[0], {
        "unit": METRE, "per_unit": 2.0**28, "count": -count,
        "ku": 2000.0 * METRE, "kv": 2.0 * 50.0 * 500.0, "ki": 100.0 * METRE / 500.0,
        "rotor": 2.0 * 2e-6 * 80.0**2 * 500.0**2, "viscous": 3.0 * 500.0,
        "coulomb": 4.0, "coulomb_slope": 4.0 * 500.0 / (2.0 * 0.001), "coulomb_width": 0.001 / 500.0,
        "effort": effort, "resistance": -2.0 / constant, "inductance": -1e-3 * 500.0 / constant,
        "back_emf": -constant * 500.0,
        "speed": 0.5,  # less than 12 / 4 = 3 m/s without load
        "overspeed": (1.25 * 0.5 + 4.0 * one) / 1000.0, "rest": max(0.02 * 0.5, 2.0 * one) / 1000.0,
        "span": 1.0,
        "following": round(2.0 * effort / 2000.0 / METRE), "start": round(0.002 / METRE),
        "step": round(-count / METRE * 2**16),
        "counts": math.ceil(2.0 * 0.5 / 500.0 / count) + 4,
        "lower": math.floor(-0.25 * 2**20), "upper": math.ceil(0.4 * 2**20),
        "room": math.ceil(0.4 * 2**20) + 2**18, "margin": round(0.005 * 2**20), "patience": 250})


def test_a_joint_without_a_channel_has_no_feedback_and_no_watch():
    """six_axis runs on the board `compute`, which has no sensors."""
    row = _rows(_given("six_axis"), "ft_joint")[0]
    assert (row["ku"], row["kv"], row["ki"]) == (0.0, 0.0, 0.0)
    assert (row["following"], row["patience"]) == (2**31 - 1, 2**32 - 1)


def test_the_modes_of_the_lab_of_a_joint_that_turns():
    """Defaults are 0.25 of the velocity limit for FLOAT, 0.1 of it for a jog, 0.3 of the effort for experiments."""
    count = 2.0 * math.pi / 8192
    far = 1.1 * 6.2
    _same(_rows(_given("three_link"), "ft_lab_joint")[0], {
        "float_velocity": 0.25 * 8.0, "friction_slope": 0.02 / 0.05, "coarse_unit": 256.0 * TURN,
        "jog_velocity": 0.1 * 8.0, "velocity_step": 0.1 * 8.0 / 0.25 / 1000.0, "stop_distance": 0.5 * 0.25 / 0.8,
        "probe_torque": 0.3 * 4.5, "seek_velocity": -0.05 * 8.0, "seek_torque": 0.25 * 4.5, "retract": 0.0,
        "home": 0, "seek": 0, "seek_ticks": math.ceil((1.5 * far / 0.4 + 1.0) * 1000.0),
        "seek_counts": math.ceil(far / count), "probe_counts": math.ceil(0.35 / count)})


def test_the_modes_of_the_lab_of_a_joint_that_slides_to_its_stop(slider):
    count = 2.0 * math.pi / 80000.0
    far = 1.1 * 0.65
    _same(_rows(slider, "ft_lab_joint")[0], {
        "float_velocity": 0.5 * 0.5, "friction_slope": 4.0 / 0.005, "coarse_unit": 256.0 * METRE,
        "jog_velocity": 0.2 * 0.5, "velocity_step": 0.1 / 0.25 / 500.0, "stop_distance": 0.5 * 0.25 / 0.1,
        "probe_torque": 0.4 * 24.0, "seek_velocity": 0.02, "seek_torque": 10.0,
        "retract": 0.39 - (0.4 - 0.02), "home": round(0.39 / METRE), "seek": 2,
        "seek_ticks": math.ceil((1.5 * far / 0.02 + 1.0) * 500.0), "seek_counts": math.ceil(far / count),
        "probe_counts": math.ceil(0.02 / count)})


def test_how_fast_a_joint_follows_and_lies_down_and_for_how_long(slider):
    """The motor has 0.05 x 80 = 4 N/A. The motor gives 4 x 12 / 2 = 24 N at rest and loses 4^2 / 2 = 8 N per m/s. The
    file's velocity of 0.5 m/s is less than 0.8 of the no-load speed 12 / 4 = 3 m/s. At 0.5 m/s friction and back-EMF
    reduce the force by 3 x 0.5 + 8 x 0.5 = 5.5 N. This is less than half of the 24 - 4 - 2 = 18 N that remain after dry
    friction. The remaining 12.5 N accelerate 2 kg, a tenth more for the gear, and a rotor of 2e-6 x 80^2 = 0.0128 kg.
    12.5 / 2.2128 = 5.649 m/s^2, reached in 50 ms, gives a jerk of 112.98 m/s^3. The constants are rounded to three
    digits."""
    follows, lies = (_rows(slider, table)[0] for table in ("ft_follow_joint", "ft_park_joint"))
    for row, share in ((follows, 1.0), (lies, 0.2)):
        assert (row["velocity"], row["acceleration"], row["jerk"]) == pytest.approx(
            (share * 0.5, share * 5.64, share * 112.0), rel=1e-4)
        assert (row["lower"], row["upper"]) == (round((-0.25 + 1e-5) * 2**28), round((0.4 - 1e-5) * 2**28))
    # 0.65 m at 0.1 m/s, 1.128 m/s^2, 22.4 m/s^3; then 1.5 times this time, plus 0.5 s
    longest = 0.65 / 0.1 + 0.1 / 1.128 + 1.128 / 22.4
    assert _defined(slider, "FT_PARK_TICKS") == [math.ceil((1.5 * longest + 0.5) * 500.0)]
    assert f"INT64_C({round(-0.2 * 2**28)})" in slider[1].split("ft_park_pose[")[1]


def _felt(hz: float, observed: float, count: float, inertia: float, losses: float) -> float:
    """Return the noise of the estimated external torque, N m or N (standard deviation), over 10^5 ticks. Positions have
    random errors within a count.

    The observer and a filter of 20 Hz process these errors. inertia is in kg m^2 or kg, losses in N m s/rad or N s/m.
    """
    pole, low = math.exp(-2.0 * math.pi * observed / hz), 1.0 - math.exp(-2.0 * math.pi * 20.0 / hz)
    predicted = velocity = felt = 0.0
    heard = []
    for y in (np.random.default_rng(1).uniform(-0.5, 0.5, 100_000) * count).tolist():
        error, before = y - predicted, velocity
        velocity += (1.0 - pole) ** 2 * error * hz
        predicted = y - error + (1.0 - pole**2) * error + velocity / hz
        felt += low * (inertia * (velocity - before) * hz + losses * 0.5 * (velocity + before) - felt)
        heard.append(felt)
    return float(np.std(heard))


def test_what_a_joint_feels_as_a_touch(slider, tmp_path):
    """The threshold is the sum of 0.02 x 24 N, 2 x 8.4 N for the dry friction of 4 + 2 + 0.1 x 24 = 8.4 N, and six
    times the noise. The noise is that of 2.0128 kg and of a motor that loses 8 N per m/s."""
    row = _rows(slider, "ft_contact_joint")[0]
    noise = row.pop("torque") - 0.02 * 24.0 - 2.0 * 8.4
    assert noise == pytest.approx(6.0 * _felt(500.0, 40.0, 2.0 * math.pi / 80000.0, 2.0128, 8.0), rel=0.03)
    # R/L dt = 2 / 1e-3 / 500 = 4 time constants per tick; back-EMF of 4 V s/m, divided by 0.5 V/N
    held = {"per_volt": -2.0, "damping": 4.0**2 / 2.0 * 500.0, "kept": math.exp(-4.0),
            "part": (1.0 - math.exp(-4.0)) / 4.0, "velocity": 0.0, "acceleration": 0.0, "delay": 2}
    _same(row, held)
    told = SLIDER.replace("gains = {", "contact = { torque = 7.0, velocity = 3.0, acceleration = 0.5 }\ngains = {")
    # factors of u + u' = v dt and of u - u' = a dt^2 / 2
    _same(_rows(_written(tmp_path, told), "ft_contact_joint")[0],
          held | {"torque": 7.0, "velocity": 3.0 * 500.0, "acceleration": 0.5 * 2.0 * 500.0**2})
    opens = math.ceil(0.0501 * 500.0) + 1 + 2  # release of the brakes, as below
    assert _defined(slider, "FT_CONTACT_SETTLES", "FT_CONTACT_QUIET", "FT_RETURN_TRIES", "FT_CONTACT_REACTION") == [
        opens + 250, 500, 5, 3]
    assert _defined(slider, "FT_CONTACT_GAIN", "FT_CONTACT_SLOW") == pytest.approx(
        [1.0 - math.exp(-2.0 * math.pi * 20.0 / 500.0), 1.0 - math.exp(-2.0 * math.pi * 0.3 / 500.0)], rel=1e-6)


def test_what_a_drive_feels_as_a_touch(tmp_path):
    """For the wrist of damiao_arm the threshold is 0.15 of 7 N m plus six times the noise of 0.05 + 0.01 kg m^2.

    The drive reports its range of 25 rad in 65535 steps. The torque in a tick was set three ticks earlier."""
    head, tail = ((ROOT / "mechanisms" / "damiao_arm.toml").read_text().split(mark)[part]
                  for mark, part in (("[[link]]", 0), ('name = "wrist"', 1)))
    link = 'mass = 1.0\ncom = [0.0, 0.0, 0.0]\ninertia = [0.05, 0.05, 0.05, 0.0, 0.0, 0.0]\n'
    text = (f'{head.replace("gravity", "feel = {}" + chr(10) + "gravity", 1)}[[link]]\nname = "hand"\n{link}[[joint]]\n'
            f'name = "wrist"{tail.replace(chr(34) + "fore" + chr(34), chr(34) + "base" + chr(34))}')
    row = _rows(_written(tmp_path, text), "ft_contact_joint")[0]
    assert row["torque"] == pytest.approx(0.15 * 7.0 + 6.0 * _felt(1000.0, 80.0, 25.0 / 65535.0, 0.06, 0.0), rel=0.005)
    assert (row["per_volt"], row["damping"], row["delay"]) == (0.0, 0.0, 3)


def test_numbers_of_the_whole_mechanism(slider):
    three = _given("three_link")
    names = ("FT_LEAD", "FT_RING", "FT_RAMP", "FT_HOST_TIMEOUT", "FT_HOST_LOST", "FT_FOLLOWING_TICKS", "FT_FINE",
             "FT_DUTY_MAX", "FT_BUS_LOW", "FT_PRESS_TICKS", "FT_TEMPERATURE_MAX")
    assert _defined(three, *names) == pytest.approx([1, 256, 125, 100, 1000, 50, 11, 1.0, 0.7 * 24.0, 50, 85.0])
    assert _defined(slider, *names) == pytest.approx([1, 128, 62, 100, 1000, 25, 16, 1.0, 0.7 * 12.0, 25, 85.0])
    flags = ("FT_FEEDFORWARD", "FT_INTEGRAL", "FT_COULOMB", "FT_MOTORS", "FT_INDUCTANCE", "FT_CURRENT_LOOPS",
             "FT_BUS_DRIVES", "FT_BRAKE", "FT_OVERLAY")
    assert _defined(three, *flags) == [1, 0, 1, 1, 1, 0, 0, 0, 0]
    assert _defined(slider, *flags) == [1, 1, 1, 1, 1, 0, 0, 1, 1]
    awake = 2  # the motor bridges of this board start within 2 ms: one tick, plus the tick that has begun
    assert _defined(slider, "FT_BRAKE_OPENS", "FT_BRAKE_CLOSES") == [math.ceil(0.0501 * 500.0) + 1 + awake, 50 + 1]
    assert _defined(slider, "FT_OVERLAY_LEAST", "FT_OVERLAY_MOST") == [math.ceil(0.3 * 64.0), math.floor(2.5 * 64.0)]
    high = [(text, volts) for text, volts in ((three, 24.0), (slider, 12.0))]
    # f405rg-4 can measure up to 3.3 V times its divider ratio, which is less than 1.3 times 24 V
    assert all(1.1 * volts <= _defined(text, "FT_BUS_HIGH")[0] <= 1.3 * volts * (1.0 + 1e-6) for text, volts in high)
    assert _defined(slider, "FT_BUS_HIGH") == pytest.approx([1.3 * 12.0])


def test_the_observer_of_a_bandwidth(slider):
    for texts, bandwidth, hz in ((_given("three_link"), 80.0, 1000.0), (slider, 40.0, 500.0)):
        pole = math.exp(-2.0 * math.pi * bandwidth / hz)
        kept, gain = re.search(r"ft_tracking = \{ (.*), (.*) \};", texts[1]).groups()
        assert (_value(kept), _value(gain)) == pytest.approx((pole**2, 0.5 * (1.0 - pole)**2), rel=1e-7)


def test_poses_at_power_up_and_what_motors_carry(slider):
    steps = re.findall(r"INT64_C\((-?\d+)\), /\* (\w+)", _given("three_link")[1].split("ft_start_pose[")[1])
    assert steps == [(str(round(at / TURN)), name) for at, name in ((-0.8, "shoulder"), (0.5, "elbow"), (0.4, "wrist"))]
    assert f"INT64_C({round(0.1 / METRE)}), /* rail" in slider[1].split("ft_start_pose[")[1]
    heat = re.search(r"ft_heat\[FT_HEATS\] = \{\n(.*?)\n\};", slider[1], re.DOTALL)[1]
    numbers = [_value(part) for part in re.split(r",\s*", re.sub(r"/\*.*?\*/|[{}]|\.\w+ = ", "", heat)) if part.strip()]
    assert numbers == pytest.approx([0.0, 1.0 / (0.05 * 80.0 * 1.5), 1.0 / (500.0 * 20.0)], rel=1e-6)


def test_what_is_done_about_faults(slider):
    done = dict(re.findall(r"\[FT_FAULT_(\w+)\] = FT_REACTION_(\w+)", slider[1]))
    assert {done[name] for name in ("FOLLOWING", "POSITION", "OVERSPEED", "MODE")} == {"HOLD"}
    assert {done[name] for name in ("UNDER_VOLTAGE", "OVER_VOLTAGE", "OVER_TEMPERATURE", "DRIVER")} == {"BRAKE"}
    assert {done[name] for name in ("NONE", "HARD_FAULT", "NOT_FINITE", "ENCODER", "CLOCK")} == {"COAST"}
    assert {done[name] for name in ("HOST_LOST", "KNOT")} == {"PARK"}
    assert set(re.findall(r"FT_REACTION_(\w+),", _given("three_link")[1])) == {"COAST"}


def test_a_drive_on_a_bus():
    """Damiao's manual gives the DM4310 ranges of 12.5 rad, 30 rad/s and 10 N m, and 50 us per unit of TIMEOUT."""
    rows = _rows(_given("damiao_arm"), "ft_drive")
    assert [row["joint"] for row in rows] == [0, 1, 2] and [row["id"] for row in rows] == [1, 2, 3]
    _same(rows[2], {
        "joint": 2, "bus": 0, "family": 0, "id": 3, "reply": rows[2]["reply"], "closes": 0, "placed": 1, "zero": 0,
        "top": 65535, "wraps": 0, "step": 25.0 / 65535.0, "sign": -1.0, "gear": 1.0, "turn": 2**24, "position": 12.5,
        "velocity": 30.0, "torque": 10.0, "kp": 500.0, "kd": 5.0, "share": 0.0, "scale": 0.0,
        "damping": 0.2, "settings": 12, "steps": 6, "again": 6, "forgets": 4})
    asked = {row["number"]: row for row in _rows(_given("damiao_arm"), "ft_setting")[12:]}
    assert {number: row["value"] for number, row in asked.items()} == {
        21: _bits(12.5), 22: _bits(30.0), 23: _bits(10.0), 10: 1, 9: 0.02 / 50e-6, 14: 0}
    assert [number for number, row in asked.items() if row["writes"]] == [9]
    assert [row["rule"] for row in asked.values()] == [1, 1, 1, 0, 0, 0]
    assert (asked[10]["mask"], asked[14]["mask"], asked[9]["mask"]) == (0xFF, 0, 0xFFFFFFFF)
    count = _rows(_given("damiao_arm"), "ft_joint")[2]["count"]
    assert count == pytest.approx(-25.0 / 65535.0, rel=1e-7)


def test_a_servo_on_a_wire():
    """Feetech's STS3215 has 4096 counts per turn, model number 777, and torque limits in thousandths."""
    ends = [1.91986 * 4096 / (2.0 * math.pi), 1.74533 * 4096 / (2.0 * math.pi)]
    asked = _rows(_given("so101_sts"), "ft_setting")
    for row, end in zip(_rows(_given("so101_sts"), "ft_drive"), ends, strict=False):
        assert (row["zero"], row["wraps"], row["top"], row["share"]) == (2 * 2048, 4096, 0, 1.0)
        own = asked[int(row["settings"]):int(row["settings"] + row["steps"])]
        assert {r["number"]: r["value"] for r in own} == {
            55: 1, 3: 777, 33: 2, 7: 0, 9: math.floor(2048 - end), 11: math.ceil(2048 + end), 30: 1, 31: 0, 48: 1000,
            256: 0}
        assert [r["number"] for r in own if r["writes"]] == [55, 33, 7]
    assert _defined(_given("so101_sts"), "FT_BUS_DRIVES", "FT_BUSES", "FT_WIRES", "FT_WIRE_MOST") == [6, 1, 1, 6]
    assert _rows(_given("so101_sts"), "ft_joint")[0]["count"] == pytest.approx(2.0 * math.pi / 4096, rel=1e-7)
    # 0.8 of the no-load speed of 4.71 rad/s, rounded to three digits
    assert _rows(_given("so101_sts"), "ft_follow_joint")[0]["velocity"] == pytest.approx(2.99, rel=1e-4)
    # 5 ticks or 5 ms, and 10 ticks or 20 ms, at 400 and 1000 Hz; ODrive: five heartbeats of 10 ms
    for name, watchdog in (("so101_sts", 25), ("damiao_arm", 20)):
        assert _defined(_given(name), "FT_SILENT_TICKS", "FT_WATCHDOG_MS") == [5, watchdog]
    assert _defined(_given("odrive_arm"), "FT_BEAT_TICKS") == [50]


def test_a_servo_that_takes_a_current():
    """ROBOTIS' XM540-W270, XM430-W350: 2.69 mA per step, 10.6 N m at 4.4 A, 4.1 N m at 2.3 A, models 1120, 1020."""
    rows, asked = _rows(_given("aloha_like"), "ft_drive"), _rows(_given("aloha_like"), "ft_setting")
    for row, constant, most, model in ((rows[0], 10.6 / 4.4, 2047, 1120), (rows[5], 4.1 / 2.3, 1193, 1020)):
        assert row["scale"] == pytest.approx(1.0 / (2.69e-3 * constant), rel=1e-6) and row["share"] == most
        assert (row["zero"], row["wraps"], row["closes"]) == (2 * 2048, 4096, 0) and row["damping"] > 0.0
        own = asked[int(row["settings"]):int(row["settings"] + row["steps"])]
        assert {r["number"]: r["value"] for r in own} == {
            256: model, 98: 2, 68: 1, 10: 0, 63: 0x34, 20: 0, 36: 885, 38: most, 11: 0, 100: 885, 9: 0, 6: 46}
        assert [r["number"] for r in own if r["writes"]] == [98, 68, 11, 100, 9]
