"""Drives that people buy, as data: what their frames' fields mean.

The field's tables disagree (`note`), and the ranges are settings of the drive: a file may override each of them, and
what is flashed has to be held against the drive before it is armed. Sources:
Damiao: openarm_can's dm_motor_constants.hpp, damiao-motor's presets; CubeMars: manual V1.0.8, TMotorCANControl's
mit_can.py; RobStride: kscalelabs' and LeRobot's tables, Seeed's wiki; mini-cheetah: bgkatz/motorcontrol; Feetech:
Rhoban/bam params/feetech_sts3215_*/m1.json, makers' and sellers' sheets (C001: 19.5 kg cm, 52 rpm at 7.4 V; C018:
30 kg cm, 45 rpm at 12 V; both 1:345).

Rotors, at the output, the square of the gear inside in them: Damiao's are 1e-4 kg m^2 behind gears of 10, 40 and 9
(armature in enactic/openarm_mujoco, v2/openarm_bimanual.xml); RobStride's the armature of kscalelabs/kbot-models,
kbot/metadata.json; the mini-cheetah's 63e-6 kg m^2 behind a gear of 6 (mit-biomimetics/Cheetah-Software,
MiniCheetah.h). For the others nothing was found: theirs is 0, which means not known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from femtorque.codegen.common.elementary import square

Family = Literal["mini-cheetah", "cubemars", "damiao", "robstride", "feetech"]


@dataclass(frozen=True)
class Servo:
    """Inside of a servo that turns with an open-loop duty: a brushed motor, its gear, an encoder of one turn.

    model: as in its register. volts: nominal. R ohm, K N m/A and rotor kg m^2 (inertia) at the motor; gear: its turns
    per turn of the output. viscous N m s/rad, coulomb N m: friction at the output, as it was measured.
    """

    model: int
    volts: float
    R: float
    K: float
    inertia: float
    gear: float
    viscous: float
    coulomb: float


@dataclass(frozen=True)
class DriveType:
    """One drive that closes kp (q_d - q) + kd (q_d' - q') + torque itself; all at its output.

    position rad, velocity rad/s, torque N m: fields go from - to + that. kp N m/rad, kd N m s/rad: from 0 to that.
    inertia kg m^2: of its rotor, 0 where nothing is published. fd: whether it speaks CAN FD. note: where published
    tables differ. servo: what a servo is instead, which closes no loop; velocity and torque are then those of its data
    sheet, without load and at stall.
    """

    name: str
    family: Family
    position: float
    velocity: float
    torque: float
    kp: float = 500.0
    kd: float = 5.0
    inertia: float = 0.0
    fd: bool = False
    note: str = ""
    servo: Servo | None = None

    def behind(self, gear: float) -> DriveType:
        """Type of the same drive at a joint that makes one turn while the output makes `gear` turns."""
        servo = self.servo and replace(self.servo, gear=self.servo.gear * gear, coulomb=self.servo.coulomb * gear,
                                       viscous=self.servo.viscous * square(gear))
        return replace(self, position=self.position / gear, velocity=self.velocity / gear, torque=self.torque * gear,
                       kp=self.kp * square(gear), kd=self.kd * square(gear), inertia=self.inertia * square(gear),
                       servo=servo)


def _damiao(name: str, velocity: float, torque: float, position: float = 12.5, inertia: float = 0.0,
            note: str = "") -> DriveType:
    return DriveType(f"damiao-{name}", "damiao", position, velocity, torque, inertia=inertia, fd=True, note=note)


def _cubemars(name: str, velocity: float, torque: float, note: str = "") -> DriveType:
    return DriveType(f"cubemars-{name}", "cubemars", 12.5, velocity, torque, note=note)


def _robstride(name: str, velocity: float, torque: float, strong: bool = False, inertia: float = 0.0,
               note: str = "") -> DriveType:
    kp, kd = (5000.0, 100.0) if strong else (500.0, 5.0)
    return DriveType(f"robstride-{name}", "robstride", 12.57, velocity, torque, kp, kd, inertia, note=note)


CATALOGUE = (
    DriveType("mini-cheetah", "mini-cheetah", 12.5, 65.0, 18.0, inertia=0.00227,
              note="torque: I_MAX KT GR of the drive's own settings"),
    _damiao("3507", 50.0, 5.0, 12.566, note="LeRobot: 12.5 rad, 30 rad/s, 10 N m"),
    _damiao("4310", 30.0, 10.0, inertia=0.01),
    _damiao("4310-48v", 50.0, 10.0, inertia=0.01),
    _damiao("4340", 10.0, 28.0, inertia=0.16, note="LeRobot and DM_CAN.py: 8 rad/s"),
    _damiao("4340-48v", 10.0, 28.0, inertia=0.16),
    _damiao("6006", 45.0, 20.0),
    _damiao("8006", 45.0, 40.0),
    _damiao("8009", 45.0, 54.0, inertia=0.0081),
    _damiao("10010l", 25.0, 200.0),
    _damiao("10010", 20.0, 200.0),
    _damiao("h3510", 280.0, 1.0),
    _damiao("g6215", 45.0, 10.0),
    _damiao("g6220", 45.0, 10.0),
    _cubemars("ak10-9", 50.0, 65.0),
    _cubemars("ak60-6", 45.0, 15.0, "TMotorCANControl: 50 rad/s"),
    _cubemars("ak70-10", 50.0, 25.0),
    _cubemars("ak80-6", 76.0, 12.0),
    _cubemars("ak80-9", 50.0, 18.0),
    _cubemars("ak80-64", 8.0, 144.0),
    _cubemars("ak80-8", 37.5, 32.0),
    _cubemars("ak45-36", 6.0, 34.0),
    _cubemars("ak45-10", 20.0, 8.0),
    _cubemars("ak40-10", 45.5, 5.0),
    _robstride("00", 33.0, 14.0, inertia=0.001, note="Seeed: 50 rad/s, 17 N m"),
    _robstride("01", 44.0, 17.0),
    _robstride("02", 44.0, 17.0, inertia=0.0042, note="LeRobot: 33 rad/s, 20 N m"),
    _robstride("03", 20.0, 60.0, strong=True, inertia=0.02, note="LeRobot: 33 rad/s; Seeed: 50 rad/s"),
    _robstride("04", 15.0, 120.0, strong=True, inertia=0.04, note="LeRobot: 33 rad/s"),
    _robstride("05", 50.0, 5.5, note="Seeed: 33 rad/s, 17 N m"),
    _robstride("06", 50.0, 36.0, strong=True, note="Seeed: 20 rad/s, 60 N m"),
)
STS3215 = 777  # its model number: LeRobot's table
KGF_CM = 0.0980665  # N m


def _sts3215(name: str, volts: float, gear: float, kt: float, R: float, armature: float, friction: tuple[float, float],
             rpm: float, stall: float) -> DriveType:
    """kt N m/A, R, armature kg m^2 and friction (N m s/rad, N m) at the output, as Rhoban/bam identified it (model m1);
    rpm, stall kg cm: of the data sheet."""
    servo = Servo(STS3215, volts, R, kt / gear, armature / square(gear), gear, *friction)
    return DriveType(f"feetech-sts3215-{name}", "feetech", math.pi, rpm * math.tau / 60.0, stall * KGF_CM, 0.0, 0.0,
                     note="at stall the identified motor gives "
                     f"{kt * volts / R:.1f} N m, the data sheet {stall * KGF_CM:.1f}", servo=servo)


SERVOS = (
    _sts3215("7v4", 7.4, 345.0, 1.2116, 2.6762, 0.028403, (0.059085, 0.052393), 52.0, 19.5),
    _sts3215("12v", 12.0, 345.0, 1.4440, 2.0296, 0.032460, (0.030474, 0.19587), 45.0, 30.0),
)
DRIVES = {drive.name: drive for drive in (*CATALOGUE, *SERVOS)}
