"""Temperatures of thermistors in a divider, from the converter's counts.

An NTC thermistor has R = r25 exp(beta (1/T - 1/T25)), T in K. The firmware has no logarithm: it interpolates between
the temperatures at every STEP-th count.
"""

from dataclasses import dataclass

from femtorque.codegen.common import exp, log

COUNTS = 4096  # the converter's full range
THERMISTOR_STEP = 64  # counts between two entries of the table
RAIL = 24  # counts; a reading nearer to an end means a broken or shorted wire
KELVIN, WARM = 273.15, 298.15  # K


@dataclass(frozen=True)
class Thermistor:
    """A thermistor in a divider. r25: ohm at 25 deg C. beta: K. resistor: ohm to the other rail. at_supply: the
    thermistor is at the supply."""

    r25: float
    beta: float
    resistor: float
    at_supply: bool

    def share(self, celsius: float) -> float:
        """Return the voltage on the pin, as a share of the supply."""
        ohm = self.r25 * exp(self.beta * (1.0 / (celsius + KELVIN) - 1.0 / WARM))
        return (self.resistor if self.at_supply else ohm) / (ohm + self.resistor)

    def celsius(self, share: float) -> float:
        """Return the temperature, deg C, at a voltage share between 0 and 1."""
        ohm = self.resistor * ((1.0 - share) / share if self.at_supply else share / (1.0 - share))
        return 1.0 / (1.0 / WARM + log(ohm / self.r25) / self.beta) - KELVIN


def thermistor_table(thermistor: Thermistor) -> list[float]:
    """Return deg C at 0, STEP, ... COUNTS. Both ends hold the temperature at RAIL, because no reading is at an end."""
    counts = [min(max(n, RAIL), COUNTS - RAIL) for n in range(0, COUNTS + 1, THERMISTOR_STEP)]
    return [round(thermistor.celsius(n / COUNTS), 2) for n in counts]
