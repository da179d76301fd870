"""Makes recordings like a board's, with noise on the duties, but without the delays of real recordings."""

import numpy as np
import pytest

from femtorque.host.lab.inertial.recording import Recording


@pytest.fixture(autouse=True)
def prompt(monkeypatch):
    for name, seconds in (("delay", -0.5), ("inductive", 0.0)):
        monkeypatch.setattr(f"femtorque.host.lab.inertial.recording.{name}", lambda *_, seconds=seconds: seconds)


def smooth(start, seconds, rng, size):
    """Return times (S,), positions, velocities and accelerations (S, J) of five harmonics of 0.1 Hz."""
    t = np.arange(round(seconds * 100.0)) / 100.0
    wave = 2.0 * np.pi * 0.1 * np.arange(1, 6)
    a, b = rng.normal(size=(2, 5, len(start))) * size
    c, s = np.cos(t[:, None] * wave), np.sin(t[:, None] * wave)
    return t, start + s @ a + c @ b, (c * wave) @ a - (s * wave) @ b, -(s * wave**2) @ a - (c * wave**2) @ b


def recorded(file, t, q, v, tau, noise, rng, constants=None, full=()):
    """Return the recording of a motion whose joint torques are tau (S, J). constants (J, 2): R and K of the real
    motors; None: R and K of the file. full: current at a duty of 1, (J,), A, for motors with a current loop."""
    volts, given = file.board.bus_voltage, {}
    for j, motor in enumerate(joint.motor for joint in file.streamed):
        R, K = constants[j] if constants else (motor.R, motor.K)
        current, K = tau[:, j] / (K * motor.gear), K * motor.gear
        duty = current / full[j] if motor.drive == "current" else (R * current + K * v[:, j]) / volts
        given[j] = (t, motor.sign * duty + noise * rng.normal(size=len(t)))
    return Recording(t, q, np.full(len(t), volts), given)
