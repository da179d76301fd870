"""Reader of mechanism files: TOML text -> checked tables -> Mechanism. The first error raises BadInput with a message
of one line.

`schema.py` checks each key separately. This module checks rules over several keys: names must exist, the links form a
tree, inertias and efforts are physically possible, ticks fit the knots."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from femtorque.codegen.common import BadInput, hint, norm, parse_toml, read_text, shown, square
from femtorque.codegen.mechanism import buses, mimic, urdf
from femtorque.codegen.mechanism.description import (
    BASE, COULOMB_VELOCITY, Anchor, Beam, BoardUse, Brake, Bus, Contact, Control, Cutoff, Encoder, Feel, Follow,
    Friction, Gains, Home, Joint, Limits, Link, Loop, Mechanism, Mimic, Mode, Motor, Park, Payload, Safety, Section)
from femtorque.codegen.mechanism.refusal import in_radians
from femtorque.codegen.mechanism.schema import (
    NAME_PATTERN, BeamTable, JointTable, LinkTable, MechanismTable, PayloadTable, first_fault)

MOST = 1000  # maximum number of tables of one type
PHYSICAL_TOLERANCE = 1e-6  # rounding error of a thin body, as a fraction of the inertia's trace
OBSERVER_HZ, OBSERVER_PER_TICK = 80.0, 0.25  # default bandwidth, Hz; maximum bandwidth divided by the tick rate


def load_mechanism(path: str | Path) -> Mechanism:
    """Return the mechanism of a TOML file, or of a URDF file without motors. Raise BadInput with one line."""
    try:
        return _Reader(Path(path)).mechanism()
    except RecursionError:
        raise BadInput(path, "file", None, "is nested too deeply") from None


def _parse(path: Path) -> dict[str, Any]:
    text = read_text(path)
    if text.lstrip().startswith("<"):
        return urdf.alone(path)
    if not text.strip():
        raise BadInput(path, "file", None, "is empty", "start from one written by 'femtorque init NAME'")
    data = parse_toml(path, text)
    for kind, tables in data.items():
        if isinstance(tables, list) and len(tables) > MOST:
            raise BadInput(path, kind, None, f"there are {len(tables)}: at most {MOST} are read")
    return data


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class _Reader:
    """The reader of one file. Every error message names the key concerned."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = urdf.alone(path) if path.suffix.lower() == ".urdf" else _parse(path)
        self.warnings: list[str] = []
        self.unlikely: list[tuple[str, str]] = []  # links, and warnings about their inertias
        self.buses: tuple[Bus, ...] = ()
        self.urdf = path
        self.given: frozenset[str] = frozenset()
        self.called: dict[str, str] = {}
        if "urdf" in self.data:
            merged = urdf.merge(self.path, self.data)
            self.data, self.urdf, self.given = merged.data, merged.urdf, merged.given
            self.warnings += merged.warnings
            self.called = merged.called

    def mechanism(self) -> Mechanism:
        try:
            table = MechanismTable.model_validate(self.data)
        except ValidationError as error:
            fault = first_fault(error)
            self.fail(self._key(fault.where), fault.value, fault.rule, fault.hint)
        self.table = table
        self.unphysical = table.unphysical or ("refuse" if table.urdf is None else "warn")
        for kind in ("link", "joint", "payload", "loop", "mode", "bus"):
            self._unique(kind, getattr(table, kind))
        control = self._control()
        links = {t.name: self._link(t) for t in table.link}
        order = self._tree_order()
        channels = self._channels(order)
        self.buses = buses.read_buses(table.bus, self.fail)
        joints = tuple(self._joint(t, channels.get(t.name, 0)) for t in order)
        buses.check_shared(joints, self.fail)
        if table.board is not None:
            buses.check_supply(joints, table.board.bus_voltage, self.fail)
        joints, lock = mimic.resolved(joints, self._lock(joints), self.fail, self.warn)
        payloads = tuple(self._payload(t) for t in table.payload)
        loops = tuple(self._loop(t) for t in table.loop)
        modes = tuple(self._mode(t) for t in table.mode)
        mechanism = Mechanism(
            name=table.name,
            gravity=_vector(table.gravity),
            control=control,
            board=None if table.board is None else BoardUse(**table.board.model_dump()),
            links=tuple(links[j.child] for j in joints),
            joints=joints,
            payloads=payloads,
            loops=loops,
            modes=modes,
            buses=self.buses,
            lock=lock,
            safety=self._safety(),
            follow=self._follow(),
            feel=Feel(**table.feel.model_dump()) if table.feel else None,
            unphysical=self.unphysical,
            source=self.path,
            urdf=None if table.urdf is None else self.urdf,
        )
        if not mechanism.moving:
            self.fail("joint", None, "nothing can move: every joint is fixed or locked")
        self._warn_unphysical(mechanism)
        self._check_outboard_mass(mechanism)
        self._check_loops(mechanism)
        self._check_modes(mechanism)
        return replace(mechanism, warnings=tuple(self.warnings))

    # ---- error lines

    def fail(self, key: str, value: object, rule: str, hint: str = "") -> NoReturn:
        said_by_urdf = any(key == k or key.startswith((f"{k}.", f"{k}[")) for k in self.given)
        raise BadInput(self.urdf if said_by_urdf else self.path, key, shown(value), rule, hint)

    def _key(self, where: Sequence[str | int]) -> str:
        """Return ('joint', 1, 'axis') as joint.elbow.axis, or as joint[1].axis if the table has no usable name."""
        key = ""
        place: Any = self.data
        for step in where:
            try:
                place = place[step]
            except (LookupError, TypeError):
                place = {}
            if isinstance(step, str):
                text = step if step.isidentifier() else repr(step)
                key = f"{key}.{text}" if key else text
            elif isinstance(place, dict) and _usable(place.get("name")) and self._only(key, place["name"]):
                key = f"{key}.{place['name']}"
            else:
                key = f"{key}[{step}]"
        return key

    def _only(self, kind: str, name: str) -> bool:
        tables = self.data.get(kind, [])
        return isinstance(tables, list) and sum(isinstance(t, dict) and t.get("name") == name for t in tables) == 1

    # ---- names

    def _unique(self, kind: str, tables: Sequence[_Named]) -> None:
        """Refuse names that are equal in C, where '-' becomes '_'."""
        seen: dict[str, str] = {}
        for index, table in enumerate(tables):
            alike = re.sub(r"[-./]", "_", table.name)
            if alike in seen:
                self.fail(f"{kind}[{index}].name", table.name, f"is already the name of another {kind}",
                          "" if seen[alike] == table.name else f"{seen[alike]!r} is the same name in C")
            seen[alike] = table.name
        if kind == "link" and BASE in seen:
            self.fail(f"link.{BASE}", BASE, "is the ground and needs no [[link]]", "give the link another name")
        if kind == "joint":
            for name in seen.values():
                if name in ("t", "mode") or name.endswith((".vel", ".acc")):
                    self.fail(f"joint.{name}.name", name, "means something else as a column of a trajectory",
                              "give the joint another name")

    def _known(self, key: str, name: str, names: Iterable[str], kind: str) -> None:
        names = list(names)
        if name not in names:
            self.fail(key, name, f"no such {kind}", hint(name, names, f"{kind}s"))

    def _known_link(self, key: str, name: str, base: bool = True) -> None:
        names = [t.name for t in self.table.link] + ([BASE] if base else [])
        self._known(key, name, names, "link")

    # ---- tables

    def _control(self) -> Control:
        t = self.table.control
        if t.rate_hz % t.knot_hz:
            near = min((d for d in range(1, t.rate_hz + 1) if t.rate_hz % d == 0), key=lambda d: abs(d - t.knot_hz))
            self.fail("control.knot_hz", t.knot_hz, f"rate_hz = {t.rate_hz} must be a whole multiple of it",
                      f"nearest: {near}")
        observer_hz = min(OBSERVER_HZ, OBSERVER_PER_TICK * t.rate_hz) if t.observer_hz is None else t.observer_hz
        if observer_hz > OBSERVER_PER_TICK * t.rate_hz:
            self.fail("control.observer_hz", observer_hz, f"must be at most a quarter of rate_hz = {t.rate_hz}",
                      "a faster one only passes noise on")
        return Control(**{**t.model_dump(), "observer_hz": observer_hz})

    def _safety(self) -> Safety:
        t = self.table.safety
        least, most = t.gain_overlay
        if not least <= 1.0 <= most:
            self.fail("safety.gain_overlay", t.gain_overlay,
                      "must be [least, most] with the file's own gains, 1.0, between",
                      "[0.5, 1.5], say")
        brake = Brake(**t.brake.model_dump()) if t.brake else None
        cutoff = Cutoff(**t.cutoff.model_dump()) if t.cutoff else None
        park = Park(**t.park.model_dump()) if t.park else None
        if park is None and t.host == "park":
            self.fail("safety.host", t.host, "needs a pose to lie down in", "write [safety.park] with pose = {...}")
        if park is not None and (park.heat or park.supply_v is not None):
            for name, reaction in (("host", t.host), ("motion", t.motion)):
                if reaction == "hold":
                    self.fail(f"safety.{name}", reaction, "would hold for good an arm that heat or a low supply is to "
                              "lay down", '"coast" or "brake"')
        return Safety(**{**t.model_dump(), "gain_overlay": (least, most), "brake": brake, "cutoff": cutoff,
                         "park": park})

    def _follow(self) -> Follow:
        t = self.table.follow
        delay = None if t.delay == "auto" else 0.0 if t.delay == "none" else float(t.delay)
        return Follow(delay=delay, timeout=t.timeout, frame=None if t.frame == "auto" else float(t.frame))

    def _link(self, t: LinkTable) -> Link:
        key = f"link.{t.name}"
        if t.rod is not None and (t.com is not None or t.inertia is not None):
            self.fail(f"{key}.rod", t.rod, "stands instead of com and inertia; give one or the other")
        rod = t.rod if t.rod is not None else t.beam.length if t.beam is not None and t.inertia is None else None
        if rod is not None:
            com = np.array([rod / 2.0, 0.0, 0.0]) if t.com is None else _vector(t.com)
            inertia = np.diag([0.0, t.mass * square(rod) / 12.0, t.mass * square(rod) / 12.0])
        else:
            if t.mass > 0.0:
                for name in ("com", "inertia"):
                    if getattr(t, name) is None:
                        self.fail(f"{key}.{name}", None, "is required",
                                  "or rod = LENGTH for a uniform slender rod along x")
            com = _vector(t.com or [0.0] * 3)
            inertia = _inertia(t.inertia or [0.0] * 6)
        self._check_physical(t.name, f"{key}.inertia", t.inertia, t.mass, inertia)
        section = None if t.section is None else Section(t.section.area, t.section.radius)
        return Link(t.name, t.mass, com, inertia, section,
                    None if t.beam is None else self._beam(f"{key}.beam", t.beam))

    def _beam(self, key: str, t: BeamTable) -> Beam:
        rigid = (None, None)
        for about, EI, GA_s in zip("yz", t.EI, t.GA_s or rigid, strict=True):
            if EI is None and GA_s is not None:
                self.fail(f"{key}.GA_s", t.GA_s, f"shears where EI says that it does not bend, about {about}",
                          "give both for a plane or none")
        (y, z), (shear_y, shear_z) = (
            [np.inf if value is None else value for value in pair] for pair in (t.EI, t.GA_s or rigid))
        return Beam(t.length, (y, z), t.elements, t.damping, t.GJ, (shear_y, shear_z))

    def _payload(self, t: PayloadTable) -> Payload:
        key = f"payload.{t.name}"
        self._known_link(f"{key}.link", t.link, base=False)
        inertia = _inertia(t.inertia)
        self._check_physical(t.link, f"{key}.inertia", t.inertia, t.mass, inertia)
        return Payload(t.name, t.link, t.mass, _vector(t.com), inertia)

    def _check_physical(self, link: str, key: str, value: object, mass: float, inertia: NDArray[np.float64]) -> None:
        """Check a body's principal moments: none negative or above the sum of the other two; all zero without mass."""
        moments = np.linalg.eigvalsh(inertia)
        slack = PHYSICAL_TOLERANCE * float(np.abs(moments).sum())
        if moments[0] < -slack:
            rule = f"no body has the negative principal moment {moments[0]:.3g}"
        elif moments[2] > moments[0] + moments[1] + slack:
            rule = (f"no body has the principal moments {moments[0]:.3g}, {moments[1]:.3g}, {moments[2]:.3g}: "
                    "each is at most the sum of the others")
        elif mass == 0.0 and moments[2] > 0.0:
            rule = "no body has inertia without mass"
        else:
            return
        if self.unphysical == "refuse":
            self.fail(key, value, rule, 'order is ixx, iyy, izz, ixy, ixz, iyz; unphysical = "warn" lets it pass')
        self.unlikely.append((link, f"{key}: {rule}"))

    def _warn_unphysical(self, mechanism: Mechanism) -> None:
        """Warn about inertias of links that move. The inertia of a link on the ground changes no torque."""
        moving, still = {j.name for j in mechanism.moving}, {BASE}
        for joint in () if mechanism.modes else mechanism.joints:
            if joint.parent in still and joint.name not in moving:
                still.add(joint.child)
        for link, text in self.unlikely:
            if link not in still:
                self.warn(text)

    # ---- joints

    def _tree_order(self) -> list[JointTable]:
        """Return the joints with parents before their children, and otherwise in the order of the file."""
        joints = list(self.table.joint)
        carried: dict[str, JointTable] = {}
        if not joints:
            self.fail("joint", None, "a mechanism needs at least one [[joint]]")
        for t in joints:
            key = f"joint.{t.name}"
            self._known_link(f"{key}.parent", t.parent)
            self._known_link(f"{key}.child", t.child)
            if t.child == BASE:
                self.fail(f"{key}.child", t.child, "the ground cannot be the child of a joint", "swap parent and child")
            if t.child == t.parent:
                self.fail(f"{key}.child", t.child, "is the joint's own parent")
            if t.child in carried:
                self.fail(f"{key}.child", t.child, f"is already the child of joint {carried[t.child].name!r}",
                          "close a kinematic loop with [[loop]]")
            carried[t.child] = t
        for link in self.table.link:
            if link.name not in carried:
                self.fail(f"link.{link.name}", None, "is not connected to the base",
                          f'no joint has child = "{link.name}"')
        placed, order = {BASE}, []
        while waiting := [t for t in joints if t.child not in placed]:
            ready = next((t for t in waiting if t.parent in placed), None)
            if ready is None:
                self._fail_cycle(waiting[0], carried)
            placed.add(ready.child)
            order.append(ready)
        return order

    def _fail_cycle(self, joint: JointTable, carried: dict[str, JointTable]) -> NoReturn:
        """Raise BadInput that names the joints of a cycle.

        Every link has a parent joint, so the path from `joint` towards the root ends in the cycle."""
        passed = [joint]
        while (joint := carried[joint.parent]) not in passed:
            passed.append(joint)
        circle = passed[passed.index(joint):]
        names = " <- ".join(t.name for t in [*circle, joint])
        self.fail(f"joint.{joint.name}.parent", joint.parent, f"joints go in a circle: {names}",
                  "close a kinematic loop with [[loop]]")

    def _channels(self, order: Sequence[JointTable]) -> dict[str, int]:
        """Return each joint's motor channel: the file's value, or the joint's index among the motors of the file."""
        motors = [t for t in self.table.joint if t.motor is not None and t.drive is None]
        channels: dict[str, int] = {}
        users: dict[int, str] = {}
        for number, t in enumerate(motors):
            assert t.motor is not None
            channel = number if t.motor.channel is None else t.motor.channel
            if channel in users:
                self.fail(f"joint.{t.name}.motor.channel", channel, f"is already used by joint {users[channel]!r}")
            channels[t.name], users[channel] = channel, t.name
        return channels

    def _joint(self, t: JointTable, channel: int) -> Joint:
        key = f"joint.{t.name}"
        motor = None if t.motor is None else Motor(**{**t.motor.model_dump(exclude={"name"}), "channel": channel})
        if motor and (motor.continuous is None) != (motor.thermal_s is None):
            self.fail(f"{key}.motor.{'continuous' if motor.thermal_s is not None else 'thermal_s'}", None,
                      "is required beside the other one", "give both or neither")
        encoder = None if t.encoder is None else Encoder(**t.encoder.model_dump())
        limits = self._limits(t)
        drive = None if t.drive is None else buses.read_drive(t, t.drive, limits, self.buses, self.fail)
        if drive is not None and drive.servo is not None:
            motor = buses.servo_motor(t.name, drive, motor, self.fail)
        self._check_drive(t, motor if t.motor else None, encoder, limits)
        follows = None if t.mimic is None else Mimic(**t.mimic.model_dump())
        if follows is not None:
            driven = next((key for key in ("motor", "drive", "encoder") if getattr(t, key) is not None), None)
            mimic.check(t.name, follows, t.type, "gains" if t.gains.ku or t.gains.kv or t.gains.ki else driven,
                        self.fail)
        if t.c_mot and t.stiffness:
            self.fail(f"{key}.stiffness", t.stiffness, "c_mot is given too; give one or the other")
        self._check_spring(t, limits)
        self._check_friction(t)
        return Joint(
            name=t.name, type=t.type, parent=t.parent, child=t.child, xyz=_vector(t.xyz), rpy=_vector(t.rpy),
            axis=self._axis(t), actuated=t.actuated and t.type != "fixed", start=self._start(t, limits),
            c_mot=t.c_mot, stiffness=t.stiffness, rest=t.rest, limits=limits,
            friction=Friction(**t.friction.model_dump()), motor=motor, encoder=encoder,
            gains=Gains(**t.gains.model_dump()), home=self._home(t, encoder, limits),
            drive=drive, mimic=follows, said=self.called.get(t.name, ""),
            contact=None if t.contact is None else Contact(**t.contact.model_dump()),
        )

    def _check_friction(self, t: JointTable) -> None:
        """Refuse Stribeck friction with a missing key, or with a velocity at which friction has not faded out."""
        key, f = f"joint.{t.name}.friction", t.friction
        if not f.stribeck and not f.stribeck_velocity and not f.load:
            return
        if t.mimic is not None or (not t.actuated and t.motor is None and t.drive is None):
            self.fail(f"{key}.{'load' if f.load else 'stribeck'}", f.load or f.stribeck,
                      "is fed forward to joints that a motor turns, and this one has none of its own", "remove it")
        if bool(f.stribeck) != bool(f.stribeck_velocity):
            self.fail(f"{key}.{'stribeck_velocity' if f.stribeck else 'stribeck'}", None,
                      "is required beside the other one", "give both or neither")
        least = COULOMB_VELOCITY[t.type == "prismatic"]
        if f.stribeck and f.stribeck_velocity <= least:
            self.fail(f"{key}.stribeck_velocity", f.stribeck_velocity,
                      f"must be above {least:g}, below which friction fades out towards rest",
                      f"{2.0 * least:g} or more")

    def _check_spring(self, t: JointTable, limits: Limits) -> None:
        """Refuse a spring at a joint of more than half a turn, since the chip knows positions within a turn only."""
        key, ends = "stiffness" if t.stiffness else "c_mot", (limits.lower, limits.upper)
        if (t.stiffness or t.c_mot) and t.actuated and t.type in ("revolute", "continuous") and not all(
                abs(end) < np.pi for end in ends):
            self.fail(f"joint.{t.name}.{key}", getattr(t, key), f"a joint with a spring stays within half a turn of "
                      f"zero, and this one has {ends[0]:.4g} .. {ends[1]:.4g}",
                      "limits = { lower = -3, upper = 3 }, or less")

    def _home(self, t: JointTable, encoder: Encoder | None, limits: Limits) -> Home | None:
        """Return the settings for the search of a joint's zero. If encoder.zero is index or stop, the table `home` is
        required. For any other zero the table `home` is refused."""
        key, sought = f"joint.{t.name}.home", encoder is not None and encoder.zero in ("index", "stop")
        if t.home is None and encoder is not None and sought:
            self.fail(key, None, f"is required by encoder.zero = {encoder.zero!r}",
                      "home = { at = ..., direction = -1 }: where the joint stands at its index or stop")
        if t.home is None:
            return None
        if not sought:
            self.fail(key, None, "is of use with encoder.zero = 'index' or 'stop' only")
        if t.home.effort is not None and t.home.effort > limits.effort:
            self.fail(f"{key}.effort", t.home.effort, f"is more than limits.effort = {limits.effort:g}")
        if t.home.speed is not None and t.home.speed > 0.5 * limits.velocity:
            self.fail(f"{key}.speed", t.home.speed, f"is more than half of limits.velocity = {limits.velocity:g}")
        return Home(**t.home.model_dump())

    def _axis(self, t: JointTable) -> NDArray[np.float64]:
        if t.axis is None:
            if t.type == "fixed":
                return np.array([0.0, 0.0, 1.0])
            self.fail(f"joint.{t.name}.axis", None, "is required", "the joint's axis in its own frame, as [0, 0, 1]")
        length = float(norm(t.axis))
        if length < 1e-9:
            self.fail(f"joint.{t.name}.axis", t.axis, "must not be zero")
        return _vector([a / length for a in t.axis])

    def _limits(self, t: JointTable) -> Limits:
        key, given = f"joint.{t.name}.limits", t.limits
        limits = Limits(**{k: v for k, v in given.model_dump().items() if v is not None})
        if t.type == "continuous" and (given.lower is not None or given.upper is not None):
            side = "lower" if given.lower is not None else "upper"
            self.fail(f"{key}.{side}", getattr(given, side), "a continuous joint turns without end",
                      'use type = "revolute"')
        if limits.lower >= limits.upper:
            self.fail(f"{key}.lower", limits.lower, f"must be less than upper = {limits.upper:g}",
                      f"to freeze a joint use lock = {{ {t.name} = ... }}")
        return limits

    def _start(self, t: JointTable, limits: Limits) -> float:
        """Return the joints' pose at power-up. Default: zero within the limits, otherwise the middle of the limits."""
        if t.start is None:
            inside = limits.lower <= 0.0 <= limits.upper
            return 0.0 if inside else float(np.mean([x for x in (limits.lower, limits.upper) if np.isfinite(x)]))
        if not limits.lower <= t.start <= limits.upper:
            self.fail(f"joint.{t.name}.start", t.start,
                      f"is outside the joint's limits {limits.lower:g} .. {limits.upper:g}",
                      "" if t.type == "prismatic" else in_radians(t.start, limits.lower, limits.upper))
        return t.start + 0.0

    def _check_drive(self, t: JointTable, motor: Motor | None, encoder: Encoder | None, limits: Limits) -> None:
        key = f"joint.{t.name}"
        if t.type == "fixed":
            for name in ("motor", "encoder"):
                if getattr(t, name) is not None:
                    self.fail(f"{key}.{name}", None, "a fixed joint has none", "did you mean another type?")
        if motor is not None and not t.actuated:
            self.fail(f"{key}.actuated", False, "a joint with a motor is actuated", "remove one of the two")
        if not t.actuated and (t.gains.ku or t.gains.kv or t.gains.ki):
            self.fail(f"{key}.gains", None, "a joint that is not actuated has no gains")
        if encoder is not None and encoder.at == "motor" and motor is None:
            self.fail(f"{key}.encoder.at", encoder.at, "this joint has no motor", 'use at = "joint"')
        if motor is None:
            return
        if abs(motor.gear) < 1e-6:
            self.fail(f"{key}.motor.gear", motor.gear, "must not be zero", "motor turns per joint turn, signed")
        if self.table.board is not None and np.isfinite(limits.effort):
            volts = t.drive.supply if t.drive and t.drive.supply else self.table.board.bus_voltage
            stall = abs(motor.gear) * motor.K * volts / motor.R
            if limits.effort > stall * (1.0 + 1e-9):
                self.fail(f"{key}.limits.effort", limits.effort,
                          f"the motor gives at most gear K V / R = {stall:.4g} at stall",
                          "lower it, or raise gear, K or board.bus_voltage")

    def _lock(self, joints: Sequence[Joint]) -> dict[str, float]:
        by_name = {j.name: j for j in joints}
        for name, value in self.table.lock.items():
            if name not in by_name:
                self.fail(self._key(("lock", name)), value, "no such joint", hint(name, by_name, "joints"))
            joint = by_name[name]
            if joint.type == "fixed":
                self.fail(f"lock.{name}", value, "the joint is fixed already")
            if not joint.limits.lower <= value <= joint.limits.upper:
                self.fail(f"lock.{name}", value,
                          f"is outside the joint's limits {joint.limits.lower:g} .. {joint.limits.upper:g}",
                          "" if joint.type == "prismatic"
                          else in_radians(value, joint.limits.lower, joint.limits.upper))
        return {name: value + 0.0 for name, value in self.table.lock.items()}

    def _check_outboard_mass(self, mechanism: Mechanism) -> None:
        """Refuse a moving joint that carries only massless links, because this joint has no equation of motion."""
        heavy = {link.name for link in mechanism.links if link.mass > 0.0 or np.any(link.inertia)}
        heavy |= {p.link for p in mechanism.payloads if p.mass > 0.0 or np.any(p.inertia)}
        moving = {j.name for j in mechanism.moving}
        for joint in reversed(mechanism.joints):
            if joint.child in heavy:
                heavy.add(joint.parent)
            elif joint.name in moving:
                rule = "moves no mass: every link from here on is massless"
                if mechanism.unphysical == "refuse":
                    self.fail(f"joint.{joint.name}.child", joint.child, rule,
                              "give it mass, make the joint fixed, or lock it")
                self.warn(f"joint.{joint.name}: {rule}")

    # ---- loops and modes: kept as data; later stages refuse the unsupported ones

    def _check_loops(self, mechanism: Mechanism) -> None:
        """Refuse a loop between two links of one body, and two equal loops."""
        body = {BASE: BASE}  # for each link: the link whose body includes it
        moving = {j.name for j in mechanism.moving}
        for joint in mechanism.joints:
            body[joint.child] = joint.child if joint.name in moving else body[joint.parent]
        seen: dict[tuple[object, ...], str] = {}
        for loop in mechanism.loops:
            a, b = loop.a, loop.b
            if body[a.link] == body[b.link]:
                self.fail(f"loop.{loop.name}.b.link", b.link,
                          f"cannot move against {a.link!r}: they are fixed together")
            place = (frozenset((x.link, *x.xyz.tolist(), *x.rpy.tolist()) for x in (a, b)), loop.type)
            if place in seen:
                self.fail(f"loop.{loop.name}", None, f"is loop {seen[place]!r} once more")
            seen[place] = loop.name

    def _check_modes(self, mechanism: Mechanism) -> None:
        """Warn about loops and payloads that no mode uses, and about passive joints that change nothing."""
        if not mechanism.modes:
            return
        for kind, things in (("loop", mechanism.loops), ("payload", mechanism.payloads)):
            used = {name for mode in mechanism.modes for name in getattr(mode, f"{kind}s")}
            for thing in things:
                if thing.name not in used:
                    self.warn(f"{kind}.{thing.name}: no mode {'closes' if kind == 'loop' else 'attaches'} it")
        by_name, moving = {j.name: j for j in mechanism.joints}, {j.name for j in mechanism.moving}
        for mode in mechanism.modes:
            for name in mode.passive:
                if name not in moving or not by_name[name].actuated:
                    why = "is not actuated in any mode" if name in moving else "cannot move"
                    self.warn(f"mode.{mode.name}.passive: {name} {why}")

    def _loop(self, t: Any) -> Loop:
        for side in ("a", "b"):
            self._known_link(f"loop.{t.name}.{side}.link", getattr(t, side).link)
        if t.a.link == t.b.link:
            self.fail(f"loop.{t.name}.b.link", t.b.link, "both sides are the same link")
        a, b = (Anchor(s.link, _vector(s.xyz), _vector(s.rpy)) for s in (t.a, t.b))
        return Loop(t.name, t.type, a, b)

    def _mode(self, t: Any) -> Mode:
        key = f"mode.{t.name}"
        names = {
            "loops": ("loop", [x.name for x in self.table.loop]),
            "payloads": ("payload", [x.name for x in self.table.payload]),
            "passive": ("joint", [x.name for x in self.table.joint if x.type != "fixed"]),
        }
        for field, (kind, known) in names.items():
            listed = getattr(t, field)
            for index, name in enumerate(listed):
                self._known(f"{key}.{field}[{index}]", name, known, kind)
                if name in listed[:index]:
                    self.fail(f"{key}.{field}[{index}]", name, "is listed twice")
        self._known_link(f"{key}.root", t.root)
        return Mode(t.name, tuple(t.loops), tuple(t.payloads), tuple(t.passive), t.root, t.ramp_s)

    def warn(self, text: str) -> None:
        self.warnings.append(" ".join(text.split()))


def _usable(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(NAME_PATTERN, name) is not None


def _vector(values: Sequence[float]) -> NDArray[np.float64]:
    vector = np.array(values, float) + 0.0  # -0.0 becomes 0.0
    vector.setflags(write=False)
    return vector


def _inertia(values: Sequence[float]) -> NDArray[np.float64]:
    """Return ixx, iyy, izz, ixy, ixz, iyz as a symmetric matrix (3, 3)."""
    xx, yy, zz, xy, xz, yz = values
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], float) + 0.0
    matrix.setflags(write=False)
    return matrix


