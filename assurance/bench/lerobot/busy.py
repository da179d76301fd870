"""Uses LeRobot's robot class until an error occurs: `python -m assurance.bench.lerobot.busy MECH URL`."""

import itertools
import math
import sys
import time

from lerobot_robot_femtorque import Femtorque, FemtorqueConfig

HZ, MINUTE = 30.0, 1800  # actions a second; actions in one connection


def main() -> None:
    mechanism, url = sys.argv[1:]
    config = FemtorqueConfig(mechanism=mechanism, port=url, use_velocity_and_torque=True)
    first = Femtorque(config)
    first.connect(calibrate=False)
    first._board.home()
    first.disconnect()
    for _ in itertools.count():
        robot = Femtorque(config)
        robot.connect()
        pose = robot.get_observation()
        for k in range(MINUTE):
            robot.send_action({key: pose[key] + 5.0 * math.sin(0.1 * k) * min(1.0, k / 100.0)
                               for key in robot.action_features})
            robot.get_observation()
            time.sleep(1.0 / HZ)
        robot.disconnect()


if __name__ == "__main__":
    main()
