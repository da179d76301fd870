"""Damiao's drives.

Ranges: openarm_can's dm_motor_constants.hpp, damiao-motor's presets. Rotor inertias at the output: 1e-4 kg m^2 times
the square of the gear ratio 10 (4310), 40 (4340) or 9 (8009) (armature in enactic/openarm_mujoco,
v2/openarm_bimanual.xml). Errors and registers: openarm_can dm_motor_control.cpp, DM_CAN.py."""

from femtorque.codegen.drive import mit
from femtorque.codegen.drive.family import ALIKE, DriveType, Errors, Family, Firmware, Places, Register, Setting

TIMEOUT_UNIT = 50e-6  # time without a frame until the drive stops, s; 0: never
REPLY_BESIDE = 0x10  # id of replies minus id of commands, as in openarm_can


def _type(name: str, velocity: float, torque: float, position: float = 12.5, inertia: float = 0.0,
          note: str = "") -> DriveType:
    return DriveType(f"damiao-{name}", "damiao", position, velocity, torque, inertia=inertia, fd=True, note=note)


FAMILY = Family(
    name="damiao",
    title="Damiao",
    types=(
        _type("3507", 50.0, 5.0, 12.566, note="LeRobot: 12.5 rad, 30 rad/s, 10 N m"),
        _type("4310", 30.0, 10.0, inertia=0.01),
        _type("4310-48v", 50.0, 10.0, inertia=0.01),
        _type("4340", 10.0, 28.0, inertia=0.16, note="LeRobot and DM_CAN.py: 8 rad/s"),
        _type("4340-48v", 10.0, 28.0, inertia=0.16),
        _type("6006", 45.0, 20.0),
        _type("8006", 45.0, 40.0),
        _type("8009", 45.0, 54.0, inertia=0.0081),
        _type("10010l", 25.0, 200.0),
        _type("10010", 20.0, 200.0),
        _type("h3510", 280.0, 1.0),
        _type("g6215", 45.0, 10.0),
        _type("g6220", 45.0, 10.0),
    ),
    samples=(0.75, 0.75),  # openarm_can sets both bit rates; the drives' sample points are not published
    ids=(0, 0x7FF),
    places=Places(top=0xFFFF),
    settings=(  # order matters: the drive's answer to the last setting also goes to the host
        Setting(Register("PMAX", 21, "f"), lambda d: d.type.position, ALIKE),  # rad, of the position field
        Setting(Register("VMAX", 22, "f"), lambda d: d.type.velocity, ALIKE),  # rad/s, of the velocity field
        Setting(Register("TMAX", 23, "f"), lambda d: d.type.torque, ALIKE),  # N m, of the torque field
        Setting(Register("CTRL_MODE", 10, "I"), lambda d: 1, mask=0xFF),  # 1: kp, kd and torque
        Setting(Register("TIMEOUT", 9, "I"), lambda d: d.watchdog / TIMEOUT_UNIT, writes=True,
                words=lambda d: "the file's"),
        Setting(Register("sw_ver", 14, "I"), lambda d: int(d.firmware) if d.firmware else None,
                words=lambda d: d.firmware),
    ),
    errors=Errors({8: "over-voltage", 9: "under-voltage", 10: "over-current", 11: "driver too hot", 12: "rotor too hot",
                   13: "lost communication", 14: "overload"}),
    reply=lambda id: id + REPLY_BESIDE,
    reply_words="id + 16",
    command=mit.command,
    velocity_known=True,
    torque_known=True,
    master="MST_ID (register 7), 0 as it comes,",
    firmware=Firmware(r"[1-9]\d*", "5017", lambda version: int(version or 0), lambda word: str(word) if word else ""),
    parts=("ft_mit.c",),
    notes=("position, velocity, torque", "yes", "yes", "stops, `LOST_COMM`: set by the board"),
)
