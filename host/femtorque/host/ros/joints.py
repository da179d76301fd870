"""Computes the positions of all moving joints, coupled and passive ones included, from the board's report."""

from dataclasses import replace

import numpy as np

from femtorque.codegen.common import Array, Refused
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model, assemble, in_mode

STEP = 1e-4  # step of the difference quotient for dependent joints' velocities, s


class Joints:
    """names: names of all moving joints. The board streams J of these joints, in the mechanism's order."""

    def __init__(self, mechanism: Mechanism) -> None:
        alone = in_mode(mechanism)
        self._streamed = [joint.called for joint in mechanism.streamed]
        self._assembly = assemble(Model.of(alone)) if alone.constrained else None
        if self._assembly is None:
            self.names = [joint.called for joint in mechanism.moving]
            self._rest = np.array([joint.rest for joint in mechanism.moving])
        else:
            self.names = [body.joint.called for body in self._assembly.model.bodies]
            self._driven = [self._streamed.index(joint.called) for joint in mechanism.streamed
                            if joint.name in {one.name for one in alone.streamed}]
        self._places = [self.names.index(name) for name in self._streamed]

    def at(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return positions and velocities of all joints from the positions and velocities (J,) of the streamed joints.
        If the loop equations have no solution, dependent joints keep their positions."""
        if self._assembly is None:
            whole, speed = self._rest.copy(), np.zeros(len(self.names))
        else:
            rows = np.array([q, q + STEP * v])[:, self._driven]
            try:
                found = self._assembly.follow(rows)
                self._assembly = replace(self._assembly, start=found[0])
                whole, speed = found[0], (found[1] - found[0]) / STEP
            except Refused:
                whole, speed = np.array(self._assembly.start, float), np.zeros(len(self.names))
        whole[self._places], speed[self._places] = q, v
        return whole, speed

    def efforts(self, torques: Array) -> Array:
        """Return the efforts of all joints, N m or N. Undriven joints get 0."""
        found = np.zeros(len(self.names))
        found[self._places] = torques
        return found
