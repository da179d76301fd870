"""Bit timing of a CAN bus: numbers of time quanta before and after the sample point."""

import math
from dataclasses import dataclass

# Usual bit rates, 1/s. For CAN FD's data phase: the rates that register 35 of Damiao's drives offers (openarm_can's
# CLI).
BITRATES = (125_000, 250_000, 500_000, 1_000_000)
DATA_BITRATES = (2_000_000, 2_500_000, 3_200_000, 4_000_000, 5_000_000, 8_000_000)
LEAST_QUANTA = 8  # a bit has 8 to 25 quanta: Bosch, CAN Specification 2.0, section 8
LOOP_DELAY = 255e-9  # maximum delay from a transceiver's transmit pin to its receive pin, s: ISO 11898-2:2016


@dataclass(frozen=True)
class BitTiming:
    """Bit timing of a controller."""

    prescaler: int  # clocks per time quantum
    before: int  # quanta from the synchronisation quantum to the sample point
    behind: int  # quanta from the sample point to the bit's end
    jump: int  # maximum resynchronisation of the sample point, quanta

    @property
    def quanta(self) -> int:
        return 1 + self.before + self.behind

    @property
    def sample_point(self) -> float:
        """Sample point, as a fraction of the bit time."""
        return (1 + self.before) / self.quanta


def sample_point(bitrate: int) -> float:
    """Return CiA's recommended sample point, as a fraction of the bit time (CiA 301).

    SocketCAN uses this point as its default, also in CAN FD's data phase."""
    return 0.75 if bitrate > 800_000 else 0.8 if bitrate > 500_000 else 0.875


def timings(clock_hz: int, bitrate: int, prescaler: int, before: int, behind: int, jump: int,
            compensated: int | None = None, latest: float | None = None) -> list[BitTiming]:
    """Return all bit timings within these limits that give exactly this bit rate, the best first. The best timing has
    the sample point nearest to the recommended one. Among equal timings, the timing with the shortest quanta comes
    first. All nodes of a bus need equal bit rates, so this list has only exact timings. compensated: largest data-phase
    prescaler with which the controller compensates the delay of its transceiver. Timings with a prescaler up to this
    limit come first in the list. Timings with a larger prescaler must have their sample point after the delay. latest:
    desired sample point instead of CiA's. No timing samples later."""
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
