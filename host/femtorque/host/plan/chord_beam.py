"""Describes a flexible link in the frame of its chord. The chord is the line from the link's joint to the point that
follows the path.

The tip point lies on the chord by definition. So the point's path gives the chord's motion by rigid kinematics. The
elastic coordinates follow from a separate problem (Tsujita et al., Eqs 12-15, with corrected terms: THEORY.md). The
link is a uniform beam, a Timoshenko beam if it shears. A rigid part beyond the beam's end is fixed to the beam or hangs
on a spring (the paper's joint 3). The deflection w across the chord, positive along its second axis, is

    w(x) = B(x) . W,    W = [slope at the joint, then deflections and slopes outward]

with w = 0 at the joint and at the point. Strains and deflections are small. The bending shortens the chord, which
stiffens a rotating beam. This effect is neglected. femtorque.host.plan.tip_exact corrects this error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.model import beam_elements


@dataclass(frozen=True)
class End:
    """The rigid part at the beam's end; x is measured from the beam's end."""

    mass: float = 0.0  # mass, kg
    com: float = 0.0  # centre of mass, x in m
    inertia: float = 0.0  # inertia about the centre of mass, kg m^2
    point: float = 0.0  # the point that follows the path, x in m
    spring: float | None = None  # stiffness between beam and part, N m/rad; None for a rigid connection


@dataclass(frozen=True)
class ChordBeam:
    """Integrals over the link's mass, < >, and its stiffness, in n coordinates W.

    BB = <B B>, K, C (n, n); B = <B>, Bx = <x B> (n,); mass = <1>, first = <x>, second = <x^2>; reach: from the joint to
    the tip point, m.
    """

    BB: Array
    K: Array
    C: Array
    B: Array
    Bx: Array
    mass: float
    first: float
    second: float
    reach: float
    hub: Array  # (n,): direction of the joint's torque, the slope at the joint
    active: Array  # (n,): direction of a motor in the spring at the beam's end

    @property
    def n(self) -> int:
        return len(self.B)

    @staticmethod
    def of(length: float, mass: float, EI: float, elements: int, damping: float = 0.0, end: End | None = None,
           GA_s: float = np.inf) -> ChordBeam:
        """Return a uniform beam of `length` m, `mass` kg, EI N m^2, strain-proportional damping time s and GA_s N.

        Nodal coordinates come first: [w, slope] per node and the end part's slope. Two constraints then place both ends
        of the chord at w = 0. The end part's slope replaces the deflection of the end node."""
        end = end or End()
        nodes = 2 * (elements + 1)
        n = nodes + 1
        BB, K, B, Bx = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n), np.zeros(n)
        free = beam_elements(length, mass, elements, EI / GA_s)
        BB[:nodes, :nodes], K[:nodes, :nodes] = free.M, EI * free.K
        B[:nodes], Bx[:nodes] = free.first, free.second
        C = damping * K
        tip, slope = nodes - 2, n - 1
        part = np.zeros(n)  # deflection at the end part's centre of mass
        part[tip], part[slope] = 1.0, end.com
        BB += end.mass * np.outer(part, part)
        BB[slope, slope] += end.inertia
        B += end.mass * part
        Bx += end.mass * (length + end.com) * part
        Bx[slope] += end.inertia  # <x B> of the end part about its own centre of mass
        apart = np.zeros(n)  # angle of the spring
        apart[slope], apart[nodes - 1] = 1.0, -1.0
        if end.spring is not None:
            K += end.spring * np.outer(apart, apart)

        T = np.eye(n)
        T[tip, slope] = -end.point  # the tip point stays on the chord
        drop = [0, tip]
        if end.spring is None:
            T[slope] = 0.0
            T[slope, nodes - 1] = 1.0
            T[tip] = 0.0
            T[tip, nodes - 1] = -end.point
            drop.append(slope)
        T = np.delete(T, drop, axis=1)
        x = length + end.com
        hub = np.zeros(n)
        hub[1] = 1.0
        return ChordBeam(
            BB=T.T @ BB @ T, K=T.T @ K @ T, C=T.T @ C @ T, B=T.T @ B, Bx=T.T @ Bx,
            mass=mass + end.mass, first=mass * length / 2 + end.mass * x,
            second=mass * length**2 / 3 + end.mass * x**2 + end.inertia,
            reach=length + end.point, hub=T.T @ hub, active=T.T @ apart)

