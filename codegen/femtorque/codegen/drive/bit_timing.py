"""Segments of a CAN bus' bit: quanta of the controller's clock, before and behind the sample point."""

import math
from dataclasses import dataclass

# 1/s: usual rates; of CAN FD's data phase those that register 35 of Damiao's drives has (openarm_can's CLI)
BITRATES = (125_000, 250_000, 500_000, 1_000_000)
DATA_BITRATES = (2_000_000, 2_500_000, 3_200_000, 4_000_000, 5_000_000, 8_000_000)
LEAST_QUANTA = 8  # of a bit: Bosch, CAN Specification 2.0, 8 (bit timing): 8 to 25
LOOP_DELAY = 255e-9  # s from a transceiver's transmit to its receive pin, at most: ISO 11898-2:2016


@dataclass(frozen=True)
class BitTiming:
    """prescaler: clocks a quantum. before: quanta from the one that synchronises to the sample point; behind: from
    there to the bit's end; jump: by which it may be moved."""

    prescaler: int
    before: int
    behind: int
    jump: int

    @property
    def quanta(self) -> int:
        return 1 + self.before + self.behind

    @property
    def sample_point(self) -> float:
        """Sample point, as a share of the bit."""
        return (1 + self.before) / self.quanta


def sample_point(bitrate: int) -> float:
    """CiA's sample point (CiA 301; SocketCAN's default for CAN FD's data phase too), as a share of the bit."""
    return 0.75 if bitrate > 800_000 else 0.8 if bitrate > 500_000 else 0.875


def timings(clock_hz: int, bitrate: int, prescaler: int, before: int, behind: int, jump: int,
            compensated: int | None = None, latest: float | None = None) -> list[BitTiming]:
    """All that make exactly this rate within these limits, the best first: nearest to the usual sample point, then of
    the finest quanta. Both ends of a bus count on the same rate, so none is made nearly.

    compensated: of a data phase, the largest prescaler with which the controller makes up for the delay of its own
    bits; such bits come first, and those of a larger one must be sampled after that delay. latest: the sample point
    that is asked for, instead of CiA's; none is later.
    """
    found, wanted = [], sample_point(bitrate) if latest is None else latest
    for divider in range(1, prescaler + 1):
        quanta, left = divmod(clock_hz, divider * bitrate)
        if left or not LEAST_QUANTA <= quanta <= 1 + before + behind:
            continue
        exact = (1.0 - wanted) * quanta
        tail = max(min(round(exact), behind) if latest is None else math.ceil(exact - 1e-9), 1)
        ahead = quanta - 1 - tail
        late = compensated is not None and divider > compensated
        if 1 <= ahead <= before and tail <= behind and not (late and ahead * divider < LOOP_DELAY * clock_hz):
            found.append((late, BitTiming(divider, ahead, tail, min(jump, tail))))
    return [t for _, t in sorted(found, key=lambda f: (
        f[0], round(abs(f[1].sample_point - wanted), 3), f[1].prescaler))]
