"""Parameters of a virtual drive, from the maker's papers, the maker's code, or measurements of users."""

from dataclasses import dataclass
from typing import NamedTuple

from femtorque.hil.bus import BitTiming

UNTIMED = float("inf")


class Said(NamedTuple):
    """A number and its source."""

    number: float
    source: str


@dataclass(frozen=True)
class Maker:
    """Parameters of a family with factory settings.

    boot: time from power-up until a drive is on the bus, s. sample, fast: sample points of the arbitration phase and of
    CAN FD's data phase, as fractions of a bit; None for a servo on a half-duplex bus.
    """

    limit: Said  # timeout of commands, s; UNTIMED without a timeout
    boot: Said = Said(0.0, "not published; 0 is the hardest to notice")
    answers: Said = Said(20e-6, "chosen: an interrupt and a packing")  # time from the end of a frame to its answer, s
    mode: Said = Said(0, "it has one alone")  # number of the control mode
    sample: Said | None = None
    fast: Said | None = None

    def timing(self, bitrate: float) -> BitTiming:
        """Return the bit timing of the arbitration phase, or of classic CAN."""
        return _timing(bitrate, self.sample)

    def data_timing(self, bitrate: float) -> BitTiming:
        """Return the bit timing of CAN FD's data phase."""
        return _timing(bitrate, self.fast)


def _timing(bitrate: float, sample: Said | None) -> BitTiming:
    """Return a bit timing with 340 quanta per bit, which 1/85, 1/17 and 1/4 of a bit divide evenly."""
    assert sample is not None, "no sample point"
    before = round(340 * sample.number)
    return BitTiming(1.0 / (340 * bitrate), before, 340 - before, min(340 - before, 68))
