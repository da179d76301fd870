"""A goal of ROS 2 on a PC as the board, in lock-step with the OpenArm's virtual drives."""

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.verify.known_arms import ARMS
from femtorque.host.ros.goals import SUCCEEDED
from tests.host.ros.test_arm import Ros
from tests.host.ros.test_motion import trajectory
from tests.support.pc import stepped


@pytest.mark.assure
def test_a_goal_is_followed_to_its_end():
    arm = load_mechanism(ARMS / "openarm.toml")
    with stepped(arm) as (board, session):
        ros = Ros(board, session, arm, "hand")
        for name in ("home", "arm"):
            (response,) = ros.ether.ask(f"/femtorque/{name}")
            assert response.success, response.message
        begin = np.array([joint.start for joint in arm.streamed])
        names = [joint.name for joint in arm.streamed]
        _, result = ros.send(trajectory([1.0, 2.0], [begin + 0.1, begin + 0.2], names=names))
        ros.run(2.4)
        (done,) = result
        assert (done.status, done.result.error_code, done.result.error_string) == (SUCCEEDED, 0, "")
        np.testing.assert_allclose(board.plant.q, begin + 0.2, atol=2e-3)
        ros.arm.close()
