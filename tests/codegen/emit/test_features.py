"""Tests of features that a mechanism file adds to a URDF, in the reference, in C with double precision and in C with
single precision.

The reference for comparison is Pinocchio's model of the same URDF text. Pinocchio's functions modify this model: a
payload is an inertia appended to a joint, and `buildReducedModel` locks a joint. The test itself adds the torque of
springs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference import schemes
from femtorque.codegen.step import noise_floor
from femtorque.codegen.toolchain import CompiledStep
from tests.support.oracle import peak, septic
from tests.support.sampling import middles

Array = np.ndarray
Spring = tuple[float, float]  # stiffness, N m/rad or N/m; position at rest, rad or m


def link(name: str, mass: float, com: str, inertia: tuple[float, ...], rpy: str = "0 0 0") -> str:
    keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    moments = " ".join(f'{key}="{value}"' for key, value in zip(keys, inertia, strict=True))
    return (f'<link name="{name}"><inertial><origin xyz="{com}" rpy="{rpy}"/><mass value="{mass}"/>'
            f"<inertia {moments}/></inertial></link>\n")


def joint(name: str, kind: str, parent: str, child: str, xyz: str, rpy: str, axis: str) -> str:
    return (f'<joint name="{name}" type="{kind}"><origin xyz="{xyz}" rpy="{rpy}"/><parent link="{parent}"/>'
            f'<child link="{child}"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" velocity="20" effort="500"/></joint>\n')


# a trunk that carries an arm with a prismatic forearm and a hand, and a neck with a head
TORSO = '<robot name="torso">\n<link name="ground"/>\n' + "".join((
    link("trunk", 4.0, "0.02 -0.03 0.2", (0.05, 0.06, 0.03, 0.002, -0.003, 0.001)),
    link("upper", 1.5, "0.12 0.01 -0.02", (0.003, 0.014, 0.015, 0.0004, -0.0002, 0.0001), "0.3 -0.2 0.5"),
    link("fore", 0.8, "0.1 0.0 0.015", (0.001, 0.006, 0.006, 0.0, 0.0002, 0.0)),
    link("hand", 0.4, "0.03 0.01 0.0", (0.0004, 0.0005, 0.0003, 0.0, 0.0, 0.0)),
    link("neck", 0.5, "0.0 0.01 0.05", (0.001, 0.001, 0.0005, 0.0, 0.0, 0.0)),
    link("head", 1.1, "0.02 0.0 0.08", (0.004, 0.005, 0.003, 0.0001, 0.0, 0.0002)),
    joint("waist", "revolute", "ground", "trunk", "0 0 0.1", "0.2 0.1 0", "0 0 1"),
    joint("shoulder", "revolute", "trunk", "upper", "0.05 -0.2 0.4", "1.2 0 0.4", "0 1 0"),
    joint("slide", "prismatic", "upper", "fore", "0.3 0 0", "0.1 0 -0.2", "0.8 0 0.6"),
    joint("wrist", "revolute", "fore", "hand", "0.2 0 0.02", "0 0.5 0", "0.6 0 0.8"),
    joint("nod", "revolute", "trunk", "neck", "0 0 0.5", "0 0 0.3", "0 1 0"),
    joint("turn", "revolute", "neck", "head", "0 0 0.1", "0.4 0 0", "0 0 1"),
)) + "</robot>\n"

def unchanged(model: pin.Model) -> pin.Model:
    return model


def with_box(model: pin.Model) -> pin.Model:
    """Return the model with a box of 0.9 kg in the hand."""
    hand = model.frames[model.getFrameId("hand")]
    inertia = pin.Inertia(0.9, np.array([0.06, -0.02, 0.03]), np.diag([0.002, 0.003, 0.0025]))
    model.appendBodyToJoint(hand.parentJoint, inertia, hand.placement)
    return model


BOX = """
[[payload]]
name = "box"
link = "hand"
mass = 0.9
com = [0.06, -0.02, 0.03]
inertia = [0.002, 0.003, 0.0025, 0.0, 0.0, 0.0]
"""


def without_shoulder_and_slide(model: pin.Model) -> pin.Model:
    locked, q = [model.getJointId("shoulder"), model.getJointId("slide")], pin.neutral(model)
    q[model.joints[locked[0]].idx_q], q[model.joints[locked[1]].idx_q] = 0.7, -0.15
    return pin.buildReducedModel(model, locked, q)


LOCK = "lock = { shoulder = 0.7, slide = -0.15 }\n"

SPRUNG = """
[[joint]]
name = "shoulder"
stiffness = 40.0
rest = 0.3
[[joint]]
name = "slide"
stiffness = 900.0
rest = -0.05
"""


@dataclass(frozen=True)
class Feature:
    """A feature."""

    extra: str = ""  # more lines of the mechanism file
    oracle: Callable[[pin.Model], pin.Model] = unchanged  # makes the same change in Pinocchio's model
    springs: dict[str, Spring] | None = None


FEATURES = {
    "branch": Feature(),
    "payload": Feature(extra=BOX, oracle=with_box),
    "lock": Feature(extra=LOCK, oracle=without_shoulder_and_slide),
    "spring": Feature(extra=SPRUNG, springs={"shoulder": (40.0, 0.3), "slide": (900.0, -0.05)}),
    "payload, lock and spring": Feature(
        extra=LOCK + BOX + '[[joint]]\nname = "wrist"\nstiffness = 7.0\nrest = -0.4\n',
        oracle=lambda model: without_shoulder_and_slide(with_box(model)), springs={"wrist": (7.0, -0.4)}),
}


def load(folder: Path, feature: Feature) -> Model:
    (folder / "robot.urdf").write_text(TORSO)
    (folder / "robot.toml").write_text(f'name = "robot"\nurdf = "robot.urdf"\n{feature.extra}')
    return Model.of(load_mechanism(folder / "robot.toml"))


def expected(feature: Feature, names: list[str], q: Array, qd: Array, qdd: Array) -> Array:
    """Return torques (N, n) of the named joints, in the order of the names."""
    model = feature.oracle(pin.buildModelFromXML(TORSO))
    assert sorted(model.names[1:]) == sorted(names)
    data, index = model.createData(), [model.joints[model.getJointId(name)].idx_v for name in names]
    tau = np.empty(q.shape)
    for k, rows in enumerate(zip(q, qd, qdd, strict=True)):
        theirs = np.empty((3, len(names)))
        theirs[:, index] = rows
        tau[k] = pin.rnea(model, data, *theirs)[index]
    for name, (stiffness, rest) in (feature.springs or {}).items():
        j = names.index(name)
        tau[:, j] += stiffness * (q[:, j] - rest)
    return tau


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_gives_the_torque_that_its_oracle_does(tmp_path, name):
    """At 1 kHz, the error over the peak torque is at most 1e-5 for the reference and for C in double precision. For C
    in single precision it is at most 1e-4 or the noise floor."""
    feature = FEATURES[name]
    model = load(tmp_path, feature)
    joints = [body.joint for body in model.bodies]
    travel = np.where([j.type == "prismatic" for j in joints], 0.15, 1.2) * np.where(np.arange(model.n) % 2, -1.0, 1.0)
    start = np.linspace(-0.3, 0.4, model.n)
    motion, s = septic(start, start + travel), middles(model, 1.0)
    state = motion.at(s[1:-1])
    truth = expected(feature, [j.name for j in joints], *state)

    t, tau = schemes.torque(model, motion, len(truth))
    np.testing.assert_allclose(t, s[1:-1], rtol=0.0, atol=1e-12)
    assert peak(tau - truth) <= 1e-5 * peak(truth)
    positions = motion(s)
    assert peak(CompiledStep(model, "double").torque(positions) - truth) <= 1e-5 * peak(truth)
    error = np.abs(CompiledStep(model, "single").torque(positions) - truth).max(axis=0)
    assert error.max() <= 1e-4 * peak(truth) or np.all(error <= noise_floor(model, positions) + 1e-5 * peak(truth))
    # without this difference the feature would have no effect on Pinocchio's torque
    if feature.extra and "lock" not in name:
        plain = expected(Feature(), [j.name for j in joints], *state)
        assert peak(truth - plain) >= 1e-2 * peak(truth)
