"""Constants of Stribeck and load-dependent friction (firmware/src/control/ft_law.c): one row per joint, if the file has
values for them."""

from dataclasses import dataclass

from femtorque.codegen.control.table import REAL, member
from femtorque.codegen.mechanism import COULOMB_VELOCITY, Mechanism
from femtorque.codegen.model import beyond_coulomb


@dataclass(frozen=True)
class StribeckConstants:
    """The row of one joint in ft_stribeck_joint. u is a half increment of the target in a tick."""

    stribeck: float = member(REAL, "N m: additional friction at rest")
    fast: float = member(REAL, "per rad, of u + u': 1/(v_s dt)")
    load: float = member(REAL, "N m per N m of tau_ID")
    slope: float = member(REAL, "per rad: of u + u' at rest")


def rows(mechanism: Mechanism) -> list[StribeckConstants]:
    """Return a row for each streamed joint. Return no rows if all joints have only viscous and Coulomb friction."""
    if not any(map(beyond_coulomb, mechanism.streamed)):
        return []
    hz = float(mechanism.control.rate_hz)
    return [StribeckConstants(stribeck=f.stribeck, fast=hz / f.stribeck_velocity if f.stribeck_velocity else 0.0,
                              load=f.load, slope=hz / COULOMB_VELOCITY[joint.type == "prismatic"])
            for joint in mechanism.streamed for f in [joint.friction]]
