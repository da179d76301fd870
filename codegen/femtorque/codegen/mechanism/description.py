"""A validated mechanism in SI units. A Mechanism contains the values of a mechanism file, but no computed values.

Gains, limits, springs, friction and torques refer to the joint. R, L, K and the rotor's inertia refer to the motor
shaft. `gear` is motor turns per joint turn, signed. The quantities of a drive refer to its output. Positive torque
moves the joint along its axis. Gravity is an acceleration vector. Inertias are about the centre of gravity, in link
axes. Joints are in tree order: a parent comes before its children. Apart from this, they have the file's order. Arrays,
emitted C, messages and columns of logs all have this order."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import square
from femtorque.codegen.drive import DriveType

Vector = NDArray[np.float64]  # shape (3,)
Matrix = NDArray[np.float64]  # shape (3, 3)

BASE = "base"  # name of the ground in mechanism files
COULOMB_VELOCITY = {False: 1e-2, True: 1e-3}  # velocity below which dry friction fades out, rad/s (True: m/s)


@dataclass(frozen=True)
class Limits:
    """Joint limits, infinite if the file gives none: rad, rad/s, N m, rad/s^2, rad/s^3 (m and N for prismatic joints).

    `plan` observes the limits of acceleration and jerk. A trajectory that exceeds the limits is refused. The firmware
    on the board does not use these two limits."""

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    acceleration: float = np.inf
    jerk: float = np.inf


@dataclass(frozen=True)
class Friction:
    """Friction at the joint: viscous N m s/rad, Coulomb N m. stribeck N m: additional friction at rest, which has
    halved at stribeck_velocity, rad/s."""

    viscous: float = 0.0
    coulomb: float = 0.0
    stribeck: float = 0.0
    stribeck_velocity: float = 0.0
    load: float = 0.0  # friction per N m of the links' torque (femtorque.codegen.model.driven_friction)


@dataclass(frozen=True)
class Motor:
    """A motor, with values at its shaft: R ohm, L henry, K N m/A (= V s/rad), inertia kg m^2."""

    R: float
    L: float
    K: float
    gear: float = 1.0  # motor turns per joint turn, signed
    inertia: float = 0.0
    drive: str = "voltage"
    channel: int = 0
    sign: int = 1
    continuous: float | None = None  # continuous current, A
    thermal_s: float | None = None  # time constant of the winding's temperature, s; None if unknown
    kind: str = "brushed"


@dataclass(frozen=True)
class ServoSetting:
    """Settings of a servo."""

    zero: int = 2048  # the count at the joint's zero
    offset: int = 0  # counts that the servo subtracts from its encoder's counts
    limit: float = 1.0  # maximum duty that the servo applies to its motor
    supply: float = 0.0  # voltage of a converter that supplies the servo, V; 0 for the board's supply
    play: float | None = None  # backlash of the gear, rad at the joint; None if only the type's is known


@dataclass(frozen=True)
class Drive:
    """A drive on a bus, which replaces motor and encoder."""

    type: DriveType
    bus: str
    id: int  # id of its commands
    reply: int | None = None  # id of its answers; None if the answers have the id of the commands
    sign: int = 1  # -1 if drive and joint turn in opposite directions
    gear: float = 1.0  # output turns per joint turn, positive
    pd: str = "drive"  # "drive" if the drive closes the position loop, "board" if the board closes it and sends torques
    inertia: float = 0.0  # rotor inertia at the output, kg m^2
    zero: float = 0.0  # the reported output angle at the joint's zero, rad (servos have servo.zero)
    servo: ServoSetting | None = None  # settings of a servo; None for a drive that is no servo
    firmware: str = ""  # required version; empty for any version
    configured: str = ""  # hashes of the owner's configuration; empty if the file does not check this configuration

    @property
    def at_joint(self) -> DriveType:
        """Return the drive's ranges as angles and torques of the joint."""
        return self.type.behind(self.gear)

    @property
    def half_turn(self) -> float:
        """Return the angle of the joint for half a turn of the drive's output, rad.

        At power-up the position of the drive's output is only known modulo one turn."""
        return math.pi / self.gear

    def leaves_one_turn(self, limits: Limits) -> bool:
        """Return True if the limits of the joint contain only one of the positions that are a turn of the output
        apart. The limits must then be within one turn of zero."""
        turn = 2.0 * self.half_turn
        return limits.upper - limits.lower < turn and max(-limits.lower, limits.upper) < turn


@dataclass(frozen=True)
class Bus:
    """A bus."""

    name: str
    kind: str = "can"  # can, can-fd or a half-duplex kind
    bitrate: int = 1_000_000  # bit/s
    data_bitrate: int | None = None  # bit/s in CAN FD's data phase
    delay: float | None = None  # of a PC's adapter, s; None: the board file's
    jitter: float | None = None  # of a PC's adapter, s; None: the board file's


@dataclass(frozen=True)
class Encoder:
    """An encoder."""

    counts: int  # per turn after x4 quadrature decoding
    at: str = "joint"  # the shaft with the encoder, "joint" or "motor"
    sign: int = 1
    zero: str = "start"


@dataclass(frozen=True)
class Home:
    """The search for a joint's zero, used if encoder.zero is index or stop. None selects a default."""

    at: float = 0.0  # position at the index or stop, rad or m
    direction: int = -1  # direction towards the index or stop
    speed: float | None = None  # speed of the search, rad/s or m/s
    effort: float | None = None  # maximum torque against the stop, N m or N
    travel: float | None = None  # maximum travel, rad or m


@dataclass(frozen=True)
class Gains:
    """Gains at the joint: ku N m/rad, kv N m s/rad, ki N m/(rad s)."""

    ku: float = 0.0
    kv: float = 0.0
    ki: float = 0.0


@dataclass(frozen=True)
class Beam:
    """A flexible link along its x axis: length m, EI N m^2 about y and z, GJ N m^2 or None, damping time s.

    GA_s: shear stiffness (shear modulus times shear area) in the planes of EI, N; infinite for a beam without shear
    deformation."""

    length: float
    EI: tuple[float, float]
    elements: int
    damping: float = 0.0
    GJ: float | None = None
    GA_s: tuple[float, float] = (np.inf, np.inf)


@dataclass(frozen=True)
class Section:
    """The section of a round tube, for stresses and c_mot: area m^2, outer radius m, Young's modulus Pa (aluminium)."""

    area: float
    radius: float
    E: float = 70e9
    poisson: float = 0.33


@dataclass(frozen=True)
class Link:
    name: str
    mass: float
    com: Vector
    inertia: Matrix
    section: Section | None = None
    beam: Beam | None = None

    def __repr__(self) -> str:
        return f"<Link {self.name!r}: {self.mass:g} kg>"


@dataclass(frozen=True)
class Mimic:
    """A joint whose position depends on the position of `joint`.

    The follower's position is ratio times the leader's position plus offset."""

    joint: str
    ratio: float = 1.0
    offset: float = 0.0  # offset, rad or m


@dataclass(frozen=True)
class Joint:
    """A joint. xyz, rpy: origin and orientation of the joint frame in the parent link's frame. The frame of the child
    link is the joint frame after the joint's motion. said: name in the URDF, if it differs."""

    name: str
    type: str  # revolute | continuous | prismatic | fixed
    parent: str
    child: str
    xyz: Vector
    rpy: Vector
    axis: Vector  # unit vector in the joint frame
    actuated: bool = True
    start: float = 0.0
    c_mot: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    limits: Limits = field(default_factory=Limits)
    friction: Friction = field(default_factory=Friction)
    motor: Motor | None = None
    encoder: Encoder | None = None
    gains: Gains = field(default_factory=Gains)
    home: Home | None = None
    drive: Drive | None = None
    contact: Contact | None = None
    mimic: Mimic | None = None
    said: str = ""

    @property
    def called(self) -> str:
        """Return the name outside femtorque, for ROS, LeRobot and files of motions."""
        return self.said or self.name

    def __repr__(self) -> str:
        return f"<Joint {self.name!r}: {self.type}, {self.parent} > {self.child}>"

    @property
    def rotor(self) -> float:
        """Return the rotor inertia reflected to the joint: kg m^2, or kg for a prismatic joint."""
        if self.drive is not None and self.drive.servo is None:
            return square(self.drive.gear) * self.drive.inertia
        return square(self.motor.gear) * self.motor.inertia if self.motor else 0.0

    def supply(self, volts: float) -> float:
        """Return the voltage at the motor, V. volts: the board's supply."""
        return self.drive.servo.supply or volts if self.drive is not None and self.drive.servo is not None else volts

    @property
    def takes_torque(self) -> bool:
        """Return True if the command of the drive is a torque or a current, not a duty or a goal."""
        servo = self.drive.type.servo if self.drive is not None else None
        return self.drive is not None and (servo is None or (servo.ampere > 0.0 and not servo.holds))

    @property
    def elastic(self) -> bool:
        """Return True if a spring alone moves this joint of a tree. The step treats it like a flexible link."""
        return not self.actuated and self.mimic is None and (self.stiffness > 0.0 or self.c_mot > 0.0)


@dataclass(frozen=True)
class Payload:
    """A body that is fixed to a link. com and inertia are in the link's frame."""

    name: str
    link: str
    mass: float
    com: Vector
    inertia: Matrix


@dataclass(frozen=True)
class Anchor:
    """One side of a loop: a frame that is fixed to a link."""

    link: str
    xyz: Vector
    rpy: Vector


@dataclass(frozen=True)
class Loop:
    name: str
    type: str  # ball | planar | revolute | rigid
    a: Anchor
    b: Anchor


@dataclass(frozen=True)
class Mode:
    name: str
    loops: tuple[str, ...]
    payloads: tuple[str, ...]
    passive: tuple[str, ...]
    root: str
    ramp_s: float


@dataclass(frozen=True)
class Control:
    rate_hz: int = 1000
    knot_hz: int = 250
    scheme: str = "nodal"  # | printed
    allocation: str = "closed"
    observer_hz: float = 80.0
    host_timeout_s: float = 0.1


@dataclass(frozen=True)
class Brake:
    """The holding brakes, all on one output of the board."""

    release_s: float  # time from the output's change until the brakes have released, s
    engage_s: float  # time until the brakes have engaged, s


@dataclass(frozen=True)
class Cutoff:
    """A board output that switches off the servos' supply."""

    within_s: float = 0.03  # time within which servos must report that their motors are off, s
    off_s: float = 0.2  # time for which the supply stays off, so that every servo loses its power, s


@dataclass(frozen=True)
class Park:
    """The pose in which the arm parks."""

    pose: dict[str, float]  # position of every streamed joint by name, rad or m
    speed: float = 0.1  # fraction of FOLLOW's limits
    heat: bool = False  # true if the arm also parks when the board or a motor is too warm
    supply_v: float | None = None  # supply voltage below which the arm also parks, V; None for no voltage limit


@dataclass(frozen=True)
class Safety:
    """Reactions to the classes of faults (femtorque.codegen.wire.messages.FAULT_CLASSES), and limits. host: "auto"
    means park if there is a park pose, else hold if gravity loads a joint, else coast
    (femtorque.codegen.control.gravity_load). float_speed, jog_speed: fractions of limits.velocity."""

    computing: str = "coast"
    sensing: str = "coast"
    electrical: str = "coast"
    motion: str = "coast"
    host: str = "auto"
    stuck_s: float = 0.1  # maximum time at full torque without an encoder count, s
    temperature_max: float = 85.0  # largest temperature, deg C
    gain_overlay: tuple[float, float] = (1.0, 1.0)  # range of factors on the file's gains at run time
    float_speed: float = 0.25
    jog_speed: float = 0.1
    probe_effort: float = 0.3  # fraction of limits.effort in open loop
    brake: Brake | None = None
    cutoff: Cutoff | None = None
    park: Park | None = None


@dataclass(frozen=True)
class Follow:
    """Settings for live targets. delay, frame: times in s; None if the board measures them."""

    delay: float | None = None  # 0: targets are followed without a delay, and must contain velocities
    timeout: float = 0.25  # time without a target until FOLLOW ends, s
    frame: float | None = None


@dataclass(frozen=True)
class Feel:
    """Contact detection."""

    reaction: str = "none"  # none, stop, float or return
    bandwidth_hz: float = 20.0  # bandwidth of the estimated external torque, Hz


@dataclass(frozen=True)
class Contact:
    """Threshold for a contact, N m or N, and its increase with velocity and acceleration of the motion."""

    torque: float
    velocity: float = 0.0
    acceleration: float = 0.0


@dataclass(frozen=True)
class BoardUse:
    """The board file, the supply voltage and the PWM frequency of this mechanism.
    accept: a missing protection of the board that the owner accepts."""

    use: str
    bus_voltage: float = 24.0
    pwm_hz: int = 20000
    accept: str | None = None


@dataclass(frozen=True)
class Mechanism:
    """A validated mechanism."""

    name: str
    gravity: Vector
    control: Control
    board: BoardUse | None
    links: tuple[Link, ...]  # all links in their joints' order
    joints: tuple[Joint, ...]  # all joints in tree order
    payloads: tuple[Payload, ...] = ()
    loops: tuple[Loop, ...] = ()
    modes: tuple[Mode, ...] = ()
    buses: tuple[Bus, ...] = ()
    lock: dict[str, float] = field(default_factory=dict)  # position by joint name
    safety: Safety = field(default_factory=Safety)
    follow: Follow = field(default_factory=Follow)
    feel: Feel | None = None
    unphysical: str = "refuse"
    source: Path | None = None
    urdf: Path | None = None  # file that gives the links and joints
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        board = "no board" if self.board is None else self.board.use
        return f"<Mechanism {self.name!r}: {len(self.links)} links, {len(self.streamed)} streamed joints, {board}>"

    @property
    def moving(self) -> tuple[Joint, ...]:
        """Return the joints that are neither fixed nor locked, in tree order.

        FT_JOINTS in C is the number of these joints."""
        return tuple(j for j in self.joints if j.type != "fixed" and j.name not in self.lock)

    @property
    def constrained(self) -> bool:
        """Return True if some joints depend on other joints, through closed loops or mimic relations."""
        return bool(self.loops) or any(joint.mimic for joint in self.moving)

    @property
    def streamed(self) -> tuple[Joint, ...]:
        """Return the joints whose motion a trajectory specifies, in tree order.

        If closed loops, mimic relations or springs determine some positions, the result has only the actuated joints.
        """
        if self.constrained:
            return tuple(j for j in self.moving if j.actuated)
        return tuple(j for j in self.moving if not j.elastic)

    def mode(self, name: str) -> Mode:
        """Return the mode with this name."""
        return next(mode for mode in self.modes if mode.name == name)

    def in_mode(self, name: str | None = None) -> Mechanism:
        """Return the mechanism in one mode, by default the first. The result has only the loops and payloads of this
        mode. The passive joints of this mode are not actuated. In the result, `modes` contains only this mode, or
        nothing if the file has no modes."""
        if not self.modes:
            return self
        mode = self.modes[0] if name is None else self.mode(name)
        return replace(
            self, modes=(mode,), loops=tuple(loop for loop in self.loops if loop.name in mode.loops),
            payloads=tuple(payload for payload in self.payloads if payload.name in mode.payloads),
            joints=tuple(replace(j, actuated=False) if j.name in mode.passive else j for j in self.joints),
        )

    @property
    def flexible(self) -> bool:
        """Return True if the mechanism has flexible links, or joints whose only torque comes from a spring."""
        springs = not self.constrained and any(joint.elastic for joint in self.moving)
        return springs or any(link.beam is not None for link in self.links)

    def link(self, name: str) -> Link:
        """Return the link with this name."""
        return next(link for link in self.links if link.name == name)
