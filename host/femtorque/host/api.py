"""The functions of the Python API, and its Mechanism."""

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
from femtorque.codegen.step import Derivatives, derivatives_at, linear_at
from femtorque.codegen.verify import Choice, Torque, motor_torque, torque, write_new_file
from femtorque.codegen.wire import from_wire, to_wire
from femtorque.host.plan import effort, load_waypoints, planning as plan, task_space, waypoints_of
from femtorque.host.record import read_log
from femtorque.host.show import Findings, write_report


class Mechanism(description.Mechanism):
    """A validated mechanism: the data of its file, and a script's first steps with it.

    links, joints: links and joints in tree order, each with its name. streamed: the joints of a motion, in the order of
    every array's columns. A motion has all moving joints. If the mechanism has loops, coupled joints or springs, a
    motion has only the driven joints. name, control, board, modes, loops, payloads: contents of the file
    (docs/mechanism-files.md).

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
        """Read and validate a mechanism file. Raises BadInput with one line on any fault in the file."""
        read = load_mechanism(path)
        return Mechanism(**{f.name: getattr(read, f.name) for f in fields(read)})

    @staticmethod
    def from_urdf(path: str | Path, board: str, *, motor: str | None = None,
                  drive: str | Mapping[str, str] | None = None, chain: str | None = None,
                  lock: Sequence[str] = ()) -> Mechanism:
        """Return a URDF's mechanism with a board and a motor at every joint, like `femtorque init --from`.

        board: its name (docs/boards.md). motor: a motor of the catalogue. By default each joint gets a synthetic motor
        that fits the joint's limits. drive: type of a drive or servo on a bus (docs/drives.md), in place of a motor;
        for all joints or as {joint: drive}. chain: A:B; only the joints between links A and B move. lock: JOINT or
        JOINT=VALUE, for joints that are fixed. Raises the same BadInput as `femtorque init`.

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
        """Return the feed-forward torques of every control tick of a motion, by the float64 reference.

        total: add the torques of the motors' own rotors and friction (Eq. 19). Raises BadInput if the motion cannot be
        used.

        >>> arm = Mechanism.load("mechanisms/three_link.toml")
        >>> arm.torque("mechanisms/three_link.csv").tau.shape
        (3000, 3)
        """
        if not isinstance(trajectory, Trajectory):
            trajectory = Trajectory.load(trajectory, self)
        return torque(self, trajectory, total=total)

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, mode: str | None = None,
                         total: bool = False) -> NDArray[np.float64]:
        """Return joint torques (..., J), N m or N, by the float64 reference. `femtorque generate` emits this function
        in C as ft_rnea. The torques include springs and the friction of passive joints.

        q, v, a: positions, velocities and accelerations of the J streamed joints, in rad or m and s. Each array is
        (..., J) or broadcasts to (..., J). mode: by default the first. total: add the torques of the motors' own rotors
        and friction (Eq. 19). Raises BadInput for shapes that do not fit. Raises Refused for flexible links, and if
        closed loops cannot be followed from the start pose to q.

        >>> arm = Mechanism.load("mechanisms/three_link.toml")
        >>> arm.inverse_dynamics([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], np.zeros((5, 3))).shape
        (5, 3)
        """
        tau = instant.inverse_dynamics(self, q, v, a, mode)
        velocities, changes = (np.broadcast_to(np.asarray(x, float), tau.shape) for x in (v, a))
        return tau + motor_torque(self, velocities, changes, tau) if total else tau

    def gravity_torque(self, q: ArrayLike, mode: str | None = None) -> NDArray[np.float64]:
        """Return the joint torques (..., J), N m or N, that hold the arm at rest at positions q (..., J), rad or m. The
        torques include springs in joints. The C function is ft_gravity. Raises the same errors as
        `inverse_dynamics`."""
        still = np.zeros(np.shape(q)[-1:])
        return instant.inverse_dynamics(self, q, still, still, mode)

    def mass_matrix(self, q: ArrayLike, mode: str | None = None, rotors: bool = True) -> NDArray[np.float64]:
        """Return the mass matrix (..., J, J), kg m^2, kg m or kg, at positions q (..., J), rad or m. rotors: include
        the motors' rotors, reflected to the joints.

        With closed loops, rows and columns are the driven joints, and the matrix includes all moving bodies. Raises the
        same errors as inverse_dynamics, and Refused if more joints are driven than the mechanism has degrees of
        freedom.

        >>> arm = Mechanism.load("mechanisms/three_link.toml")
        >>> arm.mass_matrix([0.0, 0.5, 0.5]).shape
        (3, 3)
        """
        return instant.mass_matrix(self, q, mode, rotors)

    def derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, mode: str | None = None,
                    total: bool = False) -> Derivatives:
        """Return torques tau (..., J) and derivatives dq, dv, M (..., J, J) by positions, velocities and accelerations.
        A row belongs to a torque. `generate --derivatives` emits this function as ft_rnea_derivatives.

        Arguments as of inverse_dynamics. total: include the motors' rotors and friction (Eq. 19). The jump of friction
        at rest has no derivative and is left out. Raises as inverse_dynamics does, and Refused for closed loops.

        >>> arm = Mechanism.load("mechanisms/three_link.toml")
        >>> tau, dq, dv, M = arm.derivatives([0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
        >>> dq.shape, bool(np.allclose(M, arm.mass_matrix([0.0, 0.5, 0.5], rotors=False)))
        ((3, 3), True)
        """
        return derivatives_at(self, q, v, a, mode, total)

    def linear(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, mode: str | None = None,
               total: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return A (..., 2 J, 2 J) and B (..., 2 J, J) of the linear system d/dt (q, v) = A (q, v) + B tau, for small
        deviations from a state q, v under torques tau (..., J), N m or N. Arguments and errors as of `derivatives`.

        >>> arm = Mechanism.load("mechanisms/three_link.toml")
        >>> A, B = arm.linear([0.0, 0.5, 0.5], [0.0, 0.0, 0.0], arm.gravity_torque([0.0, 0.5, 0.5]))
        >>> A.shape, B.shape
        ((6, 6), (6, 3))
        """
        return linear_at(self, q, v, tau, mode, total)

    def forward_kinematics(self, q: ArrayLike, link: str, xyz: ArrayLike = (0.0, 0.0, 0.0),
                           mode: str | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the position (..., 3), m, of a point of a link and the link's orientation (..., 3, 3), in the base
        frame, at joint positions q (..., J). xyz: the point (3,), m, in the link's frame.

        Raises BadInput for an unknown or fixed link. Raises the same BadInput and Refused as inverse_dynamics.

        >>> arm = Mechanism.load("mechanisms/three_link.toml")
        >>> arm.forward_kinematics([0.0, 0.0, 0.0], "hand", [0.2, 0.0, 0.0])[0].tolist()
        [0.6000000000000001, 0.0, 0.0]
        """
        return task_space.forward_kinematics(self, q, link, xyz, mode)

    def jacobian(self, q: ArrayLike, link: str, xyz: ArrayLike = (0.0, 0.0, 0.0),
                 mode: str | None = None) -> NDArray[np.float64]:
        """Return the Jacobian (..., 6, J) of a point of a link, in the base frame. Rows: the point's velocity and the
        link's angular velocity, per joint velocity. A joint in a redundant drive follows other joints, so its column is
        zero. Raises the same errors as forward_kinematics."""
        return task_space.jacobian(self, q, link, xyz, mode)

    def follow_limits(self) -> NDArray[np.float64]:
        """Return the velocity, acceleration and jerk (J, 3), in rad or m and s, that no joint exceeds in FOLLOW.

        The acceleration limit is the maximum that the effort limits allow in all poses. Raises Refused for flexible
        links, and if more joints are driven than the mechanism has degrees of freedom."""
        return np.array([[x.velocity, x.acceleration, x.jerk] for x in follow_limits(self)])

    def to_turns(self, q: ArrayLike) -> NDArray[np.int64]:
        """Return positions (..., J), rad or m, as the integers that messages contain: 2^-32 turn or 2^-28 m, rounded to
        nearest. ft_step takes the low 32 bits, the position within a turn: `arm.to_turns(q).astype(np.int32)`."""
        return to_wire(q, self.streamed)

    def from_turns(self, whole: ArrayLike) -> NDArray[np.float64]:
        """Return positions (..., J), rad or m, from the integers of `to_turns` or from their low 32 bits."""
        return from_wire(whole, self.streamed)


def plan_motion(mechanism: description.Mechanism, points: str | Path | Sequence[Mapping[str, Any]], *,
                tip: str | None = None,
                begin: ArrayLike | None = None,
                back: bool = False, speed: float = 1.0, reserve: float = effort.RESERVE) -> plan.Plan:
    """Return a jerk-limited motion through waypoints, within all limits. points: a TOML or CSV file, or mappings with
    the keys of a [[waypoint]] (docs/motions.md).

    tip: LINK or LINK:x,y,z. begin: joint positions (J,), by default the start pose. back: return to `begin` at the end.
    Raises BadInput for wrong waypoints, and Refused for waypoints that the arm cannot reach or hold.

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
    """Return the largest errors and torques of a logged run in words. page: an .html file for the report with its
    figures. force: replace an existing report. Raises BadInput if `page` exists and is no report, or exists without
    `force`."""
    what = read_log(Path(run))
    if page is not None:
        write_report(what, Path(page), force)
    return Findings(what).sentences
