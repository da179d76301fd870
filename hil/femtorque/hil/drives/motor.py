"""Motor of a drive (motor.c): inner loop, current lag, encoder without whole turns, winding temperature."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from femtorque.hil.clock import Member
from femtorque.hil.drives.library import library

TURN = 2.0 * math.pi
AMBIENT = 25.0  # deg C


@dataclass(frozen=True)
class Traits:
    """Constants of a motor and its inner loop. rated: torque that heats the winding by `rise` (K) in steady state, as a
    fraction of the maximum torque."""

    rate: float  # rate of the inner loop, Hz
    bandwidth: float  # first-order bandwidth of the torque, Hz
    window: float  # time over which the velocity is averaged, s
    rated: float = 1.0 / 3.0
    rise: float = 75.0
    thermal: float = 60.0  # thermal time constant, s
    moves_on: bool = False  # true if the position setpoint advances with the velocity setpoint of the command


@dataclass
class Command:
    """Command, referred to the output: rad, rad/s, N m/rad, N m s/rad, N m."""

    position: float = 0.0
    velocity: float = 0.0
    kp: float = 0.0
    kd: float = 0.0
    torque: float = 0.0


class Motor:
    """Motor, inner loop and encoder of a drive.

    limit: maximum torque, N m. lower_turn: lower limit of the turn that contains the position after power-up, rad from
    zero. torque: present torque at the output, N m. standing: true while the phases have constant voltages.
    """

    active, standing = Member(bool), Member(bool)
    limit, torque, temperature = Member(float), Member(float), Member(float)

    def __init__(self, limit: float, traits: Traits, lower_turn: float = -math.pi) -> None:
        self.state: Any = library()[0].new("motor *")  # the C struct
        self.limit, self.lower_turn, self.temperature = limit, lower_turn, AMBIENT
        for name, value in asdict(traits).items():
            setattr(self.state, name, value)
        self.power_up(0.0)

    def power_up(self, angle: float) -> None:
        """Switch the power on at this angle of the output, rad. The encoder knows only the angle in a turn."""
        self.stop()
        state = self.state
        state.torque = state.measured = 0.0
        state.angle = angle
        within = (angle - state.zero - self.lower_turn) % TURN + self.lower_turn
        state.offset = angle - within

    def set_zero(self) -> None:
        """Make the present position the zero position."""
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
        """Hold the present phase voltages constant while the output turns. electric: electrical angle per angle of the
        output. damping: damping by the back-EMF across the winding's resistance, N m s/rad."""
        s = self.state
        s.still, s.still_at, s.electric, s.damping = s.torque + damping * s.measured, s.angle, electric, damping
        self.standing = True

    def hold(self, pos_gain: float, vel_gain: float, integrator: float, wound_up: float | None) -> None:
        """Close a position loop around a velocity loop. pos_gain, vel_gain, integrator: gains, 1/s, N m s per turn, N m
        per turn. wound_up: factor on the integral in each period at the torque limit. If the value is None, the gains
        of the command apply."""
        s = self.state
        s.pos_gain, s.vel_gain, s.integrator, s.wound_up = pos_gain, vel_gain, integrator, wound_up or 0.0
        s.holding = wound_up is not None

    def fade(self, limit: float, gain: float) -> None:
        """Reduce the torque near a velocity limit, turns/s. gain: torque per excess of velocity, N m s per turn; 0
        disables the reduction."""
        self.state.fade_limit, self.state.fade_gain, self.state.fading = limit, gain, gain != 0.0
