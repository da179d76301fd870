"""Converts servo counts to LeRobot's units, by LeRobot's bus class and by a mechanism file with the same calibration.

`python -m assurance.bench.lerobot.counts MECH.toml CALIBRATION.json` prints the joint, the count, and both results."""

import json
import math
import sys
from pathlib import Path

from lerobot.motors import Motor, MotorCalibration, MotorNormMode
from lerobot.motors.feetech import FeetechMotorsBus
from lerobot_robot_femtorque.border import Border
from lerobot_robot_femtorque.calibration import bring

from femtorque import Mechanism


def main() -> None:
    mechanism, calibration = (Path(name) for name in sys.argv[1:])
    entries = json.loads(calibration.read_text(encoding="utf-8"))
    modes = {name: MotorNormMode.RANGE_0_100 if name == "gripper" else MotorNormMode.DEGREES for name in entries}
    bus = FeetechMotorsBus("none", {name: Motor(e["id"], "sts3215", modes[name]) for name, e in entries.items()},
                           {name: MotorCalibration(**e) for name, e in entries.items()})
    bring(mechanism, calibration)
    arm = Mechanism.load(mechanism)
    border = Border.of(arm, "gripper")
    for k, joint in enumerate(arm.streamed):
        for count in (entries[joint.name]["range_min"], 2200, entries[joint.name]["range_max"]):
            theirs = bus._normalize({joint.drive.id: count})[joint.drive.id]
            angle = joint.drive.sign * (count - joint.drive.servo.zero) * math.tau / 4096
            print(joint.name, count, theirs, border.scale[k] * angle + border.shift[k])


if __name__ == "__main__":
    main()
