"""What the motor board drives, as articulated point masses: a mechanism file's solids, beams, joints, loops, motors.

Used in the place of hil.plant.Plant, without an equation of motion in common: the joint angles are read from the
points, the equations are the paper's. Motors, encoders and the friction law along a joint are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codegen.mechanism import Mechanism
from hil.encoders import Encoders
from hil.motors import Motors
from hil.plant import EnergyBook
from hil.plexus import beam, stability, tree
from hil.plexus.cycle import Cycle
from hil.plexus.drives import Drives
from hil.plexus.laws import Acting, Law, Spring, Stop
from hil.plexus.loads import Loads
from hil.plexus.stress import Members
from hil.plexus.system import Structure, build

Array = NDArray[np.float64]

MAX_STEP = 5e-4  # s


@dataclass(frozen=True)
class Penalty:
    """Stiffness and damping of the mechanical stops at the joints' limits, N m/rad and N m s/rad (N/m, N s/m)."""

    stiffness: float
    damping: float = 0.0


class Plant:
    """A mechanism in motion. q (n,) rad or m, v (n,) rad/s or m/s, current (n,) A, time s, all read only.

    mass_scale and friction_scale change it on purpose against what the controller believes; friction=False has none.
    start: (n,) joint positions, by default the file's. max_step: s, cut further to what stability allows. stops: give
    the joints' limits mechanical stops. laws: (law, slips by name) as in Acting.on. projection=False leaves
    the positions to drift as the paper does.
    """

    def __init__(self, mechanism: Mechanism, mass_scale: float = 1.0, friction_scale: float = 1.0,
                 friction: bool = True, max_step: float = MAX_STEP, *, start: ArrayLike | None = None,
                 rates: ArrayLike | None = None, stops: Penalty | None = None,
                 laws: Sequence[tuple[Law, str | dict[str, float]]] = (), projection: bool = True) -> None:
        self.mechanism, self.joints, self.n = mechanism, mechanism.moving, len(mechanism.moving)
        names = [joint.name for joint in self.joints]
        mechanism = tree.scaled(mechanism, mass_scale)
        assembly = tree.assemble(mechanism, start)
        self.motors = Motors([joint.motor for joint in self.joints])
        self.system, z = build(
            assembly.solids, assembly.joints + assembly.loops, assembly.places, coordinates=names,
            rotors=dict(zip(names, self.motors.inertia, strict=True)), gravity=mechanism.gravity, near=assembly.starts,
            extra_rows=[row for element in assembly.beams for row in beam.rows(element, assembly.solids)],
        )
        self.structure = Structure(self.system)
        acting = [Acting.on(Spring(j.stiffness, j.rest), names, j.name) for j in self.joints if j.stiffness > 0.0]
        acting += [Acting.on(law, names, slip) for law, slip in laws]
        if stops is not None:
            acting += [Acting.on(Stop(j.limits.lower, j.limits.upper, stops.stiffness, stops.damping), names, j.name)
                       for j in self.joints if np.isfinite(j.limits.lower) or np.isfinite(j.limits.upper)]
        beams = beam.Beams(assembly.beams, assembly.solids) if assembly.beams else None
        self.loads = Loads(self.structure, acting, beams)
        self.drives = Drives(self.n)
        scale = friction_scale if friction else 0.0
        self._viscous = scale * np.array([j.friction.viscous for j in self.joints])
        self.drives.coulomb = scale * np.array([j.friction.coulomb for j in self.joints])
        self.cycle = Cycle(self.structure, z, np.zeros_like(z), self.loads, self.drives, projection,
                           assembly.starts)
        if rates is not None:
            self.set_rates(rates)
        self.stable_step = stability.largest_step(self.cycle.equations, self.loads)
        self.max_step = min(max_step, self.stable_step)
        self.notes = assembly.notes + tuple(f"dependent row dropped: {name}" for name in self.system.dropped)
        self.members = Members.of(mechanism, assembly, self.system, beams)
        self.book = EnergyBook()
        self.encoders = Encoders(self.joints, self.q)

    @staticmethod
    def from_mechanism(mechanism: Mechanism, **options: object) -> Plant:
        return Plant(mechanism, **options)

    # -- what the board sees ------------------------------------------------

    @property
    def q(self) -> Array:
        return self.cycle.q

    @property
    def v(self) -> Array:
        return self.cycle.rates

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

    def push(self, seconds: float, torque: ArrayLike) -> None:
        """Let time pass with ideal joint torques (n,) N m (N for prismatic joints), the motors floating."""
        self._advance(seconds, np.full(self.n, np.nan), np.asarray(torque, float))

    def set_rates(self, rates: ArrayLike) -> None:
        """Give the joints their rates (n,), as near as the mechanisms allow (least squares where loops bind them)."""
        cycle, along = self.cycle, self.cycle.along
        impulse = np.linalg.lstsq(along.compliance, np.asarray(rates, float) - cycle.rates, rcond=1e-12)[0]
        cycle.v = cycle.v + along.responses @ impulse
        cycle.restart()

    def _advance(self, seconds: float, voltage: Array, torque: Array) -> None:
        count = max(1, int(np.ceil(seconds / self.max_step - 1e-9)))
        t = seconds / count
        self.motors.connect(t, voltage)
        self.drives.viscous = self._viscous + self.motors.damping
        for _ in range(count):
            self.drives.active = torque + self.motors.torque()
            before = self.q
            self.cycle.step(t)
            moved = self.q - before
            self.motors.turn(moved / t)
            self.book.motors += float((self.drives.active - self.motors.damping * moved / t) @ moved)
            self.book.friction += float((self._viscous * moved / t - self.drives.dry) @ moved)
            self.members.record(self.cycle, self.drives.total + self.loads.torques)

    # -- bookkeeping --------------------------------------------------------

    def kinetic(self) -> float:
        """Kinetic energy with the rotors', J."""
        return self.cycle.kinetic_energy()

    def potential(self) -> float:
        """Potential energy of gravity, springs, stops and beams, J."""
        return self.loads.potential(self.cycle.z, self.q)
