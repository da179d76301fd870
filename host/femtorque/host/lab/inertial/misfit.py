"""Tests a joint's residual: how many equations count as one, and if the model fits.

Neighbouring values of a residual are alike, so they count as fewer values. The variance of a fitted number is a sum
over frequencies: the power of the number's column times the spectrum of the residual (Newey and West, Econometrica
55(3), 1987). The mean variance over all columns of a joint, divided by the variance for independent values, is the
number of equations that count as one.

If the model fits, no function of position and direction explains the residual. `_forms` gives functions that the
regressor lacks. For K functions, the explained variance divided by the chance variance is about chi^2. The root of
chi^2 / K widens the intervals (Birge, Phys. Rev. 40(2), 1932). The functions with the largest ratio name a cause.
Cogging returns many times a turn, and its number of periods is unknown. So the test takes the number that explains
most, and divides the probability of chance by the count of numbers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from femtorque.codegen.common import Array
from femtorque.host.lab.inertial.recording import WINDOW, Equations

LAGS = 2.0  # windows: the residual is not alike over longer times
SURE = 0.001  # probability that chance alone exceeds the threshold
HARMONICS = 3  # of a position, for loads that return with it
COGS = range(8, 257)  # possible periods of cogging in a turn of the joint
CAUSES = {"direction": "play or friction that depends on the position", "position": "a load that the file does not "
          "have: a cable or a spring", "cogging": "cogging or the teeth of a gear"}


@dataclass(frozen=True)
class Misfit:
    """The residual of one joint."""

    alike: float = 1.0  # number of equations that count as one
    factor: float = 1.0  # factor of the deviations for a lack of fit, at least 1
    cause: str = ""  # likely cause of a lack of fit; empty if the model fits

    @property
    def worse(self) -> float:
        """Factor of the deviations of an equation."""
        return float(np.sqrt(self.alike)) * self.factor


def misfit(rows: Equations, joint: int, error: Array, columns: NDArray[np.int64]) -> Misfit:
    """Return how well one joint's residual (N,) fits. columns: of the independent unknowns."""
    use = rows.counts[:, joint]
    if use.sum() < 2.0 * WINDOW / rows.period:
        return Misfit(WINDOW / rows.period)
    error, lags = np.where(use, error, 0.0), round(LAGS * WINDOW / rows.period)
    own = np.where(use[:, None], np.column_stack([rows.matrix[:, joint][:, columns], rows.late[:, joint]]), 0.0)
    fitted = _orthogonal(own)
    alike = _mean(fitted, *_spectrum(error, use, lags))
    forms = _forms(rows, joint) | {"cogging": _cogging(rows, joint, error)}
    of = {name: _orthogonal(np.where(use[:, None], form, 0.0), fitted) for name, form in forms.items()}
    ratios = {name: _ratio(Q, error, error, use, lags) for name, Q in of.items()}
    # the explained part may not count as noise
    sure = {name: _ratio(Q, error, np.where(use, error - Q @ (Q.T @ error), 0.0), use, lags) for name, Q in of.items()}
    chance = {name: chi2.isf(SURE / (len(COGS) if name == "cogging" else 1), Q.shape[1]) for name, Q in of.items()}
    worst = max(of, key=lambda name: sure[name] / chance[name])
    cause = CAUSES[worst] if sure[worst] > chance[worst] else ""
    factor = float(np.sqrt(max(ratios[worst] / of[worst].shape[1], 1.0))) if cause else 1.0
    return Misfit(max(alike, 1.0), factor, cause)


def _ratio(Q: Array, error: Array, noise: Array, use: NDArray[np.bool_], lags: int) -> float:
    """Return the square of a residual (N,) along a basis (N, K) over the mean square of noise (N,) along the basis."""
    chance = _mean(Q, *_spectrum(noise, use, lags)) * float(np.mean(noise[use] ** 2))
    return float(np.sum((Q.T @ error) ** 2)) / max(chance, 1e-300)


def _forms(rows: Equations, joint: int) -> dict[str, Array]:
    """Return functions (N, K) of a joint's position, and of position and direction."""
    angle = np.arange(1, HARMONICS + 1) * rows.positions[:, joint, None]
    waves = np.hstack([np.cos(angle), np.sin(angle)])
    way = np.sign(np.gradient(rows.positions[:, joint]))[:, None]
    return {"position": waves, "direction": way * waves}


def _cogging(rows: Equations, joint: int, error: Array) -> Array:
    """Return cosine and sine (N, 2) of the number of periods in a turn that explains most of a residual (N,)."""
    turned = np.exp(1j * rows.positions[:, joint, None])
    waves = np.cumprod(np.broadcast_to(turned, (len(turned), COGS.stop - 1)), axis=1)[:, COGS.start - 1:]
    best = waves[:, int(np.argmax(np.abs(error @ waves)))]
    return np.column_stack([best.real, best.imag])


def _spectrum(error: Array, use: NDArray[np.bool_], lags: int) -> tuple[Array, int]:
    """Return the spectrum of a residual over its variance, and the length of the transform. White noise has 1."""
    size = 2 ** int(np.ceil(np.log2(len(error) + lags)))

    def along(x: Array) -> Array:
        return np.fft.irfft(np.abs(np.fft.rfft(x, size)) ** 2, size)

    pairs = np.maximum(along(use.astype(float)), 1.0)
    alike = along(error) / pairs
    window = np.maximum(1.0 - np.minimum(np.arange(size), size - np.arange(size)) / (lags + 1.0), 0.0)
    return np.maximum(np.fft.rfft(window * alike / max(alike[0], 1e-300)).real, 0.0), size


def _orthogonal(columns: Array, beside: Array | None = None) -> Array:
    """Return an orthonormal basis (N, K) of columns, orthogonal to the basis `beside`."""
    columns = columns if beside is None else columns - beside @ (beside.T @ columns)
    left, sizes, _ = np.linalg.svd(columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-12), full_matrices=False)
    return left[:, sizes > 1e-6 * sizes[0]]


def _mean(Q: Array, spectrum: Array, size: int) -> float:
    """Return the mean variance of the residual along the columns of a basis, over the variance of white noise."""
    power = np.abs(np.fft.rfft(Q, size, axis=0)) ** 2
    power[1:-1] *= 2.0
    return float(np.sum(spectrum[:, None] * power) / (size * Q.shape[1]))
