"""RobStride's drives with their factory protocol.

Ranges: kscalelabs' and LeRobot's tables, Seeed's wiki. Rotor inertias: the armature in kscalelabs/kbot-models,
kbot/metadata.json."""

from femtorque.codegen.drive.families.robstride.frames import FAULTS, TIMEOUT_UNIT, command
from femtorque.codegen.drive.family import PLACE, DriveType, Errors, Family, Places, Register, Setting


def _type(name: str, velocity: float, torque: float, strong: bool = False, inertia: float = 0.0,
          note: str = "") -> DriveType:
    kp, kd = (5000.0, 100.0) if strong else (500.0, 5.0)
    return DriveType(f"robstride-{name}", "robstride", 12.57, velocity, torque, kp, kd, inertia, note=note)


FAMILY = Family(
    name="robstride",
    title="RobStride",
    types=(
        _type("00", 33.0, 14.0, inertia=0.001, note="Seeed: 50 rad/s, 17 N m"),
        _type("01", 44.0, 17.0),
        _type("02", 44.0, 17.0, inertia=0.0042, note="LeRobot: 33 rad/s, 20 N m"),
        _type("03", 20.0, 60.0, strong=True, inertia=0.02, note="LeRobot: 33 rad/s; Seeed: 50 rad/s"),
        _type("04", 15.0, 120.0, strong=True, inertia=0.04, note="LeRobot: 33 rad/s"),
        _type("05", 50.0, 5.5, note="Seeed: 33 rad/s, 17 N m"),
        _type("06", 50.0, 36.0, strong=True, note="Seeed: 20 rad/s, 60 N m"),
    ),
    ids=(0, 127),
    places=Places(top=0xFFFF),
    settings=(
        Setting(Register("run_mode", 0x7005, "B"), lambda d: 0, mask=0xFF),  # 0: operation control
        Setting(Register("mech_pos", 0x7019, "f"), lambda d: 0.0, PLACE,
                words=lambda d: "where its states have it: position range"),
        Setting(Register("can_timeout", 0x7028, "I"), lambda d: d.watchdog / TIMEOUT_UNIT, writes=True,
                words=lambda d: "the file's"),
    ),
    errors=Errors({1 << bit: name for bit, name in enumerate(FAULTS)}, bits=True),
    extended=True,
    command=command,
    notes=("no", "yes", "yes", "stops: set by the board"),
)
