"""Contact detection in C against NumPy and against Pinocchio, and the contacts that it reports."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.board import reader as boards
from femtorque.codegen.common import MECHANISMS, BadInput
from femtorque.codegen.control import SLOW_HZ, constants
from femtorque.codegen.control.contact import SETTLES_S
from femtorque.codegen.drive import application
from femtorque.codegen.emit import sources as emit
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.mechanism.description import Feel
from femtorque.codegen.model import Model
from femtorque.codegen.reference import discrete
from femtorque.hil.chip import ChipLibrary
from tests.firmware import app
from tests.firmware.app import HERE
from tests.support import oracle
from tests.support.feeling import six_axis

CDEF = """
typedef {real} ft_real;
typedef int{bits}_t ft_turn;
void contact_start(const ft_turn *q);
void contact_run(long n, const void *in, void *out);
void contact_rest(void);
void contact_state(void *out);
"""
HZ = 1000.0
OWN = ("ft_contact.c", "ft_law.c")


def sources_of(mechanism):
    """Return all source files that contact detection needs, as {file name: text}."""
    board = boards.load_board(mechanism.board.use)
    emitted = emit.sources(mechanism, board)
    made = ("ft_step", "ft_config", "ft_tree", "ft_loop")
    files = {n: t for n, t in emitted.items() if n.startswith(made) or n.endswith(".h") and n != "ft_board.h"}
    files |= {n: p.read_text() for n, p in application().items() if n.endswith(".h") or n in OWN}
    return files | {"contact_host.c": (HERE / "contact_host.c").read_text()}


def library(mechanism, precision):
    """Return (ffi, lib, input record, output record)."""
    double = precision == "double"
    cdef = CDEF.format(real="double" if double else "float", bits=64 if double else 32)
    ffi, lib = app.load(sources_of(mechanism), cdef, precision)
    n, real = len(mechanism.streamed), "f8" if double else "f4"
    taken = np.dtype([("q", "i8" if double else "i4", n), ("u", real, n), ("duty", "f4", n), ("torque", real, n),
                      ("volts", real)], align=True)
    given = np.dtype([("external", real, n), ("mean", real, n), ("threshold", real, n), ("touches", "u4"),
                      ("joint", "u4"), ("touch", "u4"), ("touched", "u4"), ("touch_tick", "u4"),
                      ("wild", "u4"), ("blind", "u4")], align=True)
    return ffi, lib, taken, given


def turns(q, double):
    """Return the positions of revolute joints, given in rad, in the integer unit of the build."""
    bits = 64 if double else 32
    steps = np.round(np.asarray(q) / (2.0 * np.pi) * 2.0**bits) if not double else np.round(
        np.asarray(q) / (2.0 * np.pi) * 2.0**52) * 2.0**12
    return steps.astype("i8" if double else "i4")


class Arm:
    """Contact detection of one arm, with given inputs."""

    def __init__(self, mechanism, precision="double"):
        self.double = precision == "double"
        self.ffi, self.lib, self.taken, self.given = library(mechanism, precision)

    def state(self):
        """Return the present report."""
        out = np.zeros(1, self.given)
        self.lib.contact_state(self.ffi.cast("void *", out.ctypes.data))
        return out[0]

    def run(self, q, u, duty, volts, goes_on=False, torque=0.0):
        """Return the report of each tick. q: boundary positions, rad. q, u, duty, torque (to drives, N m): (n, J)."""
        if not goes_on:
            start = np.ascontiguousarray(turns(q[0], self.double))
            self.lib.contact_start(self.ffi.cast("ft_turn *", start.ctypes.data))
        rows, out = np.zeros(len(u), self.taken), np.zeros(len(u), self.given)
        rows["q"], rows["u"], rows["duty"], rows["volts"] = turns(q, self.double), u, duty, volts
        rows["torque"] = torque
        self.lib.contact_run(len(u), *(self.ffi.cast("void *", table.ctypes.data) for table in (rows, out)))
        return out


def motion(mechanism, ticks, seed=1):
    """Return the middles (ticks + 1, J), rad, of a motion from rest, beginning before the first tick."""
    rng, n = np.random.default_rng(seed), len(mechanism.streamed)
    start = np.array([j.start for j in mechanism.streamed])
    t = np.arange(ticks + 1)[:, None] / HZ
    size, w = rng.uniform(0.2, 0.5, n), rng.uniform(2.0, 5.0, n)
    return start + size * (1.0 - np.cos(w * t)) * (1.0 - np.exp(-(t / 0.1) ** 3))


def expected(mechanism, middles, duty, volts):
    """Return the external torque r (ticks, J) in float64: De Luca's observer, reference inverse dynamics."""
    model, joints = Model.of(mechanism), mechanism.streamed
    positions = np.vstack([middles[:1], middles])
    tau = discrete.emitted_torque(model, positions)
    u = 0.5 * np.diff(middles, axis=0)
    before = np.vstack([np.zeros_like(u[:1]), u[:-1]])
    v, a = (before + u) * HZ, (u - before) * 2.0 * HZ**2
    k_n = np.array([j.motor.K * j.motor.gear * j.motor.sign for j in joints])
    ohm, henry = (np.array([getattr(j.motor, x) for j in joints]) for x in "RL")
    viscous, coulomb = (np.array([getattr(j.friction, x) for j in joints]) for x in ("viscous", "coulomb"))
    rotor = np.array([j.motor.inertia * j.motor.gear**2 for j in joints])
    slope = np.clip(v / constants.COULOMB_VELOCITY[False], -1.0, 1.0)
    needed = tau + rotor * a + viscous * v + coulomb * slope
    asked = np.vstack([np.zeros((2, len(joints))), np.float32(duty)[:-2]]) * volts  # a lead of one tick
    gain = 1.0 - np.exp(-2.0 * np.pi * mechanism.feel.bandwidth_hz / HZ)
    current, r, out = np.zeros(len(joints)), np.zeros(len(joints)), []
    for k in range(len(u)):
        steady = (asked[k] - k_n * v[k]) / ohm
        kept = np.exp(-ohm / henry / HZ)
        made = k_n * (steady + (current - steady) * (1.0 - kept) * henry * HZ / ohm)
        current = steady + (current - steady) * kept
        r = r + gain * (needed[k] - made - r)
        out.append(r)
    return np.array(out)


@pytest.fixture(scope="module")
def arm():
    return Arm(six_axis())


def test_the_c_is_the_observer_of_the_reference_step_in_double_precision(arm):
    mechanism, ticks = six_axis(), 600
    middles = motion(mechanism, ticks)
    u = 0.5 * np.diff(middles, axis=0)
    duty = np.random.default_rng(3).uniform(-0.5, 0.5, u.shape)
    seen = arm.run(middles[1:] - u, u, duty, 48.0)["external"]
    wanted = expected(mechanism, middles, duty, 48.0)
    begun = slice(200, None)  # before the first tick the velocity is unknown
    error = np.abs(seen - wanted)[begun].max() / np.abs(wanted).max()
    print(f"C against NumPy: {error:.1e} of peak")
    assert error <= 1e-12


def test_without_motors_it_is_the_torque_of_pinocchio_filtered(arm):
    """The duties only balance the back-EMF, so the motors give no torque."""
    mechanism, ticks = six_axis(), 600
    middles = motion(mechanism, ticks, seed=5)
    u = 0.5 * np.diff(middles, axis=0)
    v = (np.vstack([np.zeros_like(u[:1]), u[:-1]]) + u) * HZ
    k_n = np.array([j.motor.K * j.motor.gear * j.motor.sign for j in mechanism.streamed])
    late = np.vstack([v[2:], v[-1:], v[-1:]])  # this tick's duty takes effect two ticks later
    seen = arm.run(middles[1:] - u, u, late * k_n / 48.0, 48.0)["external"]
    a = np.diff(middles, 2, axis=0) * HZ**2
    tau = oracle.rnea(Model.of(mechanism), middles[1:-1], 0.5 * (middles[2:] - middles[:-2]) * HZ, a)
    joints = mechanism.streamed
    tau += np.array([j.rotor for j in joints]) * a
    mean = 0.5 * (middles[2:] - middles[:-2]) * HZ
    tau += np.array([j.friction.viscous for j in joints]) * mean
    tau += np.array([j.friction.coulomb for j in joints]) * np.clip(mean / constants.COULOMB_VELOCITY[False], -1.0, 1.0)
    gain, r, wanted = 1.0 - np.exp(-2.0 * np.pi * mechanism.feel.bandwidth_hz / HZ), 0.0, []
    for one in tau:
        r = r + gain * (one - r)
        wanted.append(r)
    part = slice(100, -5)
    error = np.abs(seen[1:][part] - np.array(wanted)[part]).max() / np.abs(wanted).max()
    print(f"against Pinocchio: {error:.1e} of peak")
    assert error <= 1e-4


def test_single_precision_is_near():
    mechanism, ticks = six_axis(), 600
    middles = motion(mechanism, ticks)
    u = 0.5 * np.diff(middles, axis=0)
    duty = np.random.default_rng(3).uniform(-0.5, 0.5, u.shape)
    seen = Arm(mechanism, "single").run(middles[1:] - u, u, duty, 48.0)["external"]
    wanted = expected(mechanism, middles, duty, 48.0)
    assert np.abs(seen - wanted).max() / np.abs(wanted).max() <= 1e-4


def at_rest(arm, pushes, joint=-1, **how):
    """Return the reports of an arm at rest while torques (n,), N m, push one joint, by default the last."""
    mechanism = six_axis()
    start = np.array([j.start for j in mechanism.streamed])
    weight = discrete.emitted_torque(Model.of(mechanism), np.tile(start, (3, 1)))[0]
    joints = mechanism.streamed
    per_volt = np.array([j.motor.K * j.motor.gear * j.motor.sign / j.motor.R for j in joints])
    torque = np.tile(weight, (len(pushes), 1))
    torque[:, joint] -= pushes
    still = np.zeros((len(pushes), len(joints)))
    return arm.run(np.tile(start, (len(pushes), 1)), still, torque / per_volt / 48.0, 48.0, **how)


@pytest.mark.parametrize("joint", range(6))
def test_a_touch_is_at_the_joint_that_is_farthest_off_and_at_its_tick(arm, joint):
    pushes = np.zeros(900)
    pushes[700:] = 15.0
    out = at_rest(arm, pushes, joint)
    (at,) = np.flatnonzero(out["touch"])
    assert out["joint"][-1] == joint and out["touch_tick"][-1] == at and 702 <= at < 712


def test_an_arm_without_power_feels_nothing_and_begins_anew(arm):
    pushes = np.zeros(900)
    pushes[700:] = 3.0
    first = at_rest(arm, pushes)
    assert first["touched"][-1] and first["external"][-1].any()
    arm.lib.contact_rest()
    now = arm.state()
    assert not now["external"].any() and not now["touched"] and not now["touch"] and now["touches"] == 1
    again = at_rest(arm, pushes, goes_on=True)
    for name in ("external", "mean", "threshold", "touch", "touched"):
        np.testing.assert_array_equal(again[name], first[name], name)
    assert again["touches"][-1] == 2


def test_rotors_of_an_arm_that_moves_as_it_begins_to_feel_have_not_just_been_accelerated(arm):
    mechanism = six_axis()
    joints = tuple(replace(j, motor=replace(j.motor, inertia=10.0 * j.motor.inertia)) for j in mechanism.joints)
    u = np.full((1, 6), 1e-3)
    start = np.array([[j.start for j in mechanism.streamed]])
    light, heavy = (one.run(start, u, 0.0 * u, 48.0)["external"]
                    for one in (arm, Arm(replace(mechanism, joints=joints))))
    np.testing.assert_array_equal(light, heavy)


def test_a_threshold_begins_anew_too(arm):
    mechanism = six_axis()
    u = np.zeros((40, 6))
    u[10:20] = 1e-3
    still, start = np.zeros((40, 6)), np.tile([j.start for j in mechanism.streamed], (40, 1))
    assert arm.run(start, u, still, 48.0)["threshold"][-1, 0] > 1.1 * mechanism.streamed[0].contact.torque
    arm.lib.contact_rest()
    assert arm.run(start, still, still, 48.0, goes_on=True)["threshold"][0, 0] == pytest.approx(
        mechanism.streamed[0].contact.torque)


def test_a_touch_counts_once_settled_and_once_until_it_is_over(arm):
    settled = round(SETTLES_S * HZ)
    pushes = np.zeros(6000)
    pushes[100:200] = 3.0  # while it settles
    pushes[1500:1700] = 2.0
    pushes[3000:3010] = 0.3  # below the threshold, 1 N m
    pushes[4000:4100] = -2.0
    out = at_rest(arm, pushes)
    touch = np.flatnonzero(out["touch"])
    assert [k for k in touch if k < settled] == []
    first = [k for k in touch if 1500 <= k < 1700]
    # half of the push is reached after ln 2 / (2 pi 30 Hz) = 3.7 ms
    assert len(first) == 1 and first[0] - 1502 <= 4 and out["joint"][first[0]] == 5
    assert [k for k in touch if 2500 <= k < 4000] == []
    assert len([k for k in touch if 4000 <= k < 4100]) == 1
    assert out["touches"][-1] == len(touch)


def test_the_mean_follows_slowly(arm):
    out = at_rest(arm, np.full(2500, 1.0))
    t = 1.0 / (2.0 * np.pi * SLOW_HZ)
    k = round(t * HZ)
    assert out["mean"][k, -1] == pytest.approx(1.0 - np.exp(-1.0), abs=0.03)
    assert out["external"][-1, -1] == pytest.approx(1.0, abs=1e-6)


def test_a_threshold_rises_with_the_motion_at_once_and_falls_slowly(arm):
    mechanism = six_axis()
    u = np.zeros((400, 6))
    u[100:110, 0] = 1e-3  # 2 rad/s
    at = mechanism.streamed[0].contact
    start = np.array([j.start for j in mechanism.streamed])
    out = arm.run(np.tile(start, (400, 1)), u, np.zeros((400, 6)), 48.0)["threshold"][:, 0]
    assert out[99] == pytest.approx(at.torque) and out[105] >= at.torque + 2.0 * at.velocity
    fall = (out[140] - at.torque) / (out[112] - at.torque)
    assert fall == pytest.approx(np.exp(-2.0 * np.pi * SLOW_HZ * 28.0 / HZ), rel=0.01)


GOOD = 256  # FT_GOOD: the finding concerns no joint


@pytest.mark.parametrize("joint", [0, 3, 5])
def test_a_number_that_is_none_is_not_felt_but_found_at_its_joint(arm, joint):
    mechanism = six_axis()
    start = np.array([j.start for j in mechanism.streamed])
    duty = np.zeros((8, 6))
    duty[2, joint] = np.nan
    out = arm.run(np.tile(start, (8, 1)), np.zeros((8, 6)), duty, 48.0)
    assert np.all(np.isfinite(out["external"]))
    assert list(out["wild"][:4]) == [GOOD] * 4  # the duty takes effect two ticks later
    assert np.all(out["wild"][4:] == joint)  # permanently, since the winding's torque is then also zero
    assert np.all(out["external"][4:, joint] == out["external"][3, joint])


def drives():
    """Return an arm of three joints on drives, with contact detection."""
    it = load_mechanism(MECHANISMS / "damiao_arm.toml")
    return replace(it, feel=Feel("none", 30.0))


def test_a_drive_made_what_it_was_asked_for_three_ticks_ago():
    mechanism = drives()
    start = np.tile([j.start for j in mechanism.streamed], (400, 1))
    torque = np.zeros((400, 3))
    torque[200:, 1] = 2.0
    felt = Arm(mechanism).run(start, 0.0 * start, 0.0 * start, 48.0, torque=torque)["external"]
    gain = 1.0 - np.exp(-2.0 * np.pi * 30.0 / mechanism.control.rate_hz)
    assert felt[202, 1] == pytest.approx(felt[199, 1], abs=1e-9)
    assert felt[203, 1] - felt[202, 1] == pytest.approx(-2.0 * gain, rel=1e-6)
    assert felt[-1] - felt[199] == pytest.approx([0.0, -2.0, 0.0], abs=1e-6)


def closed(rng, ticks, away, back):
    """Return the reports (ticks,) of a five-bar with contact detection. Between two ticks the five-bar moves so far
    that its loops do not close. The motors output the torque that balances the five-bar's weight."""
    mechanism = replace(load_mechanism(MECHANISMS / "five_bar.toml"), feel=Feel("none", 30.0))
    start = np.array([j.start for j in mechanism.streamed])
    q = np.tile(start, (ticks, 1)) + rng.uniform(-2e-4, 2e-4, (ticks, 2))
    q[away:back] = np.remainder(start + [3.0, -3.0] + np.pi, 2.0 * np.pi) - np.pi
    return Arm(mechanism).run(q, 0.0 * q, np.full(q.shape, 0.3), 24.0)


def test_where_loops_do_not_close_nothing_is_felt_and_that_is_said_and_then_it_begins_anew():
    out = closed(np.random.default_rng(1), 3000, 1000, 1100)
    settled = 1100 + round(SETTLES_S * HZ)
    assert np.all(out["wild"] == GOOD) and np.all(np.isfinite(out["external"]))
    assert out["external"][900:1000].any() and not out["external"][1001:1100].any()
    assert not out["blind"][:1001].any() and out["blind"][1001:settled - 10].all()
    assert not out["blind"][settled + 10:].any()
    assert not out["touch"][1000:settled].any() and not out["touched"][1000:settled].any()
    assert np.allclose(out["external"][-500:], out["external"][500:1000], atol=0.05) and out["external"][-1].any()


@pytest.mark.parametrize("change, why", [
    (lambda m: load_mechanism(MECHANISMS / "flexible_arm.toml"), "flexible links"),
    (lambda m: load_mechanism(MECHANISMS / "so101_sts.toml"), "servos on a wire"),
    (lambda m: load_mechanism(MECHANISMS / "five_bar_3.toml"), "more driven joints than can move freely"),
    (lambda m: load_mechanism(MECHANISMS / "two_arm_grasp.toml"), "modes"),
    (lambda m: replace(m, joints=(replace(m.joints[0], motor=None), *m.joints[1:])), "needs motor and encoder"),
])
def test_what_cannot_feel_is_refused_by_name(change, why):
    mechanism = replace(change(six_axis()), feel=Feel())
    with pytest.raises(BadInput, match=why):
        constants.render(mechanism, boards.load_board(mechanism.board.use))


ENTRY = """
#include "ft_model.h"
void contact_start(const ft_turn *q);
void contact_run(long n, const void *in, void *out);
void entry(const ft_turn *q, const void *in, void *out);
void entry(const ft_turn *q, const void *in, void *out) { contact_start(q); contact_run(TICKS, in, out); }
"""


def test_the_chip_feels_what_this_computer_does_bit_for_bit():
    mechanism, ticks = six_axis(), 300
    middles = motion(mechanism, ticks)
    u = 0.5 * np.diff(middles, axis=0)
    duty = np.random.default_rng(3).uniform(-0.5, 0.5, u.shape)
    host = Arm(mechanism, "single")
    seen = host.run(middles[1:] - u, u, duty, 48.0)
    rows = np.zeros(ticks, host.taken)
    rows["q"], rows["u"], rows["duty"], rows["volts"] = turns(middles[1:] - u, False), u, duty, 48.0
    chip = ChipLibrary(sources_of(mechanism) | {"entry.c": ENTRY.replace("TICKS", str(ticks))})
    out = chip.put(ticks * host.given.itemsize)
    chip.call("entry", chip.put(rows["q"][0]), chip.put(rows), out)
    on_chip = chip.read(out, host.given, ticks)
    for name in host.given.names:
        assert on_chip[name].tobytes() == seen[name].tobytes(), name
    assert np.abs(seen["external"]).max() > 1.0
