"""Each step of the rigid plant satisfies femtorque.hil.plant.rigid's equation, by Pinocchio's terms."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Friction, Mechanism, Motor
from femtorque.hil.plant.plant_library import MOST
from femtorque.hil.plant.rigid import STOP_RATE, Plant
from tests.support.oracle import pinocchio_of, planar_chain, random_tree, rnea


def driven_tree(rng: np.random.Generator, n: int, field: bool = False) -> Mechanism:
    """Return a random tree. The tree's joints have friction, springs and motors. Some motors have no inductance, and
    some joints have no motor. field: friction also decreases with the velocity and increases with the load."""
    tree = random_tree(rng, n)
    joints = []
    for joint in tree.joints:
        motor = Motor(R=rng.uniform(0.5, 2.0), L=rng.choice([0.0, 6e-4]), K=0.05, gear=rng.choice([-20.0, 5.0]),
                      inertia=1e-5)
        friction = Friction(viscous=rng.uniform(0.0, 0.1), coulomb=rng.choice([0.0, 0.05, 2.0]))
        if field:
            friction = replace(friction, stribeck=rng.choice([0.0, 0.5]), stribeck_velocity=rng.uniform(0.05, 1.0),
                               load=rng.choice([0.0, 0.3]))
        joints.append(replace(joint, motor=motor if rng.random() < 0.8 else None, friction=friction,
                              stiffness=rng.choice([0.0, 3.0])))
    return replace(tree, joints=tuple(joints))


@dataclass
class Checked:
    """A plant that moves step by step. The test checks each step with the plant's equation."""

    plant: Plant
    stuck: int = 0  # joints, step by step
    slid: int = 0

    def __post_init__(self) -> None:
        plant, joints = self.plant, self.plant.joints
        self.model = pinocchio_of(plant.mechanism)
        self.motors = [joint.motor for joint in joints]
        self.R = np.array([m.R if m else 1.0 for m in self.motors])
        self.L = np.array([m.L if m else 0.0 for m in self.motors])
        self.constant = np.array([m.gear * m.K if m else 0.0 for m in self.motors])
        self.rotor = np.array([m.gear**2 * m.inertia if m else 0.0 for m in self.motors])
        self.viscous = np.array([joint.friction.viscous for joint in joints])
        self.coulomb = np.array([joint.friction.coulomb for joint in joints])
        self.stiffness = np.array([joint.stiffness for joint in joints])
        self.rest = np.array([joint.rest for joint in joints])
        self.stops = np.full((plant.n, 2), (-np.inf, np.inf))
        self.carried = np.zeros(plant.n)  # loads of the gears in the previous step

    def move(self, seconds: float, volts: np.ndarray, torque: np.ndarray) -> None:
        count = max(1, int(np.ceil(seconds / self.plant.max_step - 1e-9)))
        for _ in range(count):
            self._step(seconds / count, np.asarray(volts, float), np.asarray(torque, float))

    def _step(self, h: float, volts: np.ndarray, torque: np.ndarray) -> None:
        plant = self.plant
        q, v, current, time = plant.q, plant.v, plant.current, plant.time
        plant.move(h, volts, torque)
        new, middle, floats = plant.v, q + 0.5 * h * v, np.isnan(volts)
        live = np.where(floats, 0.0, self.constant)
        ratio = np.divide(self.R * h, self.L, out=np.full(plant.n, np.inf), where=self.L > 0.0)
        decay, steady = np.exp(-ratio), np.where(floats, 0.0, volts) / self.R
        lag = (1.0 - decay) / ratio
        current = np.where(live != 0.0, current, 0.0)
        active = live * (lag * current + (1.0 - lag) * steady) + torque
        back = live**2 / self.R * (1.0 - lag)
        zero = np.zeros(plant.n)
        fall = rnea(self.model, middle, zero, zero)
        mass = np.array([rnea(self.model, middle, zero, unit) - fall for unit in np.eye(plant.n)]) + np.diag(self.rotor)
        beyond = np.minimum(middle - self.stops[:, 0], 0.0) + np.maximum(middle - self.stops[:, 1], 0.0)
        met = 2.0 * np.diag(mass) * STOP_RATE * (beyond != 0.0)
        springs = -self.stiffness * (middle - self.rest) - np.diag(mass) * STOP_RATE**2 * beyond
        # The amount by which the equation is not satisfied equals the torque of dry friction.
        dry = (mass @ (new - v) / h + self._bilinear(middle, v, new, fall) + fall - active - springs
               + 0.5 * (self.viscous + back + met) * (v + new))
        most = self._most(v)
        links = (mass - np.diag(self.rotor)) @ (new - v) / h + self._bilinear(middle, v, new, fall) + fall
        self.carried = links - springs + 0.5 * met * (v + new)
        scale = np.abs(mass) @ (np.abs(v) + np.abs(new) + 1e-3) / h + np.abs(active) + 1.0
        within = 1e-9 * scale
        rests = new == 0.0
        assert np.all(np.abs(dry) <= most + within)
        assert np.all(rests & (most > 0.0) | (np.abs(dry + most * np.sign(new)) <= within))
        mean = 0.5 * (v + new)
        np.testing.assert_allclose(plant.q, middle + 0.5 * h * new, rtol=0, atol=1e-14 * np.abs(middle).max() + 1e-15)
        end = np.where(live != 0.0, steady - live * mean / self.R, 0.0)
        np.testing.assert_allclose(plant.current, np.where(live != 0.0, end + (current - end) * decay, 0.0), rtol=1e-12,
                                   atol=1e-15)
        assert plant.time == pytest.approx(time + h, abs=1e-12)
        self.stuck += int(np.sum(rests))
        self.slid += int(np.sum(~rests))

    def _most(self, v: np.ndarray) -> np.ndarray:
        """Return the maximum torque that dry friction can hold, at velocities (n,)."""
        rows = [j.friction for j in self.plant.joints]
        more = [f.stribeck / (1.0 + (x / f.stribeck_velocity) ** 2) if f.stribeck else 0.0
                for f, x in zip(rows, v.tolist(), strict=True)]
        return self.coulomb + more + np.array([f.load for f in rows]) * np.abs(self.carried)

    def _bilinear(self, q: np.ndarray, v: np.ndarray, w: np.ndarray, fall: np.ndarray) -> np.ndarray:
        """Return the velocity forces C(v) w, symmetric in v and w, from the quadratic forces."""
        both, first, second = (rnea(self.model, q, x, 0.0 * q) - fall for x in (v + w, v, w))
        return 0.5 * (both - first - second)


@pytest.mark.parametrize("field", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_each_step_satisfies_its_equation(seed, field):
    """field: dry friction decreases with the velocity and increases with the load."""
    rng = np.random.default_rng(seed)
    checked = Checked(Plant(driven_tree(rng, int(rng.integers(1, 8)), field)))
    for _ in range(40):
        volts = np.where(rng.random(checked.plant.n) < 0.2, np.nan, rng.normal(size=checked.plant.n) * 10.0)
        checked.move(1.3e-3, volts, rng.normal(size=checked.plant.n) * 0.3)
    assert checked.slid and checked.carried.any()


def test_joints_stick_while_others_slide():
    mechanism = planar_chain(3)
    mechanism = replace(mechanism, joints=tuple(replace(j, friction=Friction(coulomb=0.08)) for j in mechanism.joints))
    checked = Checked(Plant(mechanism))
    for _ in range(400):
        checked.move(1e-3, np.full(3, np.nan), np.zeros(3))
    assert checked.stuck > 100 and checked.slid > 100


def test_hard_stops_push_back_with_their_stiffness():
    mechanism = planar_chain(4)
    stops = np.full((4, 2), (-np.inf, np.inf))
    stops[1], stops[2, 1] = (-0.002, 0.003), 0.001
    checked = Checked(plant := Plant(mechanism, stops=stops, pose=np.zeros(4)))
    checked.stops = stops
    met = set()
    for k in range(120):
        torque = np.array([0.0, 1.0, 1.0, 0.0]) * (-1.0) ** (k // 30)
        checked.move(1.3e-3, np.full(4, np.nan), torque - 0.05 * plant.v)
        met |= {(j, side) for j in (1, 2) for side in (0, 1) if (-1) ** side * (plant.q[j] - stops[j, side]) < 0.0}
    assert met == {(1, 0), (1, 1), (2, 1)}


def test_a_winding_that_changes_is_felt():
    mechanism = replace(planar_chain(2), joints=tuple(
        replace(j, motor=Motor(R=1.2, L=6e-4, K=0.05, gear=2.0, inertia=1e-4)) for j in planar_chain(2).joints))
    checked = Checked(plant := Plant(mechanism))
    checked.move(0.01, np.array([5.0, -5.0]), np.zeros(2))
    plant.motors.rewind(0, 0.3, 1e-5, 0.5)
    checked.R[0], checked.L[0], checked.constant[0] = 0.3, 1e-5, 0.5 * checked.constant[0]
    checked.move(0.01, np.array([5.0, -5.0]), np.zeros(2))
    before = plant.current
    plant.hold(0.01, np.array([1.0, np.nan]))
    decay = np.exp(-0.01 * 0.3 / 1e-5)
    np.testing.assert_allclose(plant.current, [1.0 / 0.3 + (before[0] - 1.0 / 0.3) * decay, 0.0], rtol=1e-12)
    checked.move(0.01, np.array([np.nan, 2.0]), np.zeros(2))


def test_a_hand_is_asked_before_every_step_and_sees_its_beginning():
    mechanism = driven_tree(np.random.default_rng(1), 4)
    ours, pushed = Plant(mechanism), Plant(mechanism)
    volts, asked = np.array([3.0, np.nan, -2.0, 0.0]), []

    def hand(plant: Plant) -> np.ndarray:
        asked.append(plant.time)
        return np.array([0.5, -0.3, 0.2, 0.1]) * np.cos(30.0 * plant.time) - 0.05 * plant.v - 0.2 * plant.q

    ours.hand = hand
    ours.drive(20e-3, volts)
    ours.hand = None
    ours.drive(5e-3, volts)
    assert asked == pytest.approx(np.arange(40) * 5e-4, abs=1e-12)
    for _ in range(40):
        pushed.move(5e-4, volts, hand(pushed))
    assert np.max(np.abs(pushed.q - ours.q)) > 1e-6  # without the hand the plant moves differently
    pushed.drive(5e-3, volts)
    np.testing.assert_allclose(ours.q, pushed.q, rtol=0, atol=1e-13)


def test_a_hand_that_fails_says_why():
    plant = Plant(planar_chain(2))
    plant.hand = lambda plant: [][0]  # type: ignore[return-value]
    with pytest.raises(IndexError):
        plant.drive(1e-3, np.full(2, np.nan))


def test_a_plant_that_cannot_go_on_says_so():
    plant = Plant(planar_chain(2))
    q = plant.q
    with pytest.raises(Refused, match="no solution 0 s after its start"):
        plant.push(1e-3, np.array([np.nan, 0.0]))
    np.testing.assert_array_equal(plant.q, q)


def test_more_joints_than_there_is_room_for_are_refused():
    with pytest.raises(Refused, match=f"{MOST + 1} joints: a plant has room for {MOST}"):
        Plant(planar_chain(MOST + 1))
