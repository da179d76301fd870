"""The mechanism that a motor board drives, as articulated point masses: solids, beams, joints, loops and motors.

It can replace femtorque.hil.plant.rigid.Plant, with the same motors, encoders and friction law, but without a common
equation of motion: the equations are the paper's, and joint angles are computed from the points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, Refused
from femtorque.codegen.mechanism import BASE, Mechanism
from femtorque.hil.plant.articulated import beam, stability, switching, tree
from femtorque.hil.plant.articulated.cycle import Cycle
from femtorque.hil.plant.articulated.elements import Element
from femtorque.hil.plant.articulated.loads import Loads
from femtorque.hil.plant.articulated.stress import Members
from femtorque.hil.plant.articulated.system import Coupling, Structure, System, build, closed, lay_out
from femtorque.hil.plant.drive_rotors import reflected
from femtorque.hil.plant.driven_plants import Stepped
from femtorque.hil.plant.encoders import Encoders
from femtorque.hil.plant.hinges import stiffnesses
from femtorque.hil.plant.motors import Motors
from femtorque.hil.plant.plain_friction import plain
from femtorque.hil.plant.plant_library import library

MAX_STEP = 5e-4  # s


class Plant(Stepped):
    """The state of a mechanism. q (n,) rad or m, v (n,) rad/s or m/s, current (n,) A, time s, all read only.

    mass_scale and friction_scale make the plant differ from the mechanism file. start: (n,) joint positions, by default
    those of the file. If loops need another pose, the solver closes them near `start`. The actuated joints keep their
    positions if possible. A plant with modes starts in the first mode. max_step: largest time step, s, which is reduced
    to the stable step.
    """

    cycle: Cycle
    loads: Loads

    def __init__(self, mechanism: Mechanism, mass_scale: float = 1.0, friction_scale: float = 1.0,
                 max_step: float = MAX_STEP, *, start: ArrayLike | None = None,
                 velocities: ArrayLike | None = None) -> None:
        joints = mechanism.moving
        super().__init__(len(joints), Motors([joint.motor for joint in joints], reflected(joints)))
        self.mechanism, self.joints = mechanism, joints
        self._names = [joint.name for joint in self.joints]
        self._scaled = tree.scaled(mechanism, mass_scale)
        self._loose = any(mode.root != BASE for mode in mechanism.modes)
        self._longest = max_step
        self._springs = stiffnesses(mechanism), np.array([joint.rest for joint in joints])
        plain(self.joints, "loops and modes")
        self._viscous = friction_scale * np.array([j.friction.viscous for j in self.joints])
        self._coulomb = friction_scale * np.array([j.friction.coulomb for j in self.joints])

        self.mode = mechanism.modes[0].name if mechanism.modes else None
        first = self._scaled.in_mode(self.mode)
        assembly = tree.assemble(first, start, self._loose)
        elements = assembly.joints + assembly.loops + self._held(first, assembly, assembly.places)
        # The encoders read zero at the start pose. When loops close, passive joints may move away from the start pose.
        given = self._names if start is not None else [joint.name for joint in first.moving if joint.actuated]
        system, z = build(assembly.solids, elements, assembly.places, near=assembly.starts,
                          held=given if first.constrained else (), **self._parts(assembly))
        self._enter(first, assembly, system, z, np.zeros_like(z), assembly.starts)
        if velocities is not None:
            self.set_velocities(velocities)
        self.encoders = Encoders(self.joints, lambda: self.q)
        self.counts = self.encoders.counts

    def _parts(self, assembly: tree.Assembly) -> dict[str, Any]:
        """Return the data that the systems of all modes have in common."""
        return {"coordinates": self._names, "rotors": dict(zip(self._names, self.motors.inertia, strict=True)),
                "gravity": self.mechanism.gravity, "couplings": self._couplings(),
                "extra_rows": [row for element in assembly.beams for row in beam.rows(element, assembly.solids)]}

    def _couplings(self) -> list[Coupling]:
        """Return the rows of the mimic joints."""
        return [Coupling(k, self._names.index(joint.mimic.joint), joint.mimic.ratio, joint.mimic.offset)
                for k, joint in enumerate(self.joints) if joint.mimic]

    def _held(self, mechanism: Mechanism, assembly: tree.Assembly, places: Array) -> tuple[Element, ...]:
        """Return the rows that fix the mode's root link to the ground, if a mode has a root other than the base."""
        if not self._loose:
            return ()
        place = assembly.link_places[mechanism.modes[0].root]
        return (switching.hold(place, assembly.solids[place.solid], places[place.solid - 1]),)

    def _enter(self, mechanism: Mechanism, assembly: tree.Assembly, system: System, z: Array, v: Array, near: Array,
               time: float = 0.0) -> None:
        """Continue with another system, starting at degrees of freedom z and velocities v (size,)."""
        self.system, self.structure, self._assembly = system, Structure(system), assembly
        beams = beam.Beams(assembly.beams, assembly.solids) if assembly.beams else None
        self.loads = Loads(self.structure, beams, self._springs)
        self.cycle = Cycle(self.structure, z, v, self.loads, self.motors, near)
        self.cycle.time, self.cycle.viscous, self.cycle.coulomb = time, self._viscous, self._coulomb
        at = self.cycle.rows.pointers("q", "velocities")
        self._plug(self.cycle.arm, library()[1].point_steps, at["q"], at["velocities"])
        self.stable_step = stability.largest_step(self.cycle.equations, self.loads)
        self.max_step = min(self._longest, self.stable_step)
        self.notes = assembly.notes + tuple(f"dependent row dropped: {name}" for name in system.dropped)
        self.members = Members.of(mechanism, assembly, system, beams)
        if len(self.members.owner):
            self.watch(lambda: self.members.record(self.cycle, self.cycle.total + self.loads.torques))

    def switch(self, name: str) -> None:
        """Switch to a mode at once. If the mode does not fit (see switching.py), raise Refused and change nothing."""
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
        # First check the velocity of payloads that are picked up: the jolt of a fast payload makes loops slip too.
        alone = switching.carried(old.solids[1:], new.solids[1:], new.solids[1:], x, v)[1]
        switching.check_pick_up(kept.solids[1:], new.solids[1:], alone, name)
        switching.check(system, z, still, fresh, name)
        system, z = closed(system, z, self.q)
        self._enter(after, new, system, z, still, self.q, self.time)
        self.mode = name

    # -- what the board sees ------------------------------------------------

    @property
    def q(self) -> Array:
        return self.cycle.q

    @property
    def v(self) -> Array:
        return self.cycle.velocities

    @property
    def torque(self) -> Array:
        return self.cycle.torque

    @torque.setter
    def torque(self, torque: Array) -> None:
        self.cycle.torque = torque

    # -- motion -------------------------------------------------------------

    def stop(self) -> None:
        """Stop all joints at once."""
        self.cycle.v = np.zeros_like(self.cycle.v)
        self.cycle.restart()

    def set_velocities(self, velocities: ArrayLike) -> None:
        """Set the joint velocities (n,). In loops the least-squares solution for the velocities is used."""
        cycle, along = self.cycle, self.cycle.along
        impulse = np.linalg.lstsq(along.compliance, np.asarray(velocities, float) - cycle.velocities, rcond=1e-12)[0]
        cycle.v = cycle.v + along.responses @ impulse
        cycle.restart()

    def _impossible(self) -> Refused:
        return self.cycle.refusal()

    # -- bookkeeping --------------------------------------------------------

    def kinetic(self) -> float:
        """Return the kinetic energy, including the rotors, J."""
        return self.cycle.kinetic_energy()

    def potential(self) -> float:
        """Return the potential energy of gravity, springs and beams, J."""
        return self.loads.potential(self.cycle.z, self.q)
