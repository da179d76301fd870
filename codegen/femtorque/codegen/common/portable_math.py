"""Sine, cosine, arctangent, square, exponential and logarithm. The results are bit-identical on every processor.

NumPy and the C library select code by processor type, and the last bits of the results differ. All functions are
sequences of rounded sums and products in a fixed order. The functions' errors are below one unit in the last place. The
polynomials and the reduction of angles are those of Sun's fdlibm (1993)."""

import math
from decimal import Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# pi / 2 as a sum of three numbers; the first two have 33 bits, so multiples up to a million are exact
QUARTER_1, QUARTER_2, QUARTER_3 = 1.57079632673412561417e+00, 6.07710050630396597660e-11, 2.02226624879595063154e-21
INVERSE = 6.36619772367581382433e-01  # 2 / pi
SINE = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
        2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)
COSINE = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
          -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)
ARCTANGENT = (3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01,
              -1.11111104054623557880e-01, 9.09088713343650656196e-02, -7.69187620504482999495e-02,
              6.66107313738753120669e-02, -5.83357013379057348645e-02, 4.97687799461593236017e-02,
              -3.65315727442169155270e-02, 1.62858201153657823623e-02)
# arctan of 1/2, 1, 3/2 and infinity, each as a rounded number and its remainder
KNOWN = ((4.63647609000806093515e-01, 2.26987774529616870924e-17), (7.85398163397448278999e-01,
         3.06161699786838301793e-17), (9.82793723247329054082e-01, 1.39033110312309984516e-17),
         (1.57079632679489655800e+00, 6.12323399573676603587e-17))
FEW = 8  # up to this number of angles, single computation is faster and gives the same bits
EXACT = Context(prec=40)  # digits; a float has 17


def sin_cos(angle: ArrayLike) -> tuple[Any, Any]:
    """Return sine and cosine (...) of angles (...), rad; floats for one angle."""
    x = np.asarray(angle, float)
    if x.ndim == 0:
        return _one(float(x))
    if x.size <= FEW:
        every = np.array([_one(one) for one in x.ravel().tolist()]).reshape(*x.shape, 2)
        return every[..., 0], every[..., 1]
    k = np.rint(x * INVERSE)
    sine, cosine = _in_octant(*_reduced(x, k))
    k = k - 4.0 * np.floor(0.25 * k)
    odd = (k == 1.0) | (k == 3.0)
    sine, cosine = np.where(odd, cosine, sine), np.where(odd, sine, cosine)
    return np.where(k >= 2.0, -sine, sine), np.where((k == 1.0) | (k == 2.0), -cosine, cosine)


def _one(x: float) -> tuple[float, float]:
    if not math.isfinite(x):
        return math.nan, math.nan
    k = round(x * INVERSE)
    sine, cosine = _in_octant(*_reduced(x, float(k)))
    return ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))[k % 4]


def _reduced(x: Any, k: Any) -> tuple[Any, Any]:
    """Return x - k pi/2 as a rounded number and its remainder."""
    far = x - k * QUARTER_1
    near = far - k * QUARTER_2
    lacking = k * QUARTER_3 - ((far - near) - k * QUARTER_2)
    y = near - lacking
    return y, (near - y) - lacking


def _in_octant(x: Any, lacking: Any) -> tuple[Any, Any]:
    """Return sine and cosine of an angle between -pi/4 and pi/4."""
    z = x * x
    cube, rest = z * x, SINE[1] + z * (SINE[2] + z * (SINE[3] + z * (SINE[4] + z * SINE[5])))
    sine = x - ((z * (0.5 * lacking - cube * rest) - lacking) - cube * SINE[0])
    rest = z * (COSINE[0] + z * (COSINE[1] + z * (COSINE[2] + z * (COSINE[3] + z * (COSINE[4] + z * COSINE[5])))))
    half = 0.5 * z
    one = 1.0 - half
    return sine, one + (((1.0 - one) - half) + (z * rest - x * lacking))


def arctan2(y: float, x: float) -> float:
    """Return the angle of the point (x, y), rad, from -pi to pi."""
    y, x = float(y), float(x)
    across = math.copysign(1.0, y)
    if y == 0.0:
        return y if math.copysign(1.0, x) > 0.0 else across * math.pi
    if abs(x) < abs(y) * 2.0**-60:
        return across * 0.5 * math.pi
    angle = _arctan(abs(y) / abs(x))
    return across * (angle if x > 0.0 else math.pi - (angle - 1.2246467991473531772e-16))


def _arctan(x: float) -> float:
    """Return the arctangent of x >= 0, computed from the nearest tabulated value and the difference to it."""
    if x < 0.4375:
        return x - x * _series(x)
    if x < 0.6875:
        known, t = KNOWN[0], (2.0 * x - 1.0) / (2.0 + x)
    elif x < 1.1875:
        known, t = KNOWN[1], (x - 1.0) / (x + 1.0)
    elif x < 2.4375:
        known, t = KNOWN[2], (x - 1.5) / (1.0 + 1.5 * x)
    else:
        known, t = KNOWN[3], -1.0 / x
    return known[0] - ((t * _series(t) - known[1]) - t)


def _series(t: float) -> float:
    """Return (t - arctan t) / t."""
    z, total = t * t, 0.0
    for coefficient in reversed(ARCTANGENT):
        total = z * (coefficient + total)
    return total


def square(x: float) -> float:
    """Return x x. For a float, x**2 would call pow of the C library."""
    return x * x


def exp(x: float) -> float:
    return float(EXACT.exp(Decimal(x)))


def log(x: float) -> float:
    return float(EXACT.ln(Decimal(x)))
