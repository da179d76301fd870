"""One mechanism, validated and in SI units: what a mechanism file says, and nothing that follows from it.

Sides: gains, limits, springs, friction and every torque are at the joint; R, L, K and the rotor's inertia are at the
motor. `gear` is motor turns per joint turn, signed. A drive's own quantities are at its output. Positive torque moves
the joint along its axis. Gravity is an acceleration vector. Inertias are about the centre of gravity in link axes.

Joints are kept in tree order (every parent before its children, file order otherwise); this one order is used
everywhere: in arrays, in the emitted C, on the wire, in the columns of logs.
"""

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

BASE = "base"  # the ground, as named in mechanism files
COULOMB_VELOCITY = {False: 1e-2, True: 1e-3}  # rad/s, m/s below which dry friction fades out; of slides: True


@dataclass(frozen=True)
class Limits:
    """Joint limits; infinite where the file gives none. rad, rad/s, N m, rad/s^2, rad/s^3 (m and N for prismatic
    joints).

    The last two bind motions (`plan` keeps them, trajectories are refused beyond), not the board.
    """

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    acceleration: float = np.inf
    jerk: float = np.inf


@dataclass(frozen=True)
class Friction:
    """At the joint: viscous N m s/rad, Coulomb N m; stribeck N m: more at rest, of which half is left at
    stribeck_velocity, rad/s; load: N m more per N m of the links' torque (femtorque.codegen.model.driven_friction)."""

    viscous: float = 0.0
    coulomb: float = 0.0
    stribeck: float = 0.0
    stribeck_velocity: float = 0.0
    load: float = 0.0


@dataclass(frozen=True)
class Motor:
    """At the motor: R ohm, L henry, K N m/A (= V s/rad), inertia kg m^2; gear motor turns per joint turn, signed.

    continuous: A that it carries for good. thermal_s: time constant of its winding's temperature, s. None: not known.
    """

    R: float
    L: float
    K: float
    gear: float = 1.0
    inertia: float = 0.0
    drive: str = "voltage"
    channel: int = 0
    sign: int = 1
    continuous: float | None = None
    thermal_s: float | None = None
    kind: str = "brushed"


@dataclass(frozen=True)
class ServoSetting:
    """zero: count that it reports at the joint's zero. offset: that it is set to take off its own counts. limit:
    largest share of its supply that it is set to give its motor."""

    zero: int = 2048
    offset: int = 0
    limit: float = 1.0


@dataclass(frozen=True)
class Drive:
    """A drive on a bus in place of motor and encoder: what it is, and how it is reached.

    id: of its commands; reply: of what it sends, where it has one of its own. sign: -1 where it turns the other way.
    gear: turns of its output per turn of the joint, positive. pd: who closes the loop, the drive with kp and kd in
    every frame, or the board with torque alone. inertia: of its rotor at its output, kg m^2. zero: rad of its output
    that it reports at the joint's zero; a servo's is in its setting. servo: how a servo is set; None: it is none.
    firmware: the version that it must have, as its family writes it; empty: any. configured: marks of what its owner
    has configured; empty: none are held.
    """

    type: DriveType
    bus: str
    id: int
    reply: int | None = None
    sign: int = 1
    gear: float = 1.0
    pd: str = "drive"
    inertia: float = 0.0
    zero: float = 0.0
    servo: ServoSetting | None = None
    firmware: str = ""
    configured: str = ""

    @property
    def at_joint(self) -> DriveType:
        """Ranges of the drive in the joint's angle and torque."""
        return self.type.behind(self.gear)

    @property
    def half_turn(self) -> float:
        """rad of the joint for half a turn of its output, within which it knows its place when it comes up."""
        return math.pi / self.gear


@dataclass(frozen=True)
class Bus:
    """kind: can, can-fd or that of a half-duplex wire; bitrate, and that of CAN FD's data phase, 1/s."""

    name: str
    kind: str = "can"
    bitrate: int = 1_000_000
    data_bitrate: int | None = None


@dataclass(frozen=True)
class Encoder:
    """counts: counts per turn after x4 quadrature decoding, of the joint or of the motor as `at` says."""

    counts: int
    at: str = "joint"
    sign: int = 1
    zero: str = "start"


@dataclass(frozen=True)
class Home:
    """How a joint's zero is sought where encoder.zero is index or stop; at the joint. None: a default by rule.

    at: position at the index or stop, rad or m. direction: way to it. speed: rad/s or m/s. effort: N m or N that it
    may be pressed against the stop with. travel: the most it may move, rad or m.
    """

    at: float = 0.0
    direction: int = -1
    speed: float | None = None
    effort: float | None = None
    travel: float | None = None


@dataclass(frozen=True)
class Gains:
    """At the joint: ku N m/rad, kv N m s/rad, ki N m/(rad s)."""

    ku: float = 0.0
    kv: float = 0.0
    ki: float = 0.0


@dataclass(frozen=True)
class Beam:
    """A flexible link along its x axis: length m, EI N m^2 about y and z, GJ N m^2 or None, damping time s.

    GA_s: shear stiffness (shear modulus times shear area) in the planes of EI, N; infinite without shear.
    """

    length: float
    EI: tuple[float, float]
    elements: int
    damping: float = 0.0
    GJ: float | None = None
    GA_s: tuple[float, float] = (np.inf, np.inf)


@dataclass(frozen=True)
class Section:
    """Round tube for member stresses and for C_mot: area m^2, outer radius m, Young's modulus Pa (aluminium)."""

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
    """Whom a joint follows: its position is ratio times that of `joint`, plus offset; rad or m, and rad or m of one to
    rad or m of the other."""

    joint: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """One joint. `xyz`, `rpy`: joint frame in the parent link's frame; the child link's frame is the joint frame
    moved."""

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

    def __repr__(self) -> str:
        return f"<Joint {self.name!r}: {self.type}, {self.parent} > {self.child}>"

    @property
    def rotor(self) -> float:
        """Inertia of what turns it, at the joint: kg m^2 (kg of a prismatic joint)."""
        if self.drive is not None and self.drive.servo is None:
            return square(self.drive.gear) * self.drive.inertia
        return square(self.motor.gear) * self.motor.inertia if self.motor else 0.0

    @property
    def takes_torque(self) -> bool:
        """True if its drive takes a torque, or the current that makes one, and no duty."""
        return self.drive is not None and (self.drive.type.servo is None or self.drive.type.servo.ampere > 0.0)

    @property
    def elastic(self) -> bool:
        """True if, in a tree, a spring alone holds the joint: it bends as a flexible link does."""
        return not self.actuated and self.mimic is None and (self.stiffness > 0.0 or self.c_mot > 0.0)


@dataclass(frozen=True)
class Payload:
    """A body fixed to a link; com and inertia in that link's frame."""

    name: str
    link: str
    mass: float
    com: Vector
    inertia: Matrix


@dataclass(frozen=True)
class Anchor:
    """One side of a loop closure: a frame fixed in a link."""

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
    scheme: str = "auto"  # midpoint | newton-euler | nodal; auto: Mechanism.settled_scheme
    allocation: str = "closed"
    observer_hz: float = 80.0
    host_timeout_s: float = 0.1


@dataclass(frozen=True)
class Brake:
    """The holding brakes of an arm, all on one output of the board: s from the output's level to an open, a closed
    brake."""

    release_s: float
    engage_s: float


@dataclass(frozen=True)
class Cutoff:
    """An output of the board cuts the supply of servos that do not say in time that their motors are off. within_s: for
    which it waits for that. off_s: for which the supply stays off, until all of them have lost their power."""

    within_s: float = 0.03
    off_s: float = 0.2


@dataclass(frozen=True)
class Park:
    """Lying down. pose: position of every streamed joint by name, rad or m. speed: of FOLLOW's velocities. heat: for
    too warm a board or motor too. supply_v: for a supply below this, V; None: not for that."""

    pose: dict[str, float]
    speed: float = 0.1
    heat: bool = False
    supply_v: float | None = None


@dataclass(frozen=True)
class Safety:
    """Reactions to the classes of faults (femtorque.codegen.wire.messages.FAULT_CLASSES), and bounds.

    host: auto is park where there is a pose for it, else hold where gravity loads a joint, else coast
    (femtorque.codegen.control.gravity_load).
    stuck_s: how long a joint may be given all it can have without a count. temperature_max: deg C. gain_overlay:
    factors on the file's gains that may be asked for at run time. float_speed, jog_speed: of limits.velocity.
    probe_effort: of limits.effort, open loop.
    """

    computing: str = "coast"
    sensing: str = "coast"
    electrical: str = "coast"
    motion: str = "coast"
    host: str = "auto"
    stuck_s: float = 0.1
    temperature_max: float = 85.0
    gain_overlay: tuple[float, float] = (1.0, 1.0)
    float_speed: float = 0.25
    jog_speed: float = 0.1
    probe_effort: float = 0.3
    brake: Brake | None = None
    cutoff: Cutoff | None = None
    park: Park | None = None


@dataclass(frozen=True)
class Follow:
    """How targets that are sent live are followed. delay, frame: s, None: found out. timeout: s without a target until
    it ends."""

    delay: float | None = None  # 0: none, for which targets must carry velocities
    timeout: float = 0.25
    frame: float | None = None


@dataclass(frozen=True)
class Feel:
    """How torques from outside are felt. reaction to a touch: none, stop, float or return. bandwidth_hz: of the
    torque."""

    reaction: str = "none"
    bandwidth_hz: float = 20.0


@dataclass(frozen=True)
class Contact:
    """Torque of a touch, N m or N, and what is added to it per velocity and acceleration of the motion."""

    torque: float
    velocity: float = 0.0
    acceleration: float = 0.0


@dataclass(frozen=True)
class BoardUse:
    """Which board file, and what is wired to it."""

    use: str
    bus_voltage: float = 24.0
    pwm_hz: int = 20000


@dataclass(frozen=True)
class Mechanism:
    """A validated mechanism. `joints` are in tree order; `links` follow their joints; lock maps joint name to
    position."""

    name: str
    gravity: Vector
    control: Control
    board: BoardUse | None
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    payloads: tuple[Payload, ...] = ()
    loops: tuple[Loop, ...] = ()
    modes: tuple[Mode, ...] = ()
    buses: tuple[Bus, ...] = ()
    lock: dict[str, float] = field(default_factory=dict)
    safety: Safety = field(default_factory=Safety)
    follow: Follow = field(default_factory=Follow)
    feel: Feel | None = None
    unphysical: str = "refuse"
    source: Path | None = None
    urdf: Path | None = None  # that links and joints came from
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        board = "no board" if self.board is None else self.board.use
        return f"<Mechanism {self.name!r}: {len(self.links)} links, {len(self.streamed)} streamed joints, {board}>"

    @property
    def moving(self) -> tuple[Joint, ...]:
        """Joints that can move: neither fixed nor locked, in tree order. Their number is FT_JOINTS."""
        return tuple(j for j in self.joints if j.type != "fixed" and j.name not in self.lock)

    @property
    def constrained(self) -> bool:
        """True if some joints follow from others: by closed loops, or by mimicking them."""
        return bool(self.loops) or any(joint.mimic for joint in self.moving)

    @property
    def streamed(self) -> tuple[Joint, ...]:
        """Joints whose motion a trajectory gives, in tree order: where loops, leaders or springs move the others, the
        actuated ones alone."""
        if self.constrained:
            return tuple(j for j in self.moving if j.actuated)
        return tuple(j for j in self.moving if not j.elastic)

    def mode(self, name: str) -> Mode:
        """The mode of that name."""
        return next(mode for mode in self.modes if mode.name == name)

    def in_mode(self, name: str | None = None) -> Mechanism:
        """The mechanism with the loops, payloads and passive joints of one mode alone, by default the first.

        `modes` is then that mode, or empty where the file has none. Joints that are passive in it are not actuated.
        """
        if not self.modes:
            return self
        mode = self.modes[0] if name is None else self.mode(name)
        return replace(
            self, modes=(mode,), control=replace(self.control, scheme=self.settled_scheme or "auto"),
            loops=tuple(loop for loop in self.loops if loop.name in mode.loops),
            payloads=tuple(payload for payload in self.payloads if payload.name in mode.payloads),
            joints=tuple(replace(j, actuated=False) if j.name in mode.passive else j for j in self.joints),
        )

    @property
    def flexible(self) -> bool:
        """True if it has flexible links, or joints that a spring alone holds."""
        springs = not self.constrained and any(joint.elastic for joint in self.moving)
        return springs or any(link.beam is not None for link in self.links)

    @property
    def settled_scheme(self) -> str | None:
        """midpoint, newton-euler or nodal, where the file names it or its kind settles it: loops, mimic joints
        and flexible links take Newton-Euler, modes without loops the midpoint rule. None: it is to be chosen
        (femtorque.codegen.step.scheme)."""
        if self.control.scheme != "auto":
            return self.control.scheme
        if self.constrained or self.flexible:
            return "newton-euler"
        return "midpoint" if self.modes else None

    def link(self, name: str) -> Link:
        """The link of that name."""
        return next(link for link in self.links if link.name == name)
