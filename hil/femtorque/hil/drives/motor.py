"""Motor of a drive: an inner loop, a current with a lag, an encoder that forgets turns, heat. C (motor.c) steps it."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from femtorque.hil.clock import Member
from femtorque.hil.drives.library import library

TURN = 2.0 * math.pi
AMBIENT = 25.0  # deg C


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


class Motor:
    """limit: the largest torque, N m. lower_turn: rad from its zero, the beginning of the turn in which its position
    lies after power-up. torque: at the output now, N m. standing: its phases have constant voltages. state: that of
    C."""

    active, standing = Member(bool), Member(bool)
    limit, torque, temperature = Member(float), Member(float), Member(float)

    def __init__(self, limit: float, traits: Traits, lower_turn: float = -math.pi) -> None:
        self.state: Any = library()[0].new("motor *")
        self.limit, self.lower_turn, self.temperature = limit, lower_turn, AMBIENT
        for name, value in asdict(traits).items():
            setattr(self.state, name, value)
        self.power_up(0.0)

    def power_up(self, angle: float) -> None:
        """Switch on while the output is at an angle, of which only the place within a turn is known."""
        self.stop()
        state = self.state
        state.torque = state.measured = 0.0
        state.angle = angle
        within = (angle - state.zero - self.lower_turn) % TURN + self.lower_turn
        state.offset = angle - within

    def set_zero(self) -> None:
        """Set the zero here."""
        library()[1].motor_zero(self.state)

    @property
    def command(self) -> Command:
        s = self.state
        return Command(s.position, s.velocity, s.kp, s.kd, s.asked)

    @command.setter
    def command(self, command: Command) -> None:
        s = self.state
        s.position, s.velocity, s.kp, s.kd, s.asked = (
            command.position, command.velocity, command.kp, command.kd, command.torque)

    @property
    def position(self) -> float:
        """Measured position, rad."""
        return float(library()[1].motor_position(self.state))

    @property
    def velocity(self) -> float:
        return float(self.state.measured)

    def stop(self) -> None:
        """Switch the current off."""
        library()[1].motor_stop(self.state)

    def stand(self, electric: float, damping: float) -> None:
        """Keep the present voltages, wherever it turns. electric: rad per rad of the output; damping: N m s/rad, of the
        motor's own voltage across its resistance."""
        s = self.state
        s.still, s.still_at, s.electric, s.damping = s.torque + damping * s.measured, s.angle, electric, damping
        self.standing = True

    def hold(self, pos_gain: float, vel_gain: float, integrator: float, wound_up: float | None) -> None:
        """Follow positions by a loop around one of velocity: 1/s, N m s a turn, N m a turn. wound_up: factor of the
        integral in each period in which torque is at its limit; None: follow commands by their own gains."""
        s = self.state
        s.pos_gain, s.vel_gain, s.integrator, s.wound_up = pos_gain, vel_gain, integrator, wound_up or 0.0
        s.holding = wound_up is not None

    def fade(self, limit: float, gain: float) -> None:
        """Take torque away towards a limit of velocity, turns/s, by N m s a turn; gain 0: no longer."""
        self.state.fade_limit, self.state.fade_gain, self.state.fading = limit, gain, gain != 0.0
