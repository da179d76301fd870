"""A gripper whose motor moves three fingers: the second finger turns with the first, and the thumb slides as the second
finger turns."""

from pathlib import Path

from femtorque.codegen.mechanism import Mechanism, load_mechanism

GRIPPER = """\
name = "gripper"
board = { use = "f405rg-4", bus_voltage = 24.0 }

[[link]]
name = "arm"
mass = 0.8
com = [0.15, 0.0, 0.0]
inertia = [2e-4, 6e-3, 6e-3, 0.0, 0.0, 0.0]

[[link]]
name = "left"
mass = 0.1
com = [0.02, 0.01, 0.0]
inertia = [2e-5, 3e-5, 4e-5, 0.0, 0.0, 0.0]

[[link]]
name = "right"
mass = 0.12
com = [0.02, -0.01, 0.0]
inertia = [2e-5, 3e-5, 4e-5, 0.0, 0.0, 0.0]

[[link]]
name = "thumb"
mass = 0.15
com = [0.05, 0.0, 0.01]
inertia = [4e-5, 1e-4, 1e-4, 0.0, 0.0, 0.0]

[[joint]]
name = "shoulder"
type = "revolute"
parent = "base"
child = "arm"
axis = [0, 1, 0]
limits = { lower = -1.5, upper = 1.5, velocity = 6.0, effort = 6.0 }
motor = { R = 0.8, L = 0.4e-3, K = 0.03, gear = 60.0, inertia = 4e-6 }
encoder = { counts = 4096 }
gains = { ku = 60.0, kv = 2.0 }

[[joint]]
name = "grip"
type = "revolute"
parent = "arm"
child = "left"
xyz = [0.3, 0.03, 0.0]
axis = [0, 0, 1]
limits = { lower = 0.0, upper = 0.9, velocity = 6.0, effort = 2.0 }
motor = { R = 2.0, L = 0.4e-3, K = 0.02, gear = 40.0, inertia = 1e-6 }
encoder = { counts = 4096 }
gains = { ku = 10.0, kv = 0.3 }

[[joint]]
name = "other"
type = "revolute"
parent = "arm"
child = "right"
xyz = [0.3, -0.03, 0.0]
axis = [0, 0, 1]
mimic = { joint = "grip", ratio = -1.0 }
limits = { lower = -0.9, upper = 0.0 }

[[joint]]
name = "thumb"
type = "prismatic"
parent = "right"
child = "thumb"
xyz = [0.05, 0.0, 0.0]
axis = [1, 0, 0.2]
mimic = { joint = "other", ratio = -0.04, offset = 0.01 }
"""


def gripper_in(folder: Path, old: str = "", new: str = "") -> Mechanism:
    """Return the gripper that is read from a file in a folder, with one text in the file replaced."""
    assert old in GRIPPER
    path = folder / "gripper.toml"
    path.write_text(GRIPPER.replace(old, new, 1))
    return load_mechanism(path)
