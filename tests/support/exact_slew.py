"""The exact slew of a flexible link with a point mass at its tip. The solution uses neither elements nor modes nor time
steps.

v(x, t) is the small deflection of an Euler-Bernoulli beam from the direction of the tip's path. The root is clamped in
the hub, and c is the strain-proportional damping. The equations in the frequency domain are:

    E v'''' = rho w^2 v,  E = EI (1 + i w c);    v(0) = 0,  v(L) = L psi,  v''(L) = 0,  E v'''(L) = -load w^2 v(L).

These four conditions on four exponentials give v. The joint turns by v'(0) and needs the torque -E v''(0). The Fourier
integral of the path's velocity and an inverse transform give functions of time. The motion decays within the time
window of the transform. The result equals the inverse with infinitely many elements. This inverse is acausal, because
it has poles in both half planes.

`swing` computes the forward problem, in which the motion of the root is given. The deflection of the clamped beam is
then a sum over the roots of the frequency equation."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import beta

from femtorque.codegen.common import Array

# duration of the transform in s, number of samples, and time in s before the path begins
WINDOW, SAMPLES, BEFORE = 2.0, 2**13, 0.75
HIGHEST = 1500.0  # frequency above which the spectrum of the path is below 1e-12 of its maximum, rad/s
GAUSS = 500


@dataclass(frozen=True)
class Link:
    """A link with length m, mass kg, EI N m^2, load kg at the tip, and damping s."""

    length: float
    mass: float
    EI: float
    load: float
    damping: float = 0.0

    def inverse(self, w: Array) -> tuple[Array, Array]:
        """Return the joint's angle and torque, N m, per angle psi of the tip, at frequencies w > 0 (W,), rad/s."""
        rho, L = self.mass / self.length, self.length
        E = self.EI * (1.0 + 1j * w * self.damping)
        k = (rho * w**2 / E) ** 0.25
        # v = A cos kx + B sin kx + C exp(-kx) + D exp(-k (L - x))
        one, c, s, e = np.ones_like(k), np.cos(k * L), np.sin(k * L), np.exp(-k * L)
        load = self.load * w**2 / (E * k**3)
        rows = np.array([[one, 0.0 * one, one, e], [c, s, e, one], [-c, -s, e, one],
                         [s + load * c, -c + load * s, -e + load * e, one + load]]).transpose(2, 0, 1)
        given = np.zeros((len(w), 4, 1), complex)
        given[:, 1] = L
        A, B, C, D = np.linalg.solve(rows, given)[..., 0].T
        return k * (B - C + e * D), -E * k**2 * (-A + C + e * D)

    def slewed(self, way: float, duration: float) -> tuple[Array, Array, Array]:
        """Return times (T,) from the beginning of the path, s, and the joint's acceleration, rad/s^2, and torque, N m.

        The tip turns by `way` rad, with a velocity proportional to x^5 (1 - x)^5."""
        step = WINDOW / SAMPLES
        w = 2.0 * np.pi * np.fft.rfftfreq(SAMPLES, step)
        w = w[(w > 0.0) & (w < HIGHEST)]
        angle, torque = self.inverse(w)
        turn = 1j * w * spectrum(w, way, duration) * np.exp(-1j * w * BEFORE)
        found = np.zeros((2, SAMPLES // 2 + 1), complex)
        found[:, 1 : len(w) + 1] = turn * angle, -turn * torque / w**2
        return np.arange(SAMPLES) * step - BEFORE, *np.fft.irfft(found, SAMPLES, axis=1) / step

    def swing(self, times: Array, turn: Array, after: Array, modes: int = 3) -> Array:
        """Return the deflection of the tip, m, at times `after`.

        Before `after`, the root moves with the accelerations `turn` (T,), rad/s^2, at the equidistant `times`."""
        rho, L, ratio = self.mass / self.length, self.length, self.load / self.mass
        tip = np.zeros_like(after)

        def frequency(b: float) -> float:
            return 1.0 + np.cos(b) * np.cosh(b) + ratio * b * (np.cos(b) * np.sinh(b) - np.sin(b) * np.cosh(b))

        for b in (brentq(frequency, low, low + np.pi) for low in (1e-3, *(np.pi * np.arange(1, modes)))):
            ease = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
            u, weight = np.polynomial.legendre.leggauss(40)
            x, weight = 0.5 * (1.0 + u), 0.5 * weight

            def shape(x: Array, b: float = b, ratio: float = ease) -> Array:
                return np.cosh(b * x) - np.cos(b * x) - ratio * (np.sinh(b * x) - np.sin(b * x))

            phi, end = shape(x), shape(np.array(1.0))
            inertia = rho * L * weight @ phi**2 + self.load * end**2
            pushed = rho * L**2 * weight @ (x * phi) + self.load * L * end
            square = (b / L) ** 4 * self.EI / rho
            decay = 0.5 * self.damping * square
            s = -decay + 1j * np.sqrt(square - decay**2)
            total = np.sum(turn * np.exp(-s * times)) * (times[1] - times[0])
            tip -= end * pushed / inertia / s.imag * np.imag(np.exp(s * after) * total)
        return tip


def spectrum(w: Array, way: float, duration: float) -> Array:
    """Return the Fourier integral (W,), rad, of the velocity of a path that begins at time 0."""
    u, weight = np.polynomial.legendre.leggauss(GAUSS)
    x, weight = 0.5 * (1.0 + u), 0.5 * weight
    rate = way * (x * (1.0 - x)) ** 5 / beta(6, 6)
    return np.exp(-1j * np.outer(w, x) * duration) @ (weight * rate)
