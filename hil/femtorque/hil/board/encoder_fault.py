"""Errors of an encoder."""

from dataclasses import dataclass, field
from random import Random

from femtorque.hil.board.adjustable import Adjustable


@dataclass
class EncoderFault(Adjustable):
    """Faults of an encoder."""

    frozen: int | None = None  # constant count; None while the encoder counts
    offset: int = 0  # counts that are added
    sign: int = 1  # -1 if the direction is reversed
    noise: int = 0  # maximum random error of a reading, counts
    stall: int = 0  # additional cycles of the next reading
    random: Random = field(default_factory=lambda: Random(1))

    @property
    def none(self) -> bool:
        """True if the encoder has no error."""
        return self.frozen is None and self.sign == 1 and not (self.offset or self.noise or self.stall)

    def seen(self, counts: int) -> int:
        off = self.random.randint(-self.noise, self.noise) if self.noise else 0
        return (self.sign * counts if self.frozen is None else self.frozen) + self.offset + off

    def reverse(self, counts: int) -> None:
        """Reverse the counting direction, starting from the present count."""
        self.offset, self.sign = self.seen(counts) + self.sign * counts, -self.sign
