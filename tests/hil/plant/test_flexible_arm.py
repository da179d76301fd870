"""A flexible two-link arm: the host plans, the image plays, and the plant has finer elements."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.motion import Trajectory, from_rows
from femtorque.codegen.toolchain import CompiledStep
from femtorque.hil.plant.articulated.plant import Plant as ArticulatedPlant
from femtorque.hil.plant.flexible import FlexibleArmPlant
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.plant.selection import Wired, is_arm, plant_of, refined
from femtorque.hil.play import Result, run_closed_loop
from femtorque.host.plan import flexible_arm, tip_motion
from tests.support import oracle
from tests.support.flexible_chain import flexible_joints

ARM = load_mechanism(MECHANISMS / "flexible_arm.toml")
PATH = oracle.quintic([-0.6, 1.2], [0.0, 0.6], 0.35)
LEAD = 0.1  # time before and after the path, s
REST = 0.3  # s
KNOT = 1.0 / ARM.control.knot_hz


def rigidly(mechanism: Mechanism) -> Mechanism:
    return replace(mechanism, links=tuple(replace(link, beam=None) for link in mechanism.links))


def streamed(t, q, qd, qdd) -> Trajectory:
    """Return rows at the knots. At both ends the motion is at rest, and the last row adds a rest of REST."""
    qd, qdd = qd.copy(), qdd.copy()
    qd[[0, -1]] = qdd[[0, -1]] = 0.0
    stay = np.arange(1, round(REST / KNOT) + 1)
    rows = [np.concatenate([x, np.broadcast_to(end, (len(stay), 2))]) for x, end in ((q, q[-1]), (qd, 0.0), (qdd, 0.0))]
    return from_rows([joint.name for joint in ARM.moving], np.concatenate([t, t[-1] + stay * KNOT]), *rows)


class Witnessed(FlexibleArmPlant):
    """A plant that records the positions of its tip."""

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism, 4)
        self.path: list[np.ndarray] = []
        self.watch(lambda: self.path.append(np.array([self.time, *self.tip()[:2]])))


class Points(ArticulatedPlant):
    """A plant with large rotations and tension, without the inverse model's equations. Records its tip."""

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(refined(mechanism, 2))
        self.path: list[np.ndarray] = []
        self.watch(self._remember)

    def _remember(self) -> None:
        tip = self.loads.beams.elements[-1].b
        place = self.system.solids[tip.solid].at(tip.origin) @ self.cycle.equations.x.reshape(-1, 4, 3)[tip.solid]
        self.path.append(np.array([self.time, *place[:2]]))


def played(mechanism: Mechanism, trajectory: Trajectory, out: Path, plant: Witnessed | Points) -> tuple[Result, float]:
    """Return the run, and the tip's residual vibration: peak to peak, from LEAD after the path on, m."""
    result = run_closed_loop(mechanism, trajectory, plant=plant, out=out)
    t, x, y = np.array(plant.path).T
    after = (t > t[-1] - REST) & (t < t[-1] - 0.02)  # when the motion has ended, the host disarms immediately
    return result, float(np.hypot(np.ptp(x[after]), np.ptp(y[after])))


@pytest.mark.parametrize(("plant", "share"), [(Witnessed, 20.0), (Points, 10.0)], ids=["third order", "points"])
def test_flexible_feed_forward_leaves_little_of_the_vibration_of_rigid_feed_forward(plant, share, tmp_path):
    flexible = tip_motion(flexible_arm(ARM), PATH, PATH.duration, KNOT / 4, lead=(LEAD, LEAD))
    knots = slice(None, None, 4)
    way = streamed(*(x[knots] for x in (flexible.times, flexible.q, flexible.qd, flexible.qdd)))
    bent, left = played(ARM, way, tmp_path / "flexible", plant(ARM))
    t = flexible.times[knots]
    stiff, shaken = played(rigidly(ARM), streamed(t, *PATH.at(t - LEAD)), tmp_path / "rigid", plant(ARM))
    print(f"left swinging: {1e3 * left:.3f} mm with flexible, {1e3 * shaken:.3f} mm with rigid feed-forward; "
          f"{bent.instructions_step} instructions per step, {bent.instructions_tick} per tick; "
          f"tracking {bent.tracking_max} and {stiff.tracking_max} rad")
    assert bent.ended == stiff.ended == "done"
    assert bent.bit_identical
    assert not bent.faults
    assert shaken > 1e-3
    assert left < shaken / share


def test_which_plant_a_mechanism_gets():
    assert is_arm(ARM)
    assert not is_arm(rigidly(ARM))
    tilted = replace(ARM, joints=(ARM.joints[0], replace(ARM.joints[1], axis=np.array([0.0, 1.0, 0.0]))))
    assert not is_arm(tilted)
    assert isinstance(plant_of(tilted), ArticulatedPlant)


def test_feed_forward_alone_moves_a_flexible_joint_arm():
    """The emitted step drives ideal motors without feedback. The rigid plant with its springs follows the motion."""
    mechanism = flexible_joints(axis=(0.3, 0.5, 0.8), gravity=(0.0, 0.0, 0.0))
    motion, ticks = oracle.septic([0.1, -0.2], [0.7, 0.3], 0.4), 400
    positions = motion.position((np.arange(ticks + 2) - 0.5) * 1e-3)
    placed = replace(mechanism, joints=tuple(
        replace(j, start=at) for j, at in zip(mechanism.joints, (0.1, 0.0, -0.2, 0.2), strict=True)))

    def astray(torque: np.ndarray) -> float:
        """Return the maximum deviation from the motion, rad."""
        plant, found = Wired(Plant(placed)), []
        for tau in torque:
            plant.push(1e-3, tau)
            found.append(plant.q)
        return float(np.abs(found - motion.position(np.arange(1, ticks + 1) * 1e-3)).max())

    rigid = replace(mechanism, lock={"shoulder spring": 0.0, "elbow spring": 0.2})
    assert astray(CompiledStep(Model.of(mechanism)).torque(positions)) < 2e-4
    assert astray(CompiledStep(Model.of(rigid)).torque(positions)) > 2e-2
