"""Quantities as whole numbers in fields of bits, as the frames of drives carry them.

A frame is a row of fields, the most significant bit first, as in the MIT mode's command. A field of N bits holds a
range linearly: 0 its lowest, 2^N - 1 its highest value. Encoded numbers are clamped into the range and rounded, so that
nothing wraps and zero is at most half a step off; a drive's own truncation (bgkatz/motorcontrol, float_to_uint) is then
at most one step away.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """A field of `bits` bits over low .. high, in the quantity's own unit."""

    low: float
    high: float
    bits: int

    @property
    def top(self) -> int:
        return (1 << self.bits) - 1

    @property
    def step(self) -> float:
        """Value of one count."""
        return (self.high - self.low) / self.top

    def encode(self, value: float) -> int:
        """The nearest count; beyond the range the last one, for no number the one nearest to zero."""
        if value != value:  # NaN
            value = 0.0
        return round((min(max(value, self.low), self.high) - self.low) / self.step)

    def decode(self, count: int) -> float:
        return self.low + count * self.step


@dataclass(frozen=True)
class Field:
    name: str
    bits: int


@dataclass(frozen=True)
class Layout:
    """Fields of a frame, whole bytes together, the most significant bit first."""

    fields: tuple[Field, ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(f.bits for f in self.fields) // 8

    def pack(self, counts: Mapping[str, int]) -> bytes:
        """Counts by name; KeyError for one that is missing, OverflowError for one that does not fit."""
        whole = 0
        for f in self.fields:
            count = counts[f.name]
            if not 0 <= count < 1 << f.bits:
                raise OverflowError(f"{f.name} = {count} does not fit into {f.bits} bits")
            whole = whole << f.bits | count
        return whole.to_bytes(self.size, "big")

    def unpack(self, data: bytes) -> dict[str, int]:
        """ValueError for data of another size."""
        if len(data) != self.size:
            raise ValueError(f"{len(data)} bytes instead of {self.size}")
        whole, counts = int.from_bytes(data, "big"), {}
        for f in reversed(self.fields):
            counts[f.name] = whole & (1 << f.bits) - 1
            whole >>= f.bits
        return counts
