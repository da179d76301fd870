"""Tests of mechanism files: a correct file becomes a mechanism, and a faulty file is refused with one line."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism.canonical_text import canonical
from femtorque.codegen.mechanism.description import Follow
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.model import supported

MECHANISMS = Path(__file__).resolve().parents[3] / "mechanisms"

ARM = """\
name = "arm"
gravity = [0.0, -9.81, 0.0]

[control]
rate_hz = 1000
knot_hz = 250

[board]
use = "f405rg-4"
bus_voltage = 24.0

[[link]]
name = "upper"
mass = 0.4
com = [0.1, 0.0, 0.0]
inertia = [1e-4, 1.4e-3, 1.4e-3, 0.0, 0.0, 0.0]

[[link]]
name = "fore"
mass = 0.1075
rod = 0.2

[[joint]]
name = "shoulder"
type = "revolute"
parent = "base"
child = "upper"
axis = [0.0, 0.0, 1.0]
limits = { lower = -2.0, upper = 2.0, velocity = 10.0, effort = 0.9 }
motor = { R = 1.2, L = 6e-4, K = 0.05, gear = 1.0, channel = 0 }
encoder = { counts = 8192 }
gains = { ku = 1.0, kv = 0.05 }

[[joint]]
name = "elbow"
type = "revolute"
parent = "upper"
child = "fore"
xyz = [0.2, 0.0, 0.0]
axis = [0.0, 0.0, 1.0]
motor = { R = 1.2, L = 6e-4, K = 0.05, channel = 1 }
encoder = { counts = 8192 }

[[payload]]
name = "tool"
link = "fore"
mass = 0.05
com = [0.2, 0.0, 0.0]
"""


def written(tmp_path: Path, text: str | bytes, name: str = "arm.toml") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def edited(*changes: tuple[str, str]) -> str:
    """Return the correct file with some texts replaced. Each old text must be in the file."""
    text = ARM
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def refusal(path: Path) -> str:
    """Return the one line that refuses a file."""
    with pytest.raises(BadInput) as caught:
        load_mechanism(path)
    line = str(caught.value)
    assert "\n" not in line and line.startswith(f"{path}: "), line
    return line.removeprefix(f"{path}: ")


# ---- good files


def test_a_good_file_becomes_a_mechanism(tmp_path: Path) -> None:
    arm = load_mechanism(written(tmp_path, ARM))
    assert [j.name for j in arm.joints] == [j.name for j in arm.moving] == ["shoulder", "elbow"]
    assert [link.name for link in arm.links] == ["upper", "fore"]
    shoulder, elbow = arm.joints
    assert shoulder.limits.effort == 0.9 and elbow.limits.effort == np.inf
    assert (shoulder.motor.channel, elbow.motor.channel) == (0, 1)
    np.testing.assert_array_equal(elbow.xyz, [0.2, 0.0, 0.0])
    np.testing.assert_array_equal(arm.gravity, [0.0, -9.81, 0.0])
    assert arm.payloads[0].link == "fore" and arm.warnings == () and arm.control.observer_hz == 80.0


def test_a_motor_may_be_one_that_is_sold(tmp_path: Path) -> None:
    """Pololu's data sheet: 5.5 A of stall current at 12 V, gear 30. Other keys in the table have precedence."""
    motor = "motor = { R = 1.2, L = 6e-4, K = 0.05, channel = 1 }"
    named = edited((motor, 'motor = { name = "pololu-37d-30", channel = 1, L = 1e-3 }'))
    turned = load_mechanism(written(tmp_path, named)).joints[1].motor
    assert turned.R == pytest.approx(12.0 / 5.5) and (turned.gear, turned.channel, turned.L) == (30.0, 1, 1e-3)
    line = refusal(written(tmp_path, edited((motor, 'motor = { name = "pololu-37d-3" }'))))
    assert line == "joint.elbow.motor.name = 'pololu-37d-3': no such motor; did you mean 'pololu-37d-30'?"


def test_a_rod_has_the_inertia_of_a_slender_rod(tmp_path: Path) -> None:
    fore = load_mechanism(written(tmp_path, ARM)).link("fore")
    np.testing.assert_array_equal(fore.com, [0.1, 0.0, 0.0])
    np.testing.assert_allclose(fore.inertia, np.diag([0.0, 1.0, 1.0]) * 0.1075 * 0.2**2 / 12.0, rtol=1e-15)


def test_inertia_is_read_in_the_order_of_the_file_format(tmp_path: Path) -> None:
    text = edited(("[1e-4, 1.4e-3, 1.4e-3, 0.0, 0.0, 0.0]", "[0.011, 0.012, 0.013, 0.001, 0.002, 0.003]"))
    inertia = load_mechanism(written(tmp_path, text)).link("upper").inertia
    np.testing.assert_array_equal(
        inertia, [[0.011, 0.001, 0.002], [0.001, 0.012, 0.003], [0.002, 0.003, 0.013]])


def test_joints_come_parents_first_and_in_file_order(tmp_path: Path) -> None:
    head, rest = ARM.split("[[joint]]", 1)
    shoulder, rest = rest.split("[[joint]]", 1)
    elbow, payload = rest.split("[[payload]]", 1)
    swapped = f"{head}[[joint]]{elbow}[[joint]]{shoulder}[[payload]]{payload}"
    assert [j.name for j in load_mechanism(written(tmp_path, swapped)).joints] == ["shoulder", "elbow"]


def test_a_start_that_is_not_given_lies_within_the_limits(tmp_path: Path) -> None:
    arm = load_mechanism(written(tmp_path, edited(("lower = -2.0, upper = 2.0", "lower = -3.0, upper = -1.0"))))
    assert arm.joints[0].start == -2.0 and arm.joints[1].start == 0.0


def test_an_observer_slows_down_with_the_tick(tmp_path: Path) -> None:
    arm = load_mechanism(written(tmp_path,
                                 edited(("rate_hz = 1000", "rate_hz = 100"), ("knot_hz = 250", "knot_hz = 50"))))
    assert arm.control.observer_hz == 25.0


def test_how_targets_are_followed_is_read(tmp_path: Path) -> None:
    assert load_mechanism(written(tmp_path, ARM)).follow == Follow(delay=None, timeout=0.25, frame=None)
    table = '[follow]\ndelay = "none"\ntimeout = 0.5\nframe = 0.02\n'
    assert load_mechanism(written(tmp_path, ARM + table)).follow == Follow(delay=0.0, timeout=0.5, frame=0.02)


def test_loops_modes_and_beams_are_kept_and_unsupported_ones_refused_by_name(tmp_path: Path) -> None:
    loop = """
[[loop]]
name = "coupler"
type = "ball"
a = { link = "fore", xyz = [0.2, 0.0, 0.0] }
b = { link = "base", xyz = [0.3, 0.0, 0.0] }
"""
    mode = '\n[[mode]]\nname = "grasp"\nloops = ["coupler"]\npayloads = ["tool"]\npassive = ["elbow"]\nramp_s = 0.05\n'
    both = load_mechanism(written(tmp_path, ARM + loop + mode))
    assert both.loops[0].b.link == "base" and both.modes[0].passive == ("elbow",) and both.modes[0].root == "base"
    with pytest.raises(BadInput, match=r"mode\.grasp\.ramp_s .*passive joints \(elbow\) need the forces"):
        supported(both)
    with pytest.raises(BadInput, match=r"mode\.grasp: closes no loop, and nothing moves elbow"):
        supported(load_mechanism(written(tmp_path, ARM + mode.replace('loops = ["coupler"]\n', ""))))
    beam = edited(("rod = 0.2", "beam = { length = 0.2, EI = 0.55, elements = 3, damping = 1e-3, GA_s = 2e3 }"))
    flexible = load_mechanism(written(tmp_path, beam))
    assert flexible.link("fore").beam.EI == (np.inf, 0.55) and flexible.link("fore").com[0] == 0.1
    assert flexible.link("fore").beam.GA_s == (np.inf, 2e3)
    supported(flexible)
    supported(load_mechanism(written(tmp_path, ARM)))


# ---- bad files: the change, and the pattern of the line that refuses it

MOTOR_1 = "motor = { R = 1.2, L = 6e-4, K = 0.05, channel = 1 }"
TREE = 'parent = "upper"\nchild = "fore"'

GAINS = "gains = { ku = 1.0, kv = 0.05 }"

BAD = {
    "friction without its velocity": ((GAINS, GAINS + "\nfriction = { stribeck = 0.1 }"),
        r"joint\.shoulder\.friction\.stribeck_velocity: is required beside the other one"),
    "friction that falls within rest": ((GAINS, GAINS + "\nfriction = { stribeck = 0.1, stribeck_velocity = 0.01 }"),
        r"friction\.stribeck_velocity = 0\.01: must be above 0\.01, .*0\.02 or more"),
    "toml syntax": (("mass = 0.4", "mass = "), r"^line 14 = 'mass =': is not TOML: "),
    "key twice": (("mass = 0.4", "mass = 0.4\nmass = 0.5"), r"^line 15.*is not TOML: Cannot overwrite"),
    "unknown key": (("mass = 0.4", "mas = 0.4"), r"^link\.upper\.mas = 0\.4: unknown key; did you mean 'mass'\?$"),
    "unknown key deep": (("velocity = 10.0", "speed = 10.0"), r"^joint\.shoulder\.limits\.speed = 10\.0: unknown key"),
    "unknown table": (("[[payload]]", "[[payloads]]"), r"^payloads.*unknown key; did you mean 'payload'\?$"),
    "a number for an array": (('gravity = [0.0, -9.81, 0.0]', "gravity = 9.81"),
                              r"^gravity = 9.81: must be an array, in square brackets$"),
    "single table": (("[[payload]]", "[payload]"), r"^payload = .*must be an array of tables: write \[\[payload\]\]$"),
    "text for a number": (("mass = 0.4", 'mass = "heavy"'), r"^link\.upper\.mass = 'heavy': must be a number$"),
    "fraction for a count": (("knot_hz = 250", "knot_hz = 250.5"),
                             r"^control\.knot_hz = 250\.5: must be a whole number"),
    "text for a flag": (('axis = [0', 'actuated = "yes"\naxis = [0'),
                        r"^joint\.shoulder\.actuated = 'yes': must be true"),
    "nan": (("mass = 0.4", "mass = nan"), r"^link\.upper\.mass = nan: must be finite$"),
    "missing name": (('name = "upper"\n', ""), r"^link\[0\]\.name: is required$"),
    "pwm": (("bus_voltage", "pwm_hz = 0\nbus_voltage"), r"^board\.pwm_hz = 0: must be greater than 0$"),
    "infinite limit": (("upper = 2.0", "upper = inf"), r"limits\.upper = inf: must be finite; leave the key out"),
    "absurd size": (("mass = 0.4", "mass = 1e300"), r"^link\.upper\.mass = 1e\+300: must be at most 1e\+09$"),
    "absurd digits": (("mass = 0.4", "mass = 1" + "0" * 400), r"^link\.upper\.mass = 10000.*: must be "),
    "negative mass": (("mass = 0.4", "mass = -0.4"), r"^link\.upper\.mass = -0\.4: must be at least 0$"),
    "missing inertia": (("inertia = [1e-4, 1.4e-3, 1.4e-3, 0.0, 0.0, 0.0]\n", ""),
                        r"^link\.upper\.inertia: is required; or rod"),
    "missing axis": (("axis = [0.0, 0.0, 1.0]\n", ""), r"^joint\.shoulder\.axis: is required"),
    "short vector": (("com = [0.1, 0.0, 0.0]", "com = [0.1, 0.0]"),
                     r"^link\.upper\.com = \[0\.1, 0\.0\]: must hold exactly 3"),
    "long vector": (("com = [0.1, 0.0, 0.0]", "com = [1, 2, 3, 4]"),
                    r"^link\.upper\.com .*must hold exactly 3 numbers$"),
    "inertia that no body has": (("1.4e-3, 1.4e-3,", "1.4e-3, 9e-3,"),
                                 r"^link\.upper\.inertia = .*sum of the others; order is"),
    "negative moment": (("[1e-4, 1.4e-3", "[-1e-4, 1.4e-3"), r"^link\.upper\.inertia = .*negative principal moment"),
    "inertia without mass": (("mass = 0.4", "mass = 0.0"),
                             r"^link\.upper\.inertia = .*no body has inertia without mass"),
    "payload's inertia": (("com = [0.2, 0.0, 0.0]\n", "com = [0.2, 0.0, 0.0]\ninertia = [1, 0, 0, 0, 0, 0]\n"),
                          r"^payload\.tool\.inertia = .*sum of the others"),
    "rod with com": (("rod = 0.2", "rod = 0.2\ncom = [0.1, 0.0, 0.0]"),
                     r"^link\.fore\.rod = 0\.2: stands instead of com"),
    "unknown reaction": (("[board]", '[safety]\nhost = "holt"\n[board]'),
                         r"^safety\.host = 'holt': must be 'auto', 'coast', 'brake', 'hold' or 'park'; did you mean "
                         r"'hold'\?$"),
    "unknown class": (("[board]", '[safety]\nmotions = "hold"\n[board]'),
                      r"^safety\.motions = .*did you mean 'motion'\?$"),
    "overlay without the file's gains": (("[board]", "[safety]\ngain_overlay = [1.2, 1.5]\n[board]"),
                                         r"^safety\.gain_overlay = \[1\.2, 1\.5\]: must be \[least, most\]"),
    "sought without home": (('counts = 8192 }\ngains', 'counts = 8192, zero = "stop" }\ngains'),
                            r"^joint\.shoulder\.home: is required by encoder\.zero = 'stop'"),
    "home without need": (("gains = { ku", "home = { at = 0.1 }\ngains = { ku"),
                          r"^joint\.shoulder\.home: is of use with"),
    "homing too strong": (('counts = 8192 }\ngains', 'counts = 8192, zero = "stop" }\nhome = { effort = 2.0 }\ngains'),
                          r"^joint\.shoulder\.home\.effort = 2\.0: is more than limits\.effort = 0\.9$"),
    "homing too fast": (('counts = 8192 }\ngains', 'counts = 8192, zero = "index" }\nhome = { speed = 9.0 }\ngains'),
                        r"^joint\.shoulder\.home\.speed = 9\.0: is more than half of limits\.velocity = 10$"),
    "zero axis": (("axis = [0.0, 0.0, 1.0]", "axis = [0.0, 0.0, 0.0]"),
                  r"^joint\.shoulder\.axis = \[0\.0, 0\.0, 0\.0\]: must not be zero$"),
    "unknown type": (('type = "revolute"', 'type = "revolut"'),
                     r"^joint\.shoulder\.type = 'revolut': must be .*did you mean 'revolute'\?$"),
    "two joints with one child": ((TREE, 'parent = "base"\nchild = "upper"'),
                                  r"^joint\.elbow\.child = 'upper': is already the child of joint 'shoulder'; close a "
                                  r"kinematic loop with"),
    "cycle": (('parent = "base"', 'parent = "fore"'),
              r"^joint\.shoulder\.parent = 'fore': joints go in a circle: shoulder <- elbow <- shoulder"),
    "own parent": ((TREE, 'parent = "fore"\nchild = "fore"'),
                   r"^joint\.elbow\.child = 'fore': is the joint's own parent$"),
    "ground as child": ((TREE, 'parent = "fore"\nchild = "base"'),
                        r"^joint\.elbow\.child = 'base': the ground cannot be the child"),
    "unknown parent": (('parent = "upper"', 'parent = "uper"'),
                       r"^joint\.elbow\.parent = 'uper': no such link; did you mean 'upper'\?$"),
    "unknown child": (('child = "fore"', 'child = "hand"'),
                      r"^joint\.elbow\.child = 'hand': no such link; links: upper, fore, base$"),
    "disconnected link": (("[[payload]]", '[[link]]\nname = "lost"\nmass = 1.0\nrod = 0.1\n[[payload]]'),
                          r"^link\.lost: is not connected to the base; no joint has child = \"lost\"$"),
    "name twice": (('name = "fore"', 'name = "upper"'),
                   r"^link\[1\]\.name = 'upper': is already the name of another link$"),
    "name not for C": (('name = "elbow"', 'name = "el bow"'),
                       r"^joint\[1\]\.name = 'el bow': must be at most 64 letters, digits"),
    "name of time": (('name = "elbow"', 'name = "t"'), r"^joint\.t\.name = 't': means something else as a column"),
    "link called base": (('name = "fore"', 'name = "base"'), r"^link\.base = 'base': is the ground and needs no"),
    "long name": (('name = "arm"', f'name = "{"a" * 33}"'), r"^name = 'a+.*: must be at most 32 letters, digits"),
    "rate and knots": (("knot_hz = 250", "knot_hz = 300"),
                       r"^control\.knot_hz = 300: rate_hz = 1000 must be a whole multiple of it; nearest: 250$"),
    "fast observer": (("knot_hz = 250", "knot_hz = 250\nobserver_hz = 400"),
                      r"^control\.observer_hz = 400.*: must be at most a quarter"),
    "unknown scheme": (("knot_hz = 250", 'knot_hz = 250\nscheme = "printd"'),
                       r"^control\.scheme = 'printd': must be 'nodal' or 'printed'; did you mean 'printed'\?$"),
    "a scheme that is gone": (("knot_hz = 250", 'knot_hz = 250\nscheme = "newton-euler"'),
                              r"^control\.scheme = 'newton-euler': must be 'nodal' or 'printed'; leave the line out"),
    "a key that is gone": (("knot_hz = 250", 'knot_hz = 250\ntrig = "tick"'),
                           r"^control\.trig = 'tick': unknown key; keys here: rate_hz, knot_hz, scheme, "),
    "limits crossed": (("lower = -2.0", "lower = 3.0"),
                       r"^joint\.shoulder\.limits\.lower = 3\.0: must be less than upper = 2;"),
    "limits of a continuous joint": (('"revolute"', '"continuous"'),
                                     r"^joint\.shoulder\.limits\.lower = -2\.0: a continuous joint turns without end"),
    "start outside limits": (("[[joint]]", "[[joint]]\nstart = 2.5"),
                             r"^joint\.shoulder\.start = 2\.5: is outside the joint's limits -2 \.\. 2$"),
    "effort that the motor cannot give": (("effort = 0.9", "effort = 1.1"),
                                          r"^joint\.shoulder\.limits\.effort = 1\.1: the motor gives at most gear K V "
                                          r"/ R = 1 at stall"),
    "channel twice": (("channel = 1", "channel = 0"),
                      r"^joint\.elbow\.motor\.channel = 0: is already used by joint 'shoulder'$"),
    "gear zero": (("gear = 1.0", "gear = 0.0"), r"^joint\.shoulder\.motor\.gear = 0\.0: must not be zero"),
    "gains of a passive joint": (("gains = {", "actuated = false\ngains = {"),
                                 r"^joint\.shoulder\.actuated = False: a joint with a motor is actuated"),
    "encoder at no motor": ((MOTOR_1 + "\nencoder = { counts = 8192 }", 'encoder = { counts = 8192, at = "motor" }'),
                            r"^joint\.elbow\.encoder\.at = 'motor': this joint has no motor"),
    "c_mot with stiffness": (("gains = {", "c_mot = 0.5\nstiffness = 3.0\ngains = {"),
                             r"^joint\.shoulder\.stiffness = 3\.0: c_mot is given too"),
    "a spring that turns on": (("limits = { lower = -2.0, upper = 2.0",
                                "stiffness = 3.0\nlimits = { lower = -2.0, upper = 4.0"),
                               r"^joint\.shoulder\.stiffness = 3\.0: a joint with a spring stays within half a turn of "
                               r"zero, and this one has -2 \.\. 4; limits = "),
    "motor of a fixed joint": (('name = "elbow"\ntype = "revolute"', 'name = "elbow"\ntype = "fixed"'),
                               r"^joint\.elbow\.motor: a fixed joint has none"),
    "lock of an unknown joint": (("gravity", "lock = { elbo = 0.1 }\ngravity"),
                                 r"^lock\.elbo = 0\.1: no such joint; did you mean 'elbow'\?$"),
    "start in degrees": (("[[joint]]", "[[joint]]\nstart = 90.0"),
                         r"start = 90\.0: is outside the joint's limits -2 \.\. 2; angles are in rad: 90 degrees are "
                         r"1\.571$"),
    "lock in degrees": (("gravity", "lock = { shoulder = -45.0 }\ngravity"),
                        r"angles are in rad: -45 degrees are -0\.7854$"),
    "everything locked": (("gravity", "lock = { shoulder = 0, elbow = 0 }\ngravity"), r"^joint: nothing can move"),
    "payload on the ground": (('link = "fore"', 'link = "base"'), r"^payload\.tool\.link = 'base': no such link"),
    "mode with an unknown loop": (("[[payload]]", '[[mode]]\nname = "m"\nloops = ["x"]\n[[payload]]'),
                                  r"^mode\.m\.loops\[0\] = 'x': no such loop$"),
    "loop to an unknown link": (("[[payload]]",
                                 '[[loop]]\nname = "l"\ntype = "ball"\na = { link = "for" }\nb = { link = "base" '
                                 '}\n[[payload]]'),
                                r"^loop\.l\.a\.link = 'for': no such link; did you mean 'fore'\?$"),
    "loop on one body": (("[[payload]]",
                          '[[link]]\nname = "tip"\nmass = 0.1\nrod = 0.1\n[[joint]]\nname = "weld"\ntype = '
                          '"fixed"\nparent = "fore"\n'
                          'child = "tip"\n[[loop]]\nname = "l"\ntype = "ball"\na = { link = "fore" }\nb = { link = '
                          '"tip" }\n[[payload]]'),
                         r"^loop\.l\.b\.link = 'tip': cannot move against 'fore': they are fixed together$"),
    "loop twice": (("[[payload]]",
                    "".join(f'[[loop]]\nname = "{name}"\ntype = "ball"\na = {{ link = "{a}" }}\nb = '
                            f'{{ link = "{b}" }}\n'
                                           for name, a, b in (("l", "fore", "base"), ("m", "base", "fore")))
                    + "[[payload]]"),
                   r"^loop\.m: is loop 'l' once more$"),
    "shear without bending": (("rod = 0.2", "beam = { length = 0.2, EI = 0.5, elements = 2, GA_s = [1e3, 1e3] }"),
                              r"^link\.fore\.beam\.GA_s = \[1000\.0, 1000\.0\]: shears where EI says that it does not "
                              r"bend, about y"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, case: str) -> None:
    change, pattern = BAD[case]
    line = refusal(written(tmp_path, edited(change)))
    assert re.search(pattern, line), line


def test_unused_keys_of_modes_are_warned_of(tmp_path: Path) -> None:
    loop = '\n[[loop]]\nname = "l"\ntype = "ball"\na = { link = "fore" }\nb = { link = "base" }\n'
    mode = '\n[[mode]]\nname = "m"\npassive = ["elbow"]\n'
    text = edited(("gravity =", "lock = { elbow = 0.1 }\ngravity ="))
    warnings = load_mechanism(written(tmp_path, text + loop + mode)).warnings
    assert "loop.l: no mode closes it" in warnings and "payload.tool: no mode attaches it" in warnings
    assert "mode.m.passive: elbow cannot move" in warnings


def test_names_that_are_one_in_c_are_refused(tmp_path: Path) -> None:
    text = edited(('name = "shoulder"', 'name = "j-1"'), ('name = "elbow"', 'name = "j_1"'))
    assert re.search(r"^joint\[1\]\.name = 'j_1': .*'j-1' is the same name in C$", refusal(written(tmp_path, text)))


def test_a_massless_tip_behind_a_joint_is_refused(tmp_path: Path) -> None:
    text = edited(("mass = 0.1075\nrod = 0.2", "mass = 0.0"), ("mass = 0.05", "mass = 0.0"))
    assert re.search(r"^joint\.elbow\.child = 'fore': moves no mass", refusal(written(tmp_path, text)))
    carried = written(tmp_path, edited(("mass = 0.1075\nrod = 0.2", "mass = 0.0")))
    assert load_mechanism(carried).link("fore").mass == 0.0  # the payload moves together with its link


# ---- files that are not mechanism files at all


@pytest.mark.parametrize(("content", "pattern"), [
    (b"", "^file: is empty; start from one written by"),
    (b'name = "nothing"', "^joint: a mechanism needs at least one"),
    (bytes(range(256)), "^byte 128: is not text"),
    (b"\x00\x01\x02", "^line 1 = .*is not TOML"),
    (b"[" * 100_000, "."),
    (b"x = " + b"[" * 20_000 + b"]" * 20_000, "."),
    (b"x = " + b"9" * 5000, "^file: is not TOML"),
    (b'name = "arm', "is not TOML"),
    (b"#" * (5 * 2**20), "^file: is too large: more than 4194304 bytes$"),
    ('"a\u2028b\\u001b" = 1'.encode(), "unknown key"),
], ids=["empty", "no joint", "binary", "zeros", "brackets", "deep", "digits", "cut off", "huge", "odd key"])
def test_other_files_are_refused(tmp_path: Path, content: bytes, pattern: str) -> None:
    assert re.search(pattern, refusal(written(tmp_path, content)))


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    written(tmp_path, ARM)
    assert refusal(tmp_path / "arn.toml") == "file: does not exist; did you mean 'arm.toml'?"
    assert refusal(tmp_path) == "file: is a directory"
    for name in ("a\0b.toml", "x" * 300, tmp_path / "arm.toml" / "arm.toml"):
        with pytest.raises(BadInput, match="cannot be read|does not exist"):
            load_mechanism(name)
    os.mkfifo(tmp_path / "pipe.toml")
    for name in ("/dev/zero", tmp_path / "pipe.toml"):
        with pytest.raises(BadInput, match="is a pipe or a device, not a file"):
            load_mechanism(name)


def test_a_key_of_many_parts_takes_no_time(tmp_path: Path) -> None:
    """The reader counts the parts of the key first, since tomllib's time grows with the square of their number."""
    for part in ("a", '"a"', "'a'"):
        for text in (part + f" . {part}" * 100_000 + " = 1", f"[x.{part}" + f".{part}" * 20 + "]",
                     "x = {" + part + f".{part}" * 20 + " = 1}"):
            assert re.search(r"^line 1 = .*: is nested too deeply$", refusal(written(tmp_path, text)))


def test_too_many_links_are_refused_before_any_is_checked(tmp_path: Path) -> None:
    text = "[[link]]\nname = 3\n" * 1001
    assert refusal(written(tmp_path, text)) == "link: there are 1001: at most 1000 are read"


# ---- fuzz: any content gives a mechanism or one line

SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
VALUES = st.one_of(
    st.integers(-(10**12), 10**12).map(str),
    st.sampled_from(["nan", "inf", "-inf", "0", "-0.0", "1e308", "-1e308", "5e-324", "true", "1979-05-27", "[]", "{}",
                     "[[]]", '""', '"base"', '"upper"', "[1, 2, 3]", "[nan, 0, 0]", "[0, 0, 0, 0, 0, 0]"]),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.text("abc\\\"-_. \u2028", max_size=8).map(lambda s: '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"'),
)
LINES = [i for i, line in enumerate(ARM.splitlines()) if "=" in line]


@SETTINGS
@given(st.lists(st.tuples(st.sampled_from(LINES), VALUES), min_size=1, max_size=4))
def test_any_value_anywhere_gives_a_mechanism_or_one_line(tmp_path: Path, changes: list[tuple[int, str]]) -> None:
    lines = ARM.splitlines()
    for at, value in changes:
        lines[at] = f"{lines[at].split('=')[0]}= {value}"
    _loads_or_refuses(written(tmp_path, "\n".join(lines)))


@SETTINGS
@given(st.lists(st.tuples(st.integers(0, len(ARM)), st.integers(0, 30), st.text(max_size=6)), min_size=1, max_size=4))
def test_any_damage_gives_a_mechanism_or_one_line(tmp_path: Path, cuts: list[tuple[int, int, str]]) -> None:
    text = ARM
    for at, length, new in cuts:
        text = text[:at] + new + text[at + length:]
    _loads_or_refuses(written(tmp_path, text.encode("utf-8", "surrogatepass")))


def _loads_or_refuses(path: Path) -> None:
    try:
        mechanism = load_mechanism(path)
    except BadInput as error:
        assert str(error).startswith(f"{path}: ") and len(str(error).splitlines()) == 1 and len(str(error)) < 700
        return
    assert mechanism.moving and np.isfinite(mechanism.gravity).all()
    for link in mechanism.links:
        assert link.mass >= 0.0 and np.linalg.eigvalsh(link.inertia)[0] > -1e-6 * max(np.trace(link.inertia),
                                                                                      0.0) - 1e-300
    assert canonical(mechanism) == canonical(load_mechanism(path))


# ---- canonical text


def test_canonical_text_does_not_depend_on_how_the_file_is_written(tmp_path: Path) -> None:
    plain = load_mechanism(written(tmp_path, ARM))
    other = edited(("gear = 1.0, ", ""), ("axis = [0.0, 0.0, 1.0]", "axis = [0, -0.0, 2]"),
                   ("bus_voltage = 24.0", "bus_voltage = 24"), ("mass = 0.4", "mass = 4e-1  # kg"))
    (tmp_path / "elsewhere").mkdir()
    assert canonical(load_mechanism(written(tmp_path / "elsewhere", other))) == canonical(plain)


@pytest.mark.parametrize(("old", "new"), [
    ("mass = 0.4", "mass = 0.4000000000000001"), ("ku = 1.0", "ku = 1.1"), ("counts = 8192", "counts = 4096"),
    ("-9.81", "-9.8"), ("knot_hz = 250", "knot_hz = 500"), ("bus_voltage = 24.0", "bus_voltage = 25.0"),
    ("com = [0.2, 0.0, 0.0]", "com = [0.2, 0.0, 0.1]"), ('name = "elbow"', 'name = "ellbow"'),
])
def test_canonical_text_changes_with_each_value(tmp_path: Path, old: str, new: str) -> None:
    changed = load_mechanism(written(tmp_path, edited((old, new))))
    assert canonical(changed) != canonical(load_mechanism(written(tmp_path, ARM)))


def test_friction_that_only_motors_overcome_is_refused_at_a_passive_joint(tmp_path: Path) -> None:
    text, old = (MECHANISMS / "five_bar.toml").read_text(), "friction = { viscous = 1e-4, coulomb = 5e-4 }"
    assert old in text
    line = refusal(written(tmp_path, text.replace(old, "friction = { load = 0.1 }", 1)))
    assert "friction.load = 0.1: is fed forward to joints that a motor turns" in line
