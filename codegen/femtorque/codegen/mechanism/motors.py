"""Commercial brushed motors and gear motors, with the makers' data, for new mechanism files.

Each motor names the source of its values. If a data sheet lacks a value, it is computed from other values and named in
`worked_out`, or must be measured (`femtorque identify`). SI units."""

import math
from dataclasses import dataclass

from femtorque.codegen.common import BadInput, hint


@dataclass(frozen=True)
class Sold:
    """A commercial motor. volts: nominal voltage. R ohm, L H, K N m/A and inertia kg m^2 refer to the motor shaft.
    continuous (A) and thermal_s have the meaning of a mechanism file's keys. continuous, thermal_s and inertia are None
    if the data sheet lacks them."""

    name: str
    what: str
    volts: float
    R: float
    L: float
    K: float
    inertia: float | None
    source: str
    gear: float = 1.0  # motor turns per output turn
    efficiency: float = 1.0  # efficiency of the gear
    torque: float = math.inf  # continuous torque of the output, N m, infinite if no data sheet limits it
    continuous: float | None = None
    thermal_s: float | None = None
    counts: int | None = None  # counts of the motor's encoder after quadrature x4; None without an encoder
    worked_out: str = ""

    def table(self) -> dict[str, float]:
        """Return the keys of a motor in a mechanism file."""
        found = {"R": self.R, "L": self.L, "K": self.K, "gear": self.gear, "inertia": self.inertia or 0.0,
                 "continuous": self.continuous, "thermal_s": self.thermal_s}
        return {key: value for key, value in found.items() if value is not None}

    def stall(self, volts: float) -> float:
        """Return the stall torque at the output, N m."""
        return self.efficiency * self.gear * self.K * volts / self.R

    def no_load(self, volts: float) -> float:
        """Return the no-load speed of the output, rad/s."""
        return volts / (self.gear * self.K)


FAULHABER_1331 = "FAULHABER data sheet 1331 ... SR"
FAULHABER_3863 = "FAULHABER data sheet 3863 ... CR, edition May 2012"
RE_40 = "maxon data of order no. 148867 (RE 40, 24 V, 150 W); L from an older edition of them"
POLOLU_37D = "Pololu data sheet \"37D Metal Gearmotors\" and product pages"

# name, motor turns per output turn, stall torque in kg mm, from the data sheet
POLOLU_RATIOS = ((19, 18.75, 85.0), (30, 30.0, 140.0), (50, 50.0, 210.0), (70, 70.0, 270.0), (100, 102.08, 340.0),
                 (131, 131.25, 450.0), (150, 150.0, 490.0))
POLOLU_STALL_A, POLOLU_IDLE_A, POLOLU_IDLE = 5.5, 0.15, 10_000.0 * 2.0 * math.pi / 60.0  # the motor at 12 V
KGF = 9.80665  # N
ELECTRICAL = 1e-3  # assumed L/R of a small iron-core motor if the data sheet gives no L, s


def _pololu(number: int, ratio: float, stall: float) -> Sold:
    """Return the motor: R from the stall current, K from the no-load speed, the efficiency from the stall torque."""
    R = 12.0 / POLOLU_STALL_A
    K = (12.0 - R * POLOLU_IDLE_A) / POLOLU_IDLE
    efficiency = stall * 1e-3 * KGF / (K * POLOLU_STALL_A * ratio)
    return Sold(f"pololu-37d-{number}", f"Pololu 37D {number}:1, 12 V, 64 counts per turn", 12.0, R, R * ELECTRICAL, K,
                None, POLOLU_37D, ratio, efficiency, 10.0 * 1e-2 * KGF, counts=64,
                worked_out="R, K and efficiency from stall and no load; L as 1 ms of R; rotor's inertia not told")


MOTORS: tuple[Sold, ...] = (
    Sold("faulhaber-1331-012sr", "FAULHABER 1331 T 012 SR, 13 mm", 12.0, 13.7, 310e-6, 11.4e-3, 0.67e-7, FAULHABER_1331,
         continuous=0.37, thermal_s=5.0),
    Sold("faulhaber-1331-024sr", "FAULHABER 1331 T 024 SR, 13 mm", 24.0, 52.9, 1100e-6, 21.8e-3, 0.63e-7,
         FAULHABER_1331, continuous=0.19, thermal_s=5.0),
    Sold("faulhaber-3863-012cr", "FAULHABER 3863 H 012 CR, 38 mm, 200 W", 12.0, 0.16, 45e-6, 19.9e-3, 120e-7,
         FAULHABER_3863, continuous=120.0 / 19.9, thermal_s=50.0, worked_out="continuous: 120 mN m over K"),
    Sold("faulhaber-3863-024cr", "FAULHABER 3863 H 024 CR, 38 mm, 200 W", 24.0, 0.64, 180e-6, 39.8e-3, 120e-7,
         FAULHABER_3863, continuous=157.0 / 39.8, thermal_s=50.0, worked_out="continuous: 157 mN m over K"),
    Sold("maxon-re40-24v", "maxon RE 40, 24 V, 150 W", 24.0, 0.299, 82.3e-6, 30.2e-3, 142e-7, RE_40,
         continuous=6.0, thermal_s=42.8),
    Sold("maxon-re40-24v-gp42c-12", "maxon RE 40, 24 V, with planetary gear GP 42 C 12:1", 24.0, 0.299, 82.3e-6,
         30.2e-3, 142e-7, RE_40 + "; of order no. 203115 (GP 42 C, 12:1)", 12.0, 0.81, 7.5, continuous=6.0,
         thermal_s=42.8),
    *(_pololu(*row) for row in POLOLU_RATIOS),
)


def named(name: str) -> Sold:
    """Return the motor with this name. Raise BadInput that suggests the most similar name."""
    found = next((sold for sold in MOTORS if sold.name == name), None)
    if found is None:
        raise BadInput("femtorque init", "--motor", name, "no such motor in the catalogue",
                       hint(name, [sold.name for sold in MOTORS], "motors"))
    return found


def fitting(effort: float, velocity: float, volts: float) -> Sold | None:
    """Return the catalogue's motor with the lowest power that gives this torque, N m, and velocity, rad/s. Return None
    if all motors of the catalogue are too weak."""
    good = [sold for sold in MOTORS if min(sold.stall(volts), sold.torque) >= effort
            and sold.no_load(volts) >= velocity and volts <= 1.1 * sold.volts]
    return min(good, key=lambda sold: sold.stall(volts) * sold.no_load(volts), default=None)


def motor_words(effort: float, velocity: float, volts: float) -> str:
    """Return a hint that names a suitable motor of the catalogue for a joint."""
    found = fitting(effort, velocity, volts)
    if found is not None:
        return f"{found.name} of `femtorque motors` gives {effort:.3g} N m and {velocity:.3g} rad/s"
    return f"none of `femtorque motors` gives {effort:.3g} N m and {velocity:.3g} rad/s at {volts:g} V"
