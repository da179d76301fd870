"""What the motor board drives, as articulated point masses: a mechanism file's solids, beams, joints, loops, motors.

Used in the place of femtorque.hil.plant.rigid.Plant, without an equation of motion in common: the joint angles are
read from the points, the equations are the paper's. Motors, encoders and the friction law along a joint are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.mechanism.description import BASE, Mechanism
from femtorque.hil.plant.articulated import beam, stability, switching, tree
from femtorque.hil.plant.articulated.cycle import Cycle
from femtorque.hil.plant.articulated.drives import Drives
from femtorque.hil.plant.articulated.elements import Element
from femtorque.hil.plant.articulated.laws import Acting, Law, Spring, Stop
from femtorque.hil.plant.articulated.loads import Loads
from femtorque.hil.plant.articulated.point_steps import PointSteps
from femtorque.hil.plant.articulated.stress import Members
from femtorque.hil.plant.articulated.system import Coupling, Structure, System, build, closed, lay_out
from femtorque.hil.plant.drive_rotors import reflected
from femtorque.hil.plant.encoders import Encoders
from femtorque.hil.plant.hinges import stiffnesses
from femtorque.hil.plant.lent import Lendable, Own, own
from femtorque.hil.plant.motors import Motors
from femtorque.hil.plant.rigid import EnergyBook

Array = NDArray[np.float64]

MAX_STEP = 5e-4  # s


@dataclass(frozen=True)
class Penalty:
    """Stiffness and damping of the mechanical stops at the joints' limits, N m/rad and N m s/rad (N/m, N s/m)."""

    stiffness: float
    damping: float = 0.0


class Plant(Lendable):
    """A mechanism in motion. q (n,) rad or m, v (n,) rad/s or m/s, current (n,) A, time s, all read only.

    mass_scale and friction_scale change it on purpose against what the controller believes; friction=False has none.
    start: (n,) joint positions, by default the file's; of closed loops a pose near which they close, at the actuated
    joints' own start if that can be. With modes, it begins in the first one. max_step: s, cut further to what stability
    allows. stops: give the joints' limits mechanical stops. laws: (law, slips by name) as in Acting.on.
    projection=False leaves the positions to drift as the paper does. compiled: whether steps are taken in C where that
    knows all there is and no stresses are asked for; what is here is what that is held against.
    """

    cycle, drives, loads = Own[Cycle](), Own[Drives](), Own[Loads]()
    motors, book = Own[Motors](), Own[EnergyBook]()

    def __init__(self, mechanism: Mechanism, mass_scale: float = 1.0, friction_scale: float = 1.0,
                 friction: bool = True, max_step: float = MAX_STEP, *, start: ArrayLike | None = None,
                 velocities: ArrayLike | None = None, stops: Penalty | None = None,
                 laws: Sequence[tuple[Law, str | dict[str, float]]] = (), projection: bool = True,
                 compiled: bool = True) -> None:
        self.mechanism, self.joints, self.n = mechanism, mechanism.moving, len(mechanism.moving)
        self._names = [joint.name for joint in self.joints]
        self._scaled = tree.scaled(mechanism, mass_scale)
        self._loose = any(mode.root != BASE for mode in mechanism.modes)
        self._longest, self._projection, self._wants_c = max_step, projection, compiled
        self._cycle: Cycle
        self._drives: Drives
        self._loads: Loads
        self._motors: Motors
        self._book: EnergyBook
        self.motors = Motors([joint.motor for joint in self.joints], reflected(self.joints))
        names = self._names
        self._acting = [Acting.on(Spring(k, j.rest), names, j.name)
                        for j, k in zip(self.joints, stiffnesses(mechanism).tolist(), strict=True) if k > 0.0]
        self._acting += [Acting.on(law, names, slip) for law, slip in laws]
        if stops is not None:
            self._acting += [Acting.on(Stop(j.limits.lower, j.limits.upper, stops.stiffness, stops.damping), names,
                                       j.name)
                             for j in self.joints if np.isfinite(j.limits.lower) or np.isfinite(j.limits.upper)]
        self.drives = Drives(self.n)
        scale = friction_scale if friction else 0.0
        self._viscous = scale * np.array([j.friction.viscous for j in self.joints])
        self.drives.coulomb = scale * np.array([j.friction.coulomb for j in self.joints])
        self.book = EnergyBook()

        self.mode = mechanism.modes[0].name if mechanism.modes else None
        first = self._scaled.in_mode(self.mode)
        assembly = tree.assemble(first, start, self._loose)
        elements = assembly.joints + assembly.loops + self._held(first, assembly, assembly.places)
        # the encoders' zero is the start pose, which loops may move passive joints away from
        given = names if start is not None else [joint.name for joint in first.moving if joint.actuated]
        system, z = build(assembly.solids, elements, assembly.places, near=assembly.starts,
                          held=given if first.constrained else (), **self._parts(assembly))
        self._enter(first, assembly, system, z, np.zeros_like(z), assembly.starts)
        if velocities is not None:
            self.set_velocities(velocities)
        self.encoders = Encoders(self.joints, self.q)

    def _parts(self, assembly: tree.Assembly) -> dict[str, Any]:
        """What systems of all modes have alike."""
        return {"coordinates": self._names, "rotors": dict(zip(self._names, self.motors.inertia, strict=True)),
                "gravity": self.mechanism.gravity, "couplings": self._couplings(),
                "extra_rows": [row for element in assembly.beams for row in beam.rows(element, assembly.solids)]}

    def _couplings(self) -> list[Coupling]:
        """Of the mimic joints."""
        return [Coupling(k, self._names.index(joint.mimic.joint), joint.mimic.ratio, joint.mimic.offset)
                for k, joint in enumerate(self.joints) if joint.mimic]

    def _held(self, mechanism: Mechanism, assembly: tree.Assembly, places: Array) -> tuple[Element, ...]:
        """What holds the root link of the mode on the ground, where some mode has another root than the base."""
        if not self._loose:
            return ()
        place = assembly.link_places[mechanism.modes[0].root]
        return (switching.hold(place, assembly.solids[place.solid], places[place.solid - 1]),)

    def _enter(self, mechanism: Mechanism, assembly: tree.Assembly, system: System, z: Array, v: Array, near: Array,
               time: float = 0.0) -> None:
        """Go on with another system, from degrees of freedom z and velocities v (size,)."""
        self.system, self.structure, self._assembly = system, Structure(system), assembly
        beams = beam.Beams(assembly.beams, assembly.solids) if assembly.beams else None
        self.loads = Loads(self.structure, self._acting, beams)
        self.cycle = Cycle(self.structure, z, v, self.loads, self.drives, self._projection, near)
        self.cycle.time = time
        self.stable_step = stability.largest_step(self.cycle.equations, self.loads)
        self.max_step = min(self._longest, self.stable_step)
        self.notes = assembly.notes + tuple(f"dependent row dropped: {name}" for name in system.dropped)
        self.members = Members.of(mechanism, assembly, system, beams)
        self._compiled = None
        if self._wants_c and not len(self.members.owner):
            self._compiled = PointSteps.of(self.structure, self.loads, self.cycle.tolerance, self._projection)

    def switch(self, name: str) -> None:
        """Go over to a mode at once. Raises Refused where it does not fit (see switching.py); nothing changes then."""
        if name == self.mode:
            return
        before, old, moving = self._scaled.in_mode(self.mode), self._assembly, self.system.moving
        after = self._scaled.in_mode(name)
        both = tuple(payload for payload in after.payloads if payload in before.payloads)
        new, kept = (tree.assemble(m, self.q, self._loose) for m in (after, replace(after, payloads=both)))
        x, v = (each[: 12 * moving].reshape(-1, 4, 3) for each in (self.cycle.z, self.cycle.v))
        places, velocities = switching.carried(old.solids[1:], kept.solids[1:], new.solids[1:], x, v)
        held = self._held(after, new, places)
        system, z = lay_out(new.solids, new.joints + new.loops + held, places, **self._parts(new))
        z[12 * moving:] = self.q[system.geared]
        still = np.concatenate([velocities.ravel(), self.cycle.v[12 * moving:]])
        fresh = [loop.name for loop in after.loops if loop not in before.loops]
        if self._loose and before.modes[0].root != after.modes[0].root:
            fresh.append(switching.GROUND)
        # a payload picked up too fast first: its jolt makes closures slip, too
        alone = switching.carried(old.solids[1:], new.solids[1:], new.solids[1:], x, v)[1]
        switching.check_pick_up(kept.solids[1:], new.solids[1:], alone, name)
        switching.check(system, z, still, fresh, name)
        system, z = closed(system, z, self.q)
        energy = self.kinetic() + self.potential()
        self._enter(after, new, system, z, still, self.q, self.time)
        self.mode = name
        self.book.switches += self.kinetic() + self.potential() - energy

    @staticmethod
    def from_mechanism(mechanism: Mechanism, **options: Any) -> Plant:
        return Plant(mechanism, **options)

    # -- what the board sees ------------------------------------------------

    @property
    def q(self) -> Array:
        return self.cycle.q

    @property
    def v(self) -> Array:
        cycle = self.cycle
        told = self._compiled.rate(cycle.z, cycle.v) if self._compiled else None
        return cycle.velocities if told is None else told

    @property
    def current(self) -> Array:
        return self.motors.current

    @property
    def time(self) -> float:
        return self.cycle.time

    def counts(self) -> NDArray[np.int64]:
        """Encoder counts since power-up (n,), signed; 0 for joints without an encoder."""
        return self.encoders.counts(self.q)

    # -- motion -------------------------------------------------------------

    def drive(self, seconds: float, voltage: ArrayLike) -> None:
        """Let time pass with `voltage` (n,) V at the motors' terminals; NaN where the driver lets them float."""
        self._advance(seconds, np.asarray(voltage, float), np.zeros(self.n))

    def hold(self, seconds: float, voltage: ArrayLike) -> None:
        """Let time pass with `voltage` (n,) V at the motors' terminals and brakes on the joints: only currents
        change."""
        self.motors.hold(seconds, np.asarray(voltage, float))

    def push(self, seconds: float, torque: ArrayLike) -> None:
        """Let time pass with ideal joint torques (n,) N m (N for prismatic joints), the motors floating."""
        self._advance(seconds, np.full(self.n, np.nan), np.asarray(torque, float))

    def move(self, seconds: float, voltage: ArrayLike, torque: ArrayLike) -> None:
        """Let time pass with both: motors here, drives that give torques there."""
        self._advance(seconds, np.asarray(voltage, float), np.asarray(torque, float))

    def stop(self) -> None:
        """Nothing moves any more from now on, whatever that costs."""
        self.cycle.v = np.zeros_like(self.cycle.v)
        self.cycle.restart()

    def set_velocities(self, velocities: ArrayLike) -> None:
        """Give the joints their velocities (n,), as near as the mechanisms allow (least squares where loops bind
        them)."""
        cycle, along = self.cycle, self.cycle.along
        impulse = np.linalg.lstsq(along.compliance, np.asarray(velocities, float) - cycle.velocities, rcond=1e-12)[0]
        cycle.v = cycle.v + along.responses @ impulse
        cycle.restart()

    def _advance(self, seconds: float, voltage: Array, torque: Array) -> None:
        count = max(1, int(np.ceil(seconds / self.max_step - 1e-9)))
        self._take_steps(seconds / count, count, voltage, torque)

    def _in_python(self, h: float, voltage: Array, torque: Array) -> None:
        self.motors.connect(h, voltage)
        self.drives.viscous = self._viscous + self.motors.damping
        self.drives.active = torque + self.motors.torque()
        before = self.q
        self.cycle.step(h)
        moved = self.q - before
        self.motors.turn(moved / h)
        self.book.motors += float((self.drives.active - self.motors.damping * moved / h) @ moved)
        self.book.friction += float((self._viscous * moved / h - self.drives.dry) @ moved)
        self.members.record(self.cycle, self.drives.total + self.loads.torques)

    def _in_c(self, h: float, count: int, voltage: Array, torque: Array) -> int:
        self.recall()
        if self._compiled is None:
            return 0
        self._fill(self._compiled, voltage, torque)
        done = self._compiled.take(h, count)
        self._have_back()
        self.cycle.time += done * h
        return done

    def _fill(self, steps: PointSteps, voltage: Array, torque: Array) -> None:
        cycle, book = self._cycle, self._book
        steps.fill(cycle.z, cycle.v, cycle.gamma, cycle.q, self._motors.current, voltage, torque, *self._parameters())
        steps.arm.worked, steps.arm.lost = book.motors, book.friction

    def _parameters(self) -> tuple[Array, ...]:
        motors = self._motors
        return (motors.R, motors.L, motors.constant, self._viscous, self._drives.coulomb,
                self.structure.weight + self._loads.external)

    def _have_back(self) -> None:
        steps, drives, book = self._compiled, self._drives, self._book
        assert steps is not None
        self._cycle.resume(*map(steps.part, ("z", "v", "gamma", "q", "applied", "multipliers")))
        self._motors.current = steps.part("current")
        drives.total, drives.dry, self._loads.torques = map(steps.part, ("total", "dry", "laws"))
        book.motors, book.friction = steps.arm.worked, steps.arm.lost

    # -- lent ---------------------------------------------------------------

    @property
    def lendable(self) -> bool:
        return self._compiled is not None and own(self, "drive", Plant)

    @property
    def handle(self) -> int:
        assert self._compiled is not None
        return self._compiled.address

    @property
    def glance(self) -> tuple[Array, Array]:
        if self._borrower is None or self._compiled is None:
            return self.q.copy(), self.v.copy()
        return self._compiled.part("q"), self._compiled.part("rate")

    def tell_parameters(self) -> None:
        assert self._compiled is not None
        self._compiled.fill_from("ohm", *self._parameters())

    def _give(self) -> None:
        steps = self._compiled
        assert steps is not None
        rate = self.v
        self._fill(steps, np.full(self.n, np.nan), np.zeros(self.n))
        steps.start(rate)
        steps.handle.time, steps.handle.max_step = self.time, self.max_step

    def taken(self) -> None:
        super().taken()
        assert self._compiled is not None
        self._cycle.time = self._compiled.handle.time

    # -- bookkeeping --------------------------------------------------------

    def kinetic(self) -> float:
        """Kinetic energy with the rotors', J."""
        return self.cycle.kinetic_energy()

    def potential(self) -> float:
        """Potential energy of gravity, springs, stops and beams, J."""
        return self.loads.potential(self.cycle.z, self.q)
