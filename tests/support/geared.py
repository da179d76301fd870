"""An arm with drives of three families, each with a belt of 3:1."""


from femtorque.codegen.mechanism import Mechanism, load_mechanism
from tests.support.boards import IMAGES

GEAR = 3.0
JOINT = """
[[link]]
name = "{name}_link"
mass = {mass}
rod = {rod}

[[joint]]
name = "{name}"
type = "revolute"
parent = "{parent}"
child = "{name}_link"
xyz = [{at}, 0.0, 0.0]
axis = [0, 0, 1]
limits = {{ lower = -1.0, upper = 1.0, velocity = {velocity}, effort = {effort} }}
friction = {{ viscous = {viscous}, coulomb = {coulomb} }}
drive = {{ type = "{kind}", id = {id}, gear = {gear}, sign = {sign}, {drive} }}
gains = {{ ku = {ku}, kv = {kv} }}
"""
ARM = """name = "geared_arm"
gravity = [0.0, -9.81, 0.0]
control = { rate_hz = 500, knot_hz = 100 }
board = { use = "f405rg-4", bus_voltage = 12.0 }
bus = [{ name = "can1", kind = "can" }, { name = "servos", kind = "sts" }]
""" + "".join(JOINT.format(gear=GEAR, **own) for own in (
    {"name": "shoulder", "mass": 1.4, "rod": 0.25, "parent": "base", "at": 0.0, "velocity": 3.0, "effort": 25.0,
     "kind": "damiao-4310", "id": 1, "drive": 'bus = "can1", inertia = 0.01', "ku": 200.0, "kv": 8.0, "sign": -1,
     "viscous": 0.05, "coulomb": 0.05},
    {"name": "elbow", "mass": 0.9, "rod": 0.22, "parent": "shoulder_link", "at": 0.25, "velocity": 3.0, "effort": 15.0,
     "kind": "robstride-02", "id": 2, "drive": 'bus = "can1", inertia = 0.004', "ku": 100.0, "kv": 4.0, "sign": 1,
     "viscous": 0.05, "coulomb": 0.05},
    {"name": "wrist", "mass": 0.4, "rod": 0.1, "parent": "elbow_link", "at": 0.22, "velocity": 1.2, "effort": 2.0,
     "kind": "feetech-sts3215-12v", "id": 3, "drive": 'bus = "servos"', "ku": 20.0, "kv": 1.0, "sign": -1,
     "viscous": 0.27, "coulomb": 0.3}))


def read(text: str, name: str) -> Mechanism:
    """Return a mechanism that is read from a file with this name in the folder of images."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    path = IMAGES / f"{name}.toml"
    path.write_text(text.replace('"geared_arm"', f'"{name}"'), encoding="utf-8")
    return load_mechanism(path)
