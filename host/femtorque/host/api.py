"""Functions for scripts and notebooks beside Mechanism, Trajectory and Board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.control import follow_limits
from femtorque.codegen.mechanism import alone, description, load_mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference import instant
from femtorque.codegen.verify import Choice, Torque, motor_torque, torque, write_new_file
from femtorque.codegen.wire import from_wire, to_wire
from femtorque.host.plan import effort, load_waypoints, planning as plan, task_space, waypoints_of
from femtorque.host.record import read_log
from femtorque.host.show import Findings, write_report


class Mechanism(description.Mechanism):
    """A validated mechanism: data of its file, and what a script does with it first.

    name; links and joints, each with its name, in tree order; streamed: the joints that a motion gives, in the order of
    every array's columns: all that move, or with loops, leaders or springs the driven ones; control, board, modes,
    loops, payloads: as the file's tables of these names (docs/mechanism-files.md).

    >>> arm = Mechanism.load("mechanisms/three_link.toml")
    >>> arm
    <Mechanism 'three-link': 3 links, 3 streamed joints, f405rg-4>
    >>> [joint.name for joint in arm.streamed]
    ['shoulder', 'elbow', 'wrist']
    >>> arm.joints[0].limits.velocity, arm.links[0].mass
    (8.0, 0.3575)
    """

    @staticmethod
    def load(path: str | Path) -> Mechanism:
        """Read and validate a mechanism file. Raises BadInput with one line on anything that is not right."""
        read = load_mechanism(path)
        return Mechanism(**{f.name: getattr(read, f.name) for f in fields(read)})

    @staticmethod
    def from_urdf(path: str | Path, board: str, *, motor: str | None = None,
                  drive: str | Mapping[str, str] | None = None, chain: str | None = None,
                  lock: Sequence[str] = ()) -> Mechanism:
        """A robot of a URDF with a board and a motor at every joint, as `femtorque init --from` writes it.

        board: its name (docs/boards.md). motor: one that is sold, by default one made up to fit each joint's limits.
        drive: instead, a drive or servo on a bus (docs/drives.md), for all joints or {joint: drive}. chain: A:B, joints
        between these two links alone move. lock: JOINT or JOINT=VALUE, joints that stand still. Raises BadInput as
        `femtorque init` does.

        >>> Mechanism.from_urdf("so101.urdf", "f405rg-6").joints[0]  # doctest: +SKIP
        <Joint 'shoulder_pan': revolute, base > shoulder_link>
        """
        file = Path(path).absolute()
        drives = (drive,) if isinstance(drive, str) else tuple(f"{j}={name}" for j, name in (drive or {}).items())
        with TemporaryDirectory(prefix="femtorque-") as folder:
            written = write_new_file(str(alone(file)["name"]), Path(folder) / f"{file.stem}.toml", file,
                                     Choice(board, motor, drives, chain, tuple(lock)))
            read = load_mechanism(written)
        kept = {f.name: getattr(read, f.name) for f in fields(read)} | {"source": Path(path), "urdf": file}
        return Mechanism(**kept)

    def torque(self, trajectory: Trajectory | str | Path, total: bool = False) -> Torque:
        """Feed-forward torques of every control tick of a motion, by the float64 reference
        (femtorque.codegen.verify.motion_torques).

        total adds what the motors themselves need (Eq. 19). Raises BadInput if the motion cannot be used.

        >>> arm = Mechanism.load("mechanisms/three_link.toml")
        >>> arm.torque("mechanisms/three_link.csv").tau.shape
        (3000, 3)
        """
        if not isinstance(trajectory, Trajectory):
            trajectory = Trajectory.load(trajectory, self)
        return torque(self, trajectory, total=total)

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, mode: str | None = None,
                         total: bool = False) -> NDArray[np.float64]:
        """Joint torques (..., J), N m or N, at any states: positions q, velocities v, accelerations a, each (..., J) in
        rad or m, per s, per s^2, or of shapes that broadcast to it. By the float64 reference; `femtorque generate`
        emits the same as ft_rnea. Springs and the friction of passive joints are in them.

        J: the joints that are streamed, in their order; closed loops move the others. mode: by default the first.
        total adds what the motors themselves need (Eq. 19). Raises BadInput for shapes that do not fit, Refused for
        flexible links and for states that closed loops cannot be followed to from the start pose.

        >>> arm = Mechanism.load("mechanisms/three_link.toml")
        >>> arm.inverse_dynamics([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], np.zeros((5, 3))).shape
        (5, 3)
        """
        tau = instant.inverse_dynamics(self, q, v, a, mode)
        velocities, changes = (np.broadcast_to(np.asarray(x, float), tau.shape) for x in (v, a))
        return tau + motor_torque(self, velocities, changes, tau) if total else tau

    def gravity_torque(self, q: ArrayLike, mode: str | None = None) -> NDArray[np.float64]:
        """Gravity's torque: joint torques (..., J), N m or N, that hold the weight at rest at positions q (..., J).

        q in rad or m. The torques of springs in joints are in it. As inverse_dynamics without velocities and
        accelerations; ft_gravity in C. Raises as it does.
        """
        still = np.zeros(np.shape(q)[-1:])
        return instant.inverse_dynamics(self, q, still, still, mode)

    def mass_matrix(self, q: ArrayLike, mode: str | None = None, rotors: bool = True) -> NDArray[np.float64]:
        """Mass matrix (..., J, J) at positions q (..., J) in rad or m; kg m^2, kg m, kg. rotors: with those of the
        motors, as they are seen at the joints.

        With closed loops that of the driven joints and all that they move. Raises as inverse_dynamics, and Refused
        where more joints are driven than can move by themselves.

        >>> arm = Mechanism.load("mechanisms/three_link.toml")
        >>> arm.mass_matrix([0.0, 0.5, 0.5]).shape
        (3, 3)
        """
        return instant.mass_matrix(self, q, mode, rotors)

    def forward_kinematics(self, q: ArrayLike, link: str, xyz: ArrayLike = (0.0, 0.0, 0.0),
                           mode: str | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Place of a point xyz (3,) of a link, m in its frame, at positions q (..., J): (..., 3) m in the base frame,
        and the orientation of the link, (..., 3, 3).

        Raises BadInput for a link that is not there or does not move, else as inverse_dynamics.

        >>> arm = Mechanism.load("mechanisms/three_link.toml")
        >>> arm.forward_kinematics([0.0, 0.0, 0.0], "hand", [0.2, 0.0, 0.0])[0].tolist()
        [0.6000000000000001, 0.0, 0.0]
        """
        return task_space.forward_kinematics(self, q, link, xyz, mode)

    def jacobian(self, q: ArrayLike, link: str, xyz: ArrayLike = (0.0, 0.0, 0.0),
                 mode: str | None = None) -> NDArray[np.float64]:
        """(..., 6, J): velocity of a point of a link and angular velocity of the link, base frame, per velocity of each
        joint, at positions q (..., J). Columns of redundantly driven joints, which follow the others, are zero.

        Raises as forward_kinematics.
        """
        return task_space.jacobian(self, q, link, xyz, mode)

    def follow_limits(self) -> NDArray[np.float64]:
        """Velocity, acceleration and jerk (J, 3) that no joint exceeds while it follows targets that are sent live; rad
        or m, and s.

        The acceleration is the largest that every pose allows within the efforts. Raises Refused for mechanisms that
        cannot follow: with flexible links, or more joints driven than can move by themselves.
        """
        return np.array([[x.velocity, x.acceleration, x.jerk] for x in follow_limits(self)])

    def to_turns(self, q: ArrayLike) -> NDArray[np.int64]:
        """Positions (..., J) in rad or m as the whole numbers of the wire: 2^-32 turn or 2^-28 m, rounded to nearest.

        ft_step takes their low half, `arm.to_turns(q).astype(np.int32)`: the place within a turn.
        """
        return to_wire(q, self.streamed)

    def from_turns(self, whole: ArrayLike) -> NDArray[np.float64]:
        """Whole positions (..., J), as `to_turns` gives them or their low half, in rad or m."""
        return from_wire(whole, self.streamed)


def plan_motion(mechanism: description.Mechanism, points: str | Path | Sequence[Mapping[str, Any]], *,
                tip: str | None = None,
                begin: ArrayLike | None = None,
                back: bool = False, speed: float = 1.0, reserve: float = effort.RESERVE) -> plan.Plan:
    """A jerk-limited motion within all limits through waypoints: of a TOML or CSV file, or as data, a mapping each with
    the keys of a [[waypoint]] (docs/motions.md).

    tip: LINK or LINK:x,y,z. begin: joint positions (J,), by default the start pose. back: return there at the end.
    Raises BadInput for waypoints that cannot be right, Refused for those that cannot be reached or held.

    >>> arm = Mechanism.load("mechanisms/three_link.toml")
    >>> there = [{"joints": {"shoulder": 0.5, "wrist": -0.4}}, {"xyz": [0.3, 0.2, 0.0], "line": True}]
    >>> plan_motion(arm, there, tip="hand:0.2,0,0", back=True).trajectory.ends_at_rest
    True
    """
    read = (load_waypoints(Path(points), mechanism, tip) if isinstance(points, str | Path)
            else waypoints_of(points, mechanism, tip))
    return plan.plan(mechanism, read, begin=begin, back=back, speed=speed,
                     reserve=reserve)


def report(run: str | Path, page: str | Path | None = None, *, force: bool = False) -> list[str]:
    """Return the worst values of a logged run in words; with `page` (.html) also write the report with its figures.

    Raises BadInput for a page that is there already: force replaces such a report, and nothing else.
    """
    what = read_log(Path(run))
    if page is not None:
        write_report(what, Path(page), force)
    return Findings(what).sentences
