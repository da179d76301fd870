"""An arm whose drives have gears holds its weight."""


import numpy as np
import pytest

from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.toolchain import platformio
from femtorque.hil.board import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play.connect import session_with
from tests.support import rig
from tests.support.boards import IMAGES
from tests.support.geared import ARM, GEAR, read


def test_behind_gears_each_drive_gives_its_share_of_the_holding_torque():
    """The arm is stretched out. A drive's angle is the gear ratio times the joint's, its torque the joint's over the
    ratio. The servo reports a current, proportional to its torque."""
    m = read(ARM, "geared_arm")
    plant = Plant(m)
    with VirtualBoard(platformio.build_image(m, IMAGES / m.name).elf, m, plant) as board:
        board.brakes = True
        session = session_with(board)
        session.connect()
        rig.pump(board, session, 60)
        rig.arm(board, session)
        board.brakes = False
        board.run(1.0)
        buses, weight = board.wiring.buses, _weight(m)
        assert np.abs(plant.q).max() < 5e-3 and np.abs(plant.v).max() < 1e-2
        for j, drive in buses.drives.items():
            joint = m.streamed[j]
            turns = joint.drive.sign * GEAR
            assert drive.motor.torque == pytest.approx(weight[j] / turns, abs=0.05 * abs(weight[j] / turns))
            assert drive.motor.position == pytest.approx(turns * plant.q[j], abs=2e-4)
        motor = m.streamed[2].motor
        assert motor.gear == pytest.approx(345.0 * GEAR)
        given = abs(plant.current[2]) * motor.K * motor.gear
        assert given == pytest.approx(weight[2], abs=1.1 * m.streamed[2].friction.coulomb)  # minus dry friction


def _weight(m: Mechanism) -> np.ndarray:
    """Return the torques, N m, that hold the arm stretched out, by hand for rods with mass in the middle."""
    rods, at = [0.25, 0.22, 0.1], [0.0, 0.25, 0.47]
    masses = [1.4, 0.9, 0.4]
    return np.array([sum(9.81 * mass * (begin + 0.5 * rod - at[j]) for mass, begin, rod in
                         list(zip(masses, at, rods, strict=True))[j:]) for j in range(3)])
