"""What a bit of a CAN bus is made of: quanta of the controller's clock, before and behind the sample point."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_QUANTA = 4  # a bit has one to synchronise and three more


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
        """Where a bit is looked at, of its length."""
        return (1 + self.before) / self.quanta


def sample_point(bitrate: int) -> float:
    """Where CiA would have a bit looked at (CiA 301; SocketCAN's default for CAN FD's data phase too)."""
    return 0.75 if bitrate > 800_000 else 0.8 if bitrate > 500_000 else 0.875


def timings(clock_hz: int, bitrate: int, prescaler: int, before: int, behind: int, jump: int) -> list[BitTiming]:
    """All that make exactly this rate within these limits, the best first: nearest to the usual sample point, then of
    the finest quanta. Both ends of a bus count on the same rate, so none is made nearly."""
    found = []
    for divider in range(1, prescaler + 1):
        quanta, left = divmod(clock_hz, divider * bitrate)
        if left or not LEAST_QUANTA <= quanta <= 1 + before + behind:
            continue
        tail = min(max(round((1.0 - sample_point(bitrate)) * quanta), 1), behind)
        ahead = quanta - 1 - tail
        if 1 <= ahead <= before:
            found.append(BitTiming(divider, ahead, tail, min(jump, tail)))
    return sorted(found, key=lambda t: (round(abs(t.sample_point - sample_point(bitrate)), 3), t.prescaler))
