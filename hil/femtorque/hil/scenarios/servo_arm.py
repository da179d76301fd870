"""A flexible arm that the plant's servo turns, and the theory of its vibration ("Flexible arm with servo-controlled
rotation"). With a servo at its root, the tip of the arm vibrates at a lower frequency than with a clamped root, because
the servo adds its flexibility. The uniform beam w(x, t) = w(x) exp(s t) has the slope w'(0) at its root. A servo with
the transfer function kp + s kd controls the root. The system also has the rotor inertia J, a mass m at the tip, and
strain-proportional damping E* = EI (1 + s damping):

    E* w'''' + rho s^2 w = 0,   w(0) = 0,   E* w''(0) = ((kp + s kd) exp(-s T/2) + s^2 J) w'(0),
    w''(l) = 0,   E* w'''(l) = s^2 m w(l)

w is the displacement relative to the target's direction. The servo keeps its torque constant over a tick T. The root s
of the determinant near the first mode gives the frequency |Im s| and the decay -Re s.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import curve_fit, root

from femtorque.codegen.common import Array, BadInput
from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.plant import Servo
from femtorque.hil.plant.articulated.plant import Plant
from femtorque.hil.scenarios.scenario import Check, Scenario, ServoRun, ServoTest

TICK = 5e-4  # control period of the servo, s
FREQUENCY, DECAY = 0.01, 0.05  # relative tolerances for frequency (elements) and decay (elements and fit)


@dataclass(frozen=True)
class Swing:
    """A turn of the arm. target, hub (T,): angles, rad. measured, theory: frequency, Hz, and decay, 1/s, after the end
    of the turn."""

    name: str
    t: Array  # (T,): times, s
    target: Array
    hub: Array
    tip: Array  # (T,): arc length from the target's direction, m
    turned: float
    measured: tuple[float, float]
    theory: tuple[float, float]
    clamped: float  # theoretical frequency of the arm with a clamped root

    def checks(self) -> list[Check]:
        (f, d), (ft, dt) = self.measured, self.theory
        return [
            Check(f"{self.name}: frequency of the tip (clamped root: {self.clamped:.3f} Hz)", f"{f:.3f} Hz",
                  f"{ft:.3f} Hz +- {FREQUENCY:.0%}", abs(f / ft - 1.0) <= FREQUENCY),
            Check(f"{self.name}: decay", f"{d:.3f} /s", f"{dt:.3f} /s +- {DECAY:.0%}", abs(d - dt) <= DECAY * dt),
        ]


def swings(scenario: Scenario, short: bool = False) -> list[Swing]:
    """Return all servo runs of a scenario."""
    test = scenario.file.servo
    assert test is not None
    return [swing(scenario.mechanism, test, run, short) for run in test.run]


def swing(mechanism: Mechanism, test: ServoTest, run: ServoRun, short: bool = False) -> Swing:
    """Turn, hold, and measure the tip. The servo applies its torque to the hub, and the rotor turns with the hub."""
    plant, servo = Plant(mechanism), Servo(kp=run.kp, kd=run.kd)
    assert plant.loads.beams is not None
    element = plant.loads.beams.elements[-1]
    end = plant.system.solids[element.b.solid].at(element.b.origin)
    t = np.arange(round((test.seconds + (test.short_hold if short else test.hold)) / TICK), dtype=float) * TICK
    x = np.clip(t / test.seconds, 0.0, 1.0)
    target = test.turn * x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
    velocity = test.turn * 30.0 * x**2 * (1.0 - x) ** 2 / test.seconds
    hub, tip = np.empty_like(t), np.empty_like(t)
    for k in range(len(t)):
        place = end @ plant.cycle.equations.x.reshape(-1, 4, 3)[element.b.solid]
        away = np.arctan2(place[1], place[0]) - target[k]
        hub[k], tip[k] = plant.q[0], np.hypot(*place[:2]) * ((away + np.pi) % (2.0 * np.pi) - np.pi)
        plant.push(TICK, servo.command(plant.q, plant.v, target[k], velocity[k]))
    theory, clamped = roots(mechanism, run.kp, run.kd), roots(mechanism, np.inf, 0.0)
    held = t >= test.seconds
    return Swing(run.name, t, target, hub, tip, test.seconds, fitted(t[held] - test.seconds, tip[held], theory),
                 (abs(theory.imag) / (2.0 * np.pi), -theory.real), abs(clamped.imag) / (2.0 * np.pi))


def roots(mechanism: Mechanism, kp: float, kd: float) -> complex:
    """Return s of the first mode, 1/s, of a uniform flexible link with a point mass at its tip."""
    link, joint = mechanism.links[0], mechanism.moving[0]
    beam = link.beam
    assert beam is not None
    rho = link.mass / beam.length
    if np.isfinite(beam.GA_s).any():
        raise BadInput(mechanism.source or mechanism.name, f"link.{link.name}.beam.GA_s", list(beam.GA_s),
                       "the swing on a servo is known for a beam without shear only")
    tip = sum(payload.mass for payload in mechanism.payloads)
    J = joint.motor.gear**2 * joint.motor.inertia if joint.motor else 0.0
    pace = np.sqrt(beam.EI[1] / rho) / beam.length**2

    def determinant(z: Array) -> Array:
        s = (z[0] + 1j * z[1]) * pace
        stiff = beam.EI[1] * (1.0 + s * beam.damping)
        k = (-rho * s**2 / stiff) ** 0.25
        b, load = k * beam.length, s**2 * tip / (stiff * k**3)
        gives = 0.0 if np.isinf(kp) else stiff * k / ((kp + s * kd) * np.exp(-0.5 * s * TICK) + s**2 * J)
        # w = A (cos - cosh) + B sin + C sinh is zero at x = 0. w'(0) is E* w''(0) divided by the stiffness of the
        # servo.
        first = [-2.0 * gives, -1.0, -1.0]
        rows = [first, [-np.cos(b) - np.cosh(b), -np.sin(b), np.sinh(b)],
                [np.sin(b) - np.sinh(b) - load * (np.cos(b) - np.cosh(b)), -np.cos(b) - load * np.sin(b),
                 np.cosh(b) - load * np.sinh(b)]]
        value = np.linalg.det(np.array(rows)) / b**2
        return np.array([value.real, value.imag])

    # Start from the first mode of a rigid bar on a spring in series with the beam.
    length, mass = beam.length, tip + 0.25 * link.mass
    soft = length**3 / (3.0 * beam.EI[1]) + (0.0 if np.isinf(kp) else length**2 / kp)
    found = root(determinant, [-1e-3, 1.0 / np.sqrt(mass * soft) / pace], tol=1e-12)
    return complex(*found.x) * pace


def fitted(t: Array, signal: Array, near: complex) -> tuple[float, float]:
    """Return frequency Hz and decay 1/s of the decaying sine that fits a signal best."""

    def sine(t: Array, w: float, d: float, a: float, b: float, c: float) -> Array:
        return np.exp(-d * t) * (a * np.cos(w * t) + b * np.sin(w * t)) + c

    size = float(np.ptp(signal)) / 2.0
    found, _ = curve_fit(sine, t, signal, p0=[abs(near.imag), -near.real, size, size, 0.0], maxfev=5000)
    return float(found[0]) / (2.0 * np.pi), float(found[1])
