"""Moves a tip by a gamepad while its dead-man's button is held. pygame-ce (extra `gamepad`) reads it through SDL."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from femtorque.codegen.common import Array, Refused, need

DEAD = 0.15  # of a stick's deflection
FULL = 32768.0  # of an axis


@dataclass(frozen=True)
class Sticks:
    """Stick positions, -1 to 1, positive to the right, away from the user and up; and the dead-man's button."""

    right: float
    away: float
    up: float
    held: bool


class PadJog:
    """A tip's velocity, base frame: left stick along x and y, right stick along z. speed: maximum velocity, m/s."""

    over = False

    def __init__(self, pad: SdlPad, speed: float) -> None:
        self._pad, self._speed = pad, speed

    def velocity(self, now: float) -> Array | None:
        """Return None while the button is up. Raises Refused if the gamepad is disconnected."""
        sticks = self._pad.read()
        if sticks is None:
            raise Refused(f"the gamepad {self._pad.name} is gone; the arm is stopped")
        if not sticks.held:
            return None
        x, y = alive(np.array([sticks.away, -sticks.right]))
        (z,) = alive(np.array([sticks.up]))
        return self._speed * np.array([x, y, z])


def alive(stick: Array) -> Array:
    """Return a stick's position without its dead zone: 0 up to DEAD, then linear to 1."""
    out = float(np.linalg.norm(stick))
    if not out > DEAD:
        return np.zeros(len(stick))
    return np.asarray(stick / out * (min(out, 1.0) - DEAD) / (1.0 - DEAD))


class SdlPad:
    """The first gamepad in SDL's list. The left shoulder button is the dead-man's button."""

    def __init__(self) -> None:
        """Raises Refused if the library or a pad is missing."""
        need("pygame")
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # no window
        os.environ.setdefault("SDL_JOYSTICK_ALLOW_BACKGROUND_EVENTS", "1")
        import pygame  # noqa: PLC0415
        from pygame._sdl2 import controller  # noqa: PLC0415

        self._pygame: Any = pygame
        pygame.display.init()
        controller.init()
        there = [k for k in range(controller.get_count()) if controller.is_controller(k)]
        if not there:
            raise Refused("no gamepad is there; plug one in, or pair it (on Linux it needs read access to /dev/input)")
        self._pad = controller.Controller(there[0])
        self.name = str(self._pad.name)

    def read(self) -> Sticks | None:
        """Return the stick positions, or None if the gamepad is disconnected."""
        sdl, pad = self._pygame, self._pad
        sdl.event.pump()
        if not pad.attached():
            return None
        right, back, down = (pad.get_axis(axis) / FULL for axis in (
            sdl.CONTROLLER_AXIS_LEFTX, sdl.CONTROLLER_AXIS_LEFTY, sdl.CONTROLLER_AXIS_RIGHTY))
        return Sticks(right, -back, -down, bool(pad.get_button(sdl.CONTROLLER_BUTTON_LEFTSHOULDER)))
