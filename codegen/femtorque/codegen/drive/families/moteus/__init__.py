"""mjbots' moteus controllers, with their register protocol on CAN FD.

A moteus controller can drive any motor. The torque range is the motor's torque range at the output of its gear. The
velocity range is the range of a 16-bit number. kp and kd are the factory gains (fw/bldc_servo_structs.h: 4 N m and 0.05
N m s per turn). A command contains fractions of these gains. A mechanism file gives the gains that the owner has
configured in the drive."""

import math

from femtorque.codegen.drive.families.moteus.configuration import CONFIGURATION
from femtorque.codegen.drive.families.moteus.frames import FAULTS, SOURCE, TURN, answer_id, command
from femtorque.codegen.drive.family import DriveType, Family, Firmware, Places, Register, Setting

KP, KD = 4.0 / math.tau, 0.05 / math.tau
OUTPUT = 2  # home state: the drive knows the position of its output
HOMES = {0: "0 (relative)", 1: "1 (rotor)", 2: "2 (output)"}
NOTE = "torque: of its motor; kp, kd: its servo.pid_position over 2 pi"


def _type(name: str, torque: float) -> DriveType:
    return DriveType(f"moteus-{name}", "moteus", 100.0, 51.4, torque, KP, KD, fd=True, note=NOTE)


def _word(version: str) -> int:
    parts = [int(part) for part in version.split(".")] if version else []
    return sum(part << 8 * (2 - k) for k, part in enumerate(parts))


FAMILY = Family(
    name="moteus",
    title="moteus",
    types=(_type("r4", 20.0), _type("n1", 20.0), _type("c1", 4.0), _type("x1", 20.0)),
    ids=(1, SOURCE - 1),
    places=Places(turn=TURN),
    settings=(  # order matters: the drive's answer to the last setting also goes to the host
        Setting(Register("register_map_version", 0x102, "I"), lambda d: 5),
        Setting(Register("home_state", 0x00C, "B"), lambda d: OUTPUT if d.placed else None,
                words=lambda d: HOMES[OUTPUT], shows=lambda n: HOMES.get(n, str(n))),
        Setting(Register("firmware_version", 0x101, "I"), lambda d: _word(d.firmware) if d.firmware else None,
                words=lambda d: d.firmware, shows=lambda n: f"{n >> 16}.{n >> 8 & 255}.{n & 255}"),
    ),
    errors=FAULTS,
    samples=(57 / 85, 12 / 17),  # fw/fdcan.cc, MakeTime of 85 MHz: 57 of 85 quanta, 12 of 17
    frame_bytes=32,
    answer_bytes=16,
    answer_id=answer_id,
    command=command,
    configuration=CONFIGURATION,
    velocity_known=True,
    torque_known=True,
    firmware=Firmware(r"\d+\.\d+\.\d+", "0.1.0", _word,
                      lambda n: f"{n >> 16}.{n >> 8 & 255}.{n & 255}" if n else "", most=255),
    notes=("needs none; its gains: no", "yes", "yes",
           "brakes with its share of kd, or as `servo.timeout_mode` says; with `pd = \"board\"` that share is 0: does "
           "not brake; set by the board"),
)
