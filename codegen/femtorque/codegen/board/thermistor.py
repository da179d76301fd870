"""Temperatures of thermistors in a divider, from the converter's counts.

An NTC thermistor has R = r25 exp(beta (1/T - 1/T25)), T in K. The firmware computes no logarithm. The firmware
interpolates between the temperatures at every STEP-th count."""

from dataclasses import dataclass

from femtorque.codegen.common import exp, log

COUNTS = 4096  # the converter's full range
THERMISTOR_STEP = 64  # ADC counts between two entries of the table
RAIL = 24  # ADC counts; a reading within RAIL of 0 or full range means a broken or shorted wire
KELVIN, WARM = 273.15, 298.15  # K


@dataclass(frozen=True)
class Thermistor:
    """A thermistor in a divider."""

    r25: float  # resistance at 25 deg C, ohm
    beta: float  # B constant, K
    resistor: float  # resistance between pin and second rail, ohm
    at_supply: bool  # true if the thermistor is between pin and supply

    def share(self, celsius: float) -> float:
        """Return the pin's voltage divided by the supply voltage."""
        ohm = self.r25 * exp(self.beta * (1.0 / (celsius + KELVIN) - 1.0 / WARM))
        return (self.resistor if self.at_supply else ohm) / (ohm + self.resistor)

    def celsius(self, share: float) -> float:
        """Return the temperature, deg C, at a ratio of pin voltage to supply voltage between 0 and 1."""
        ohm = self.resistor * ((1.0 - share) / share if self.at_supply else share / (1.0 - share))
        return 1.0 / (1.0 / WARM + log(ohm / self.r25) / self.beta) - KELVIN


def thermistor_table(thermistor: Thermistor) -> list[float]:
    """Return deg C at 0, STEP, ... COUNTS. Below RAIL and above COUNTS - RAIL the table repeats the nearest valid
    temperature, because no valid reading is there."""
    counts = [min(max(n, RAIL), COUNTS - RAIL) for n in range(0, COUNTS + 1, THERMISTOR_STEP)]
    return [round(thermistor.celsius(n / COUNTS), 2) for n in counts]
