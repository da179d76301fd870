"""Closed mechanisms on the virtual board under three control laws, each with its exact image: PD alone, PD with the
torques of Isobe's Eq. 16, and PD with these torques and the constraint forces of the opened loops."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from femtorque.codegen.common import BUILD, MECHANISMS, Array
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory, from_rows
from femtorque.hil.play import Result, run_closed_loop
from femtorque.hil.scenarios import ideal_board

EXAMPLES = ("four_bar", "five_bar", "five_bar_3", "five_bar_4", "three_rrr", "palletizer", "delta")
CHANGING = ("two_arm_grasp", "pick_and_place", "biped")  # in several modes
LAWS = ideal_board.FEEDFORWARDS
AT_REST = 1e-9  # rad/s and rad/s^2
WAITS = (0.0, 3.5e-3, 7.1e-3, 11.3e-3)  # times before a motion, s; each changes the arm's position in the dead band


@dataclass(frozen=True)
class Played:
    """One example under the three control laws, on the virtual board and with an ideal board (rms error per joint)."""

    name: str
    mechanism: Mechanism
    motion: Trajectory
    board: dict[str, Result]
    ideal: dict[str, Array]
    again: tuple[Result, ...] = ()  # "PD + lambda" on the virtual board, started after the other WAITS

    def rms(self, law: str) -> Array:
        """Return the tracking errors (J,) on the virtual board over all starts under a control law. If the error is
        about a tenth of a count, it differs by a few per cent between starts."""
        results = (self.board[law], *(self.again if law == "PD + lambda" else ()))
        return np.sqrt(np.mean([result.tracking_rms**2 for result in results], axis=0))


def example(name: str, brief: bool = False) -> tuple[Mechanism, Trajectory]:
    """Return an example and its motion. brief: stop at the first pose with velocity 0."""
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    motion = Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)
    return mechanism, first_leg(motion) if brief else motion


def first_leg(motion: Trajectory) -> Trajectory:
    """Return the part of a motion up to the first pose with velocity 0."""
    still = np.all(np.abs(np.hstack([motion.velocities, motion.accelerations])) < AT_REST, axis=1)
    moves = int(np.argmin(still))
    last = moves + int(np.argmax(still[moves:])) + 1
    return from_rows(motion.joints, motion.times[:last], motion.positions[:last], motion.velocities[:last],
                     motion.accelerations[:last])


def on_board(mechanism: Mechanism, motion: Trajectory, law: str, wait: float = 0.0) -> Result:
    """Return one run on the virtual board under one of LAWS. wait: time between arming and the motion, s."""
    allocation = "partition" if law == "PD + partition" else "closed"
    chosen = replace(mechanism, control=replace(mechanism.control, allocation=allocation))
    folder = BUILD / f"{mechanism.name}-{law.replace(' + ', '-').lower()}"
    return run_closed_loop(chosen, motion, feedforward=law != "PD", out=folder, wait=wait)


def play_closed_loops(names: Sequence[str] = EXAMPLES, brief: bool = False) -> list[Played]:
    """Return the examples under all laws. brief: only the first parts of their motions, started once."""
    played = []
    for name in names:
        mechanism, motion = example(name, brief)
        board = {law: on_board(mechanism, motion, law) for law in LAWS}
        played.append(Played(name, mechanism, motion, board,
                             {law: ideal_board.track(mechanism, motion, law) for law in LAWS},
                             () if brief else tuple(on_board(mechanism, motion, "PD + lambda", wait)
                                                    for wait in WAITS[1:])))
    return played
