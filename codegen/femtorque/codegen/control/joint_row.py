"""The constants of one joint in the main table of ft_config."""

from dataclasses import dataclass

from femtorque.codegen.control.table import INT32, PER_STEP, REAL, STEPS, STEPS_PER, UINT32, member


@dataclass(frozen=True)
class JointConstants:
    """The row of one joint in ft_joint. u is a half increment of the target in a tick."""

    unit: float = member(PER_STEP, "rad or m per position step")
    per_unit: float = member(STEPS_PER, "position steps per rad or m")
    count: float = member(REAL, "rad or m of one count, signed")
    ku: float = member(PER_STEP, "N m per position step")
    kv: float = member(REAL, "N m per rad, of u")
    ki: float = member(PER_STEP, "N m per position step and tick")
    rotor: float = member(REAL, "N m per rad, of u - u': 2 J N^2/dt^2")
    viscous: float = member(REAL, "N m per rad, of u + u': D/dt")
    coulomb: float = member(REAL, "N m: friction away from rest")
    coulomb_slope: float = member(REAL, "N m per rad of u + u': half the slope at rest")
    coulomb_width: float = member(REAL, "rad of u + u': a slower joint is at rest")
    effort: float = member(REAL, "N m: limit of the torque")
    resistance: float = member(REAL, "V per N m: R/(K N), signed")
    inductance: float = member(REAL, "V per N m of change: L/(K N dt)")
    back_emf: float = member(REAL, "V per rad, of u + u': K N/dt")
    speed: float = member(REAL, "rad/s, m/s: limit of a knot's velocity")
    overspeed: float = member(REAL, "rad, m of u: a faster joint is a fault")
    rest: float = member(REAL, "rad, m of u: a slower joint is at rest")
    span: float = member(REAL, "rad, m: largest reach of a segment")
    following: int = member(STEPS, "a larger error is a fault")
    start: int = member(STEPS, "largest distance to a motion's start")
    step: int = member(INT32, "fine position steps per count, signed")
    counts: int = member(INT32, "per tick: more counts are a fault")
    lower: int = member(INT32, "2^-24 turn")
    room: int = member(UINT32, "upper - lower")
    upper: int = member(INT32, "")
    margin: int = member(INT32, "a larger distance beyond a limit is a fault")
    patience: int = member(UINT32, "ticks at a limit without a count until a fault")
