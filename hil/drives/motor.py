"""Motor of a drive: an inner loop, a current with a lag, an encoder that forgets turns, heat.

The loop is sampled at its own rate within each step of the plant; meanwhile the joint moves on with its velocity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

TURN = 2.0 * math.pi
AMBIENT = 25.0  # deg C
COUNTS = 1 << 16  # per turn of the output: finer than any field's step; chosen


@dataclass(frozen=True)
class Traits:
    """rate: of the inner loop, Hz. bandwidth: of the torque, first order, Hz. window: s over which the velocity is a
    mean. rated: share of the largest torque that heats the winding by rise (K) in the end, with the time constant
    thermal (s). moves_on: true if the position of a command moves on with its velocity."""

    rate: float
    bandwidth: float
    window: float
    rated: float = 1.0 / 3.0
    rise: float = 75.0
    thermal: float = 60.0
    moves_on: bool = False


@dataclass
class Command:
    """A command at the output: rad, rad/s, N m/rad, N m s/rad, N m."""

    position: float = 0.0
    velocity: float = 0.0
    kp: float = 0.0
    kd: float = 0.0
    torque: float = 0.0


@dataclass(frozen=True)
class Standing:
    """Constant voltages at the phases. torque: N m at rest at angle, rad of the output; electric: rad per rad of the
    output; damping: N m s/rad, of the motor's own voltage across its resistance."""

    torque: float
    angle: float
    electric: float
    damping: float

    def at(self, angle: float, velocity: float) -> float:
        return self.torque * math.cos(self.electric * (angle - self.angle)) - self.damping * velocity


class Motor:
    """limit: the largest torque, N m. lower_turn: rad from its zero, the beginning of the turn in which its position
    lies after power-up."""

    def __init__(self, limit: float, traits: Traits, lower_turn: float = -math.pi) -> None:
        self.limit, self.traits, self.lower_turn = limit, traits, lower_turn
        self.command = Command()
        self.active = False
        self.standing: Standing | None = None
        self.torque = 0.0  # present torque at the output
        self.temperature = AMBIENT
        self._zero = 0.0  # of the absolute encoder, stored without supply
        self._angle = 0.0  # of the output, any number of turns
        self._velocity = 0.0  # measured
        self._offset = 0.0
        self.power_up(0.0)

    def power_up(self, angle: float) -> None:
        """Switch on while the output is at an angle, of which only the place within a turn is known."""
        self.stop()
        self.torque = self._velocity = 0.0
        self._angle = angle
        within = (angle - self._zero - self.lower_turn) % TURN + self.lower_turn
        self._offset = angle - within

    def set_zero(self) -> None:
        """Set the zero here."""
        self._zero = self._offset = self._angle

    @property
    def position(self) -> float:
        """Measured position, rad."""
        return round((self._angle - self._offset) * COUNTS / TURN) * TURN / COUNTS

    @property
    def velocity(self) -> float:
        return self._velocity

    def stop(self) -> None:
        """Switch the current off."""
        self.active, self.command, self.standing = False, Command(), None

    def stand(self, electric: float, damping: float) -> None:
        """Keep the present voltages, wherever it turns."""
        self.standing = Standing(self.torque + damping * self._velocity, self._angle, electric, damping)

    def step(self, seconds: float, angle: float, velocity: float) -> float:
        """The mean torque at the output while it moves on from an angle with a velocity."""
        count = max(1, round(seconds * self.traits.rate))
        h = seconds / count
        follow = -math.expm1(-TURN * self.traits.bandwidth * h)
        smooth = h / (0.5 * self.traits.window + h)
        total = 0.0
        for i in range(count):
            self._angle = angle + i * h * velocity
            self._velocity += smooth * (velocity - self._velocity)
            if self.traits.moves_on:
                self.command.position += h * self.command.velocity
            self.torque += follow * (self._wanted() - self.torque)
            total += self.torque
        self._heat(seconds)
        return total / count

    def _wanted(self) -> float:
        if not self.active:
            return 0.0
        if self.standing:
            return min(max(self.standing.at(self._angle, self._velocity), -self.limit), self.limit)
        c = self.command
        torque = c.kp * (c.position - self.position) + c.kd * (c.velocity - self._velocity) + c.torque
        return min(max(torque, -self.limit), self.limit)

    def _heat(self, seconds: float) -> None:
        t = self.traits
        gain = (self.torque / (t.rated * self.limit)) ** 2 * t.rise
        self.temperature += (AMBIENT + gain - self.temperature) * -math.expm1(-seconds / t.thermal)
