"""Imports a calibration file of LeRobot's SO-100, SO-101 or Koch arms into a mechanism file:

    python -m lerobot_robot_femtorque.calibration my_arm.toml my_follower.json

LeRobot has these numbers for a joint. The servo stores homing_offset too. range_min and range_max are the servo's
counts, 4096 per turn, at the ends of the joint's motion. drive_mode is 1 if LeRobot's values have the opposite sign.
The middle of LeRobot's range is mapped to the middle of the mechanism file's range. The changed keys are limits.lower
and upper, and for a servo drive.zero, offset and sign.

A Dynamixel servo stores drive_mode, so its counts have the opposite sign. The board does not arm a servo with
drive_mode set."""

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from femtorque import BadInput, Mechanism, Refused
from femtorque.codegen.common import printable, read_text, replacing, write_text
from femtorque.codegen.mechanism import set_joint

TURN = 4096  # counts
WHOLE = (0, TURN - 1)  # LeRobot's range for a joint whose ends it does not look for
ENDLESS = 4.0  # smallest range of such a joint, rad: 4.4 of a Koch's pan joint, and 3.8 is the widest other one
OFFSET = 2047  # maximum offset in a mechanism file, counts
UNLIKE = math.radians(15.0)  # tolerance on the range: a wider range is refused, a narrower range only causes a note
KEYS = ("id", "drive_mode", "homing_offset", "range_min", "range_max")


@dataclass(frozen=True)
class Change:
    """Changed keys of one joint, by table of the file, and a line of text about the change."""

    joint: str
    tables: Mapping[str, Mapping[str, float | int]]
    line: str


def read(path: Path, mechanism: Mechanism) -> list[Change]:
    """Return a calibration file's changes by joint. Raises BadInput for another file, unknown joints, wrong numbers."""
    try:
        told = json.loads(read_text(path, suffix=".json"))
    except (ValueError, RecursionError) as error:
        raise BadInput(path, "file", None, f"cannot be read as JSON: {error}") from None
    joints = {joint.called: joint for joint in mechanism.streamed}
    if not isinstance(told, dict) or not told:
        raise BadInput(path, "file", None, "must be an object of LeRobot's joints")
    for name in told:
        if name not in joints:
            raise BadInput(path, name, None, f"is no joint of {mechanism.name}", ", ".join(joints))
    return [_change(path, joints[name], _entry(path, name, entry)) for name, entry in told.items()]


def _entry(path: Path, name: str, entry: Any) -> dict[str, int]:
    if not isinstance(entry, dict) or not all(type(entry.get(key)) is int for key in KEYS):
        raise BadInput(path, name, None, f"must have whole numbers {', '.join(KEYS)}")
    if not (0 <= entry["range_min"] < entry["range_max"] < TURN and entry["drive_mode"] in (0, 1)):
        raise BadInput(path, name, None, f"must be calibrated: 0 <= range_min < range_max < {TURN}, drive_mode 0 or 1")
    return {key: entry[key] for key in KEYS}


def _change(path: Path, joint: Any, entry: Mapping[str, int]) -> Change:
    servo = joint.drive is not None and joint.drive.servo is not None
    if servo and joint.drive.id != entry["id"]:
        raise BadInput(path, f"{joint.name}.id", entry["id"], f"is another servo's: the mechanism file has "
                       f"{joint.drive.id}")
    if servo and entry["drive_mode"] and joint.drive.type.family == "dynamixel":
        raise BadInput(path, f"{joint.name}.drive_mode", 1, "is stored in the servo: the board would not arm it",
                       "write 0 into its register 10, and calibrate again with LeRobot")
    if servo and abs(entry["homing_offset"]) > OFFSET:
        raise BadInput(path, f"{joint.name}.homing_offset", entry["homing_offset"],
                       f"must be within {-OFFSET} .. {OFFSET}")
    least, most = entry["range_min"], entry["range_max"]
    lower, upper = joint.limits.lower, joint.limits.upper
    bounded = math.isfinite(upper - lower)
    tables: dict[str, dict[str, float | int]] = {}
    line = ""
    middle = 0.0
    crossed = f"the counts crossed {TURN - 1}/0: calibrate again, the joint in its middle at the start"
    if (least, most) == WHOLE:
        if bounded and upper - lower < ENDLESS:
            raise BadInput(path, f"{joint.name}.range_max", most, f"makes a range of a whole turn, and the mechanism "
                           f"file's is {lower:.3f} to {upper:.3f} rad", crossed)
        line += "its range is the file's"
    else:
        middle = 0.5 * (lower + upper) if bounded else 0.0
        # the range is one count narrower at each end, since the servo also enforces the calibrated ends
        half = 0.5 * (most - least - 2) * math.tau / TURN
        tables["limits"] = {"lower": middle - half, "upper": middle + half}
        line += f"range {middle - half:.3f} to {middle + half:.3f} rad"
        wider = 2.0 * half - (upper - lower)
        if half <= 0.0:
            raise BadInput(path, f"{joint.name}.range_max", most, f"is too near to range_min = {least}",
                           "calibrate again")
        if bounded and wider > UNLIKE:
            raise BadInput(path, f"{joint.name}.range_max", most, f"makes a range {math.degrees(wider):.0f} deg wider "
                           f"than the mechanism file's, {lower:.3f} to {upper:.3f} rad", crossed)
        if bounded and wider < -UNLIKE:
            line += (f", {math.degrees(wider):+.0f} deg to the file's before: if not both ends were reached when it "
                     "was calibrated, its zero is wrong")
    if servo:
        sign = -1 if entry["drive_mode"] else 1
        zero = round(0.5 * (least + most) - sign * middle * TURN / math.tau)
        if not 0 <= zero < TURN:
            raise BadInput(path, f"{joint.name}.range_min", least, f"puts the joint's zero at {zero} counts: must be "
                           f"0 to {TURN - 1}", "calibrate again, the joint in its middle at the start")
        tables["drive"] = {"zero": zero, "offset": entry["homing_offset"], "sign": sign}
        line += f", zero at {zero} counts, offset {entry['homing_offset']}, sign {sign}"
    else:
        line += "; zero and sign are of LeRobot's motor, and this file has another one"
    return Change(joint.name, tables, f"{joint.name}: {line}")


def bring(mechanism: Path, calibration: Path) -> list[str]:
    """Write all changes into a file, with its comments, or none. Returns a line per joint. Raises BadInput, OSError."""
    changes = read(calibration, Mechanism.load(mechanism))
    with replacing(mechanism) as part:
        write_text(part, read_text(mechanism))
        try:
            for change in changes:
                set_joint(part, change.joint, change.tables)
            Mechanism.load(part)
        except BadInput as error:
            raise BadInput(mechanism, error.key, error.value, error.rule, error.hint) from None
    return [change.line for change in changes]


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: python -m lerobot_robot_femtorque.calibration MECH.toml CALIBRATION.json")
    try:
        print("\n".join(bring(Path(sys.argv[1]), Path(sys.argv[2]))))
    except (BadInput, Refused) as error:
        sys.exit(printable(f"lerobot_robot_femtorque: {error}"))
    except OSError as error:
        sys.exit(printable(f"lerobot_robot_femtorque: {error.filename}: {error.strerror}"))


if __name__ == "__main__":
    main()
