"""Numbers of a virtual drive, as published by its maker, done by its maker's code, or found by its users."""

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
    """boot: s from power-up until it is on the bus. answers: s from the end of a frame to its answer. limit: s without
    a command after which it acts by itself, as it comes; UNTIMED: never. mode: that of its control as it comes, in
    its maker's numbers. sample, fast: sample points, shares of a bit, of arbitration and of CAN FD's data phase; a
    servo on a half-duplex wire has none."""

    boot: Said
    answers: Said
    limit: Said
    mode: Said = Said(0, "it has one alone")
    sample: Said | None = None
    fast: Said | None = None

    def timing(self, bitrate: float) -> BitTiming:
        """Bits of arbitration, or of classic CAN."""
        return _timing(bitrate, self.sample)

    def data_timing(self, bitrate: float) -> BitTiming:
        """Bits of the data phase."""
        return _timing(bitrate, self.fast)


def _timing(bitrate: float, sample: Said | None) -> BitTiming:
    """Bits of 340 quanta: shares of 85 and of 17, and quarters, are whole numbers of them."""
    assert sample is not None, "no sample point"
    before = round(340 * sample.number)
    return BitTiming(1.0 / (340 * bitrate), before, 340 - before, min(340 - before, 68))
