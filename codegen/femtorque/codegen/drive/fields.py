"""Quantities as integers in bit fields, for the frames of drives.

A frame is a sequence of fields, the most significant bit first, as in the command of the MIT mode. A field of N bits
represents a range linearly: 0 is the lowest value, 2^N - 1 the highest. Encoding clamps a value to the range and rounds
it to a step. No number overflows, and the code of zero has an error of at most half a step. If the drive truncates
instead (bgkatz/motorcontrol, float_to_uint), the error is at most one step."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """A field of `bits` bits that represents values from low to high, in the unit of the quantity."""

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
        """Return the nearest count, clamped to the range. NaN is encoded like 0."""
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
    """Fields of a frame, the most significant bit first. All fields together fill whole bytes."""

    fields: tuple[Field, ...]

    @property
    def size(self) -> int:
        """Number of bytes."""
        return sum(f.bits for f in self.fields) // 8

    def pack(self, counts: Mapping[str, int]) -> bytes:
        """Pack counts by name. Raise KeyError if a count is missing, OverflowError if one does not fit its field."""
        whole = 0
        for f in self.fields:
            count = counts[f.name]
            if not 0 <= count < 1 << f.bits:
                raise OverflowError(f"{f.name} = {count} does not fit into {f.bits} bits")
            whole = whole << f.bits | count
        return whole.to_bytes(self.size, "big")

    def unpack(self, data: bytes) -> dict[str, int]:
        """Unpack counts by name. Raise ValueError for data of another size."""
        if len(data) != self.size:
            raise ValueError(f"{len(data)} bytes instead of {self.size}")
        whole, counts = int.from_bytes(data, "big"), {}
        for f in reversed(self.fields):
            counts[f.name] = whole & (1 << f.bits) - 1
            whole >>= f.bits
        return counts
