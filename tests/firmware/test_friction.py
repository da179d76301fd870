"""Friction that decreases with the velocity and increases with the load, as a part of the feed-forward torque. The C is
compared with NumPy and with the same C on the virtual chip."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.board import reader as boards
from femtorque.codegen.drive import application
from femtorque.codegen.emit import sources as emit
from femtorque.codegen.mechanism import Friction
from femtorque.codegen.toolchain.host_compiler import build
from femtorque.codegen.verify import motor_torque
from femtorque.hil.chip import ChipLibrary
from tests.firmware.app import HERE
from tests.support.feeling import six_axis

CDEF = """
typedef {real} ft_real;
void law_needed(long n, const ft_real *before, const ft_real *after, const ft_real *tau, ft_real *out);
"""
OF_FIELD = (Friction(0.5, 2.0, 1.5, 0.2, 0.1), Friction(0.4, 2.0, 0.0, 0.0, 0.3), Friction(0.3, 1.0, 0.8, 0.05, 0.0),
            Friction(0.05, 0.3, 0.2, 1.0, 0.05), Friction(0.05, 0.0, 0.3, 0.1, 0.0), Friction(0.02, 0.0, 0.0, 0.0, 0.2))


def of_field(frictions=OF_FIELD):
    """Return the six-joint arm with every kind of friction. The last two joints have no Coulomb friction."""
    it = six_axis()
    joints = tuple(replace(j, friction=f) for j, f in zip(it.joints, frictions, strict=True))
    return replace(it, name="six_axis_rubbing", joints=joints)


def files_of(mechanism):
    """Return all files that the law needs."""
    emitted = emit.sources(mechanism, boards.load_board(mechanism.board.use))
    files = {n: t for n, t in emitted.items() if n.startswith("ft_config") or n.endswith(".h") and n != "ft_board.h"}
    files |= {n: p.read_text() for n, p in application().items() if n.endswith(".h") or n == "ft_law.c"}
    return files | {"law_host.c": (HERE / "law_host.c").read_text()}


def rows(mechanism, n=2000, seed=1):
    """Return half increments before and after (n, J), rad, from rest to fast, and tau (n, J), N m."""
    rng, hz = np.random.default_rng(seed), mechanism.control.rate_hz
    speed = np.exp(rng.uniform(np.log(1e-5), np.log(5.0), (n, 6))) * rng.choice([-1.0, 1.0], (n, 6))
    before, after = (0.5 * speed / hz * rng.uniform(0.9, 1.1, (n, 6)) for _ in range(2))
    before[:50] = after[:50] = 0.0
    given = before, after, rng.uniform(-60.0, 60.0, (n, 6))
    return tuple(x.astype(np.float32).astype(float) for x in given)  # single and double precision use the same numbers


def on_host(mechanism, precision, given):
    real = np.float64 if precision == "double" else np.float32
    ffi, lib = build(files_of(mechanism), CDEF.format(real="double" if precision == "double" else "float"), precision)
    taken, out = [np.ascontiguousarray(x, real) for x in given], np.zeros(given[0].shape, real)
    lib.law_needed(len(out), *(ffi.cast("ft_real *", x.ctypes.data) for x in (*taken, out)))
    return out


def expected(mechanism, before, after, tau):
    """Return the torque by the formula, number by number."""
    hz, joints = mechanism.control.rate_hz, mechanism.streamed
    v, a = (before + after) * hz, (after - before) * 2.0 * hz**2
    out = tau + np.array([j.motor.inertia * j.motor.gear**2 for j in joints]) * a
    for j, joint in enumerate(joints):
        f, size = joint.friction, np.abs(v[:, j])
        dry = f.coulomb + f.load * np.abs(tau[:, j])
        if f.stribeck:
            dry = dry + f.stribeck * f.stribeck_velocity**2 / (f.stribeck_velocity**2 + size**2)
        out[:, j] += f.viscous * v[:, j] + dry * np.clip(v[:, j] / 0.01, -1.0, 1.0)
    return out


@pytest.mark.parametrize("precision, most", [
    ("double", 1e-10),
    ("single", 2.0**-24 * 16.0),  # one rounding error per operation, and one each for |u + w| and |u - w|
])
def test_the_c_is_numpy_s(precision, most):
    mechanism = of_field()
    given = rows(mechanism)
    wanted = expected(mechanism, *given)
    error = np.abs(on_host(mechanism, precision, given) - wanted).max() / np.abs(wanted).max()
    print(f"{precision} against NumPy: {error:.1e} of peak")
    assert error <= most
    plain = of_field(tuple(replace(f, stribeck=0.0, stribeck_velocity=0.0, load=0.0) for f in OF_FIELD))
    assert np.all(np.abs(wanted - expected(plain, *given)).max(axis=0) >= 0.2), "each joint has friction of its own"


def test_the_chip_and_this_computer_agree_bit_for_bit():
    mechanism = of_field()
    given = [np.ascontiguousarray(x, np.float32) for x in rows(mechanism, 400)]
    chip = ChipLibrary(files_of(mechanism) | {"entry.c": """
#include "ft_law.h"
void law_needed(long n, const ft_real *before, const ft_real *after, const ft_real *tau, ft_real *out);
void entry(const ft_real *const *given, ft_real *out);
void entry(const ft_real *const *given, ft_real *out) { law_needed(400, given[0], given[1], given[2], out); }
"""})
    at = chip.put(np.array([chip.put(x) for x in given], np.uint32))
    out = chip.put(given[0])
    chip.call("entry", at, out)
    on_chip = chip.read(out, np.float32, given[0].size).reshape(given[0].shape)
    assert on_chip.tobytes() == on_host(mechanism, "single", given).tobytes()


def test_the_reference_has_the_same_away_from_rest():
    mechanism = of_field()
    before, after, tau = rows(mechanism)
    v = (before + after) * mechanism.control.rate_hz
    moving = np.all(np.abs(v) > 0.01, axis=1)
    a = (after - before) * 2.0 * mechanism.control.rate_hz**2
    found = tau + motor_torque(mechanism, v, a, tau)
    np.testing.assert_allclose(found[moving], expected(mechanism, before, after, tau)[moving], rtol=0.0, atol=1e-10)
    assert not np.any(motor_torque(mechanism, *np.zeros((2, 1, 6)), np.ones((1, 6))))


def test_files_without_it_emit_nothing_of_it():
    mechanism = six_axis()
    emitted = emit.sources(mechanism, boards.load_board(mechanism.board.use))
    assert "#define FT_STRIBECK 0 " in emitted["ft_config.h"] and "stribeck" not in emitted["ft_config.c"]
    assert "#define FT_STRIBECK 1" in emit.sources(of_field(), boards.load_board(mechanism.board.use))["ft_config.h"]


@pytest.mark.parametrize("precision", ["single", "double"])
def test_a_table_of_it_has_its_check_sum(precision):
    files = files_of(of_field()) | {
        name: application()[name].read_text() for name in ("ft_crc.c", "ft_crc.h")} | {"sum.c": """
#include "ft_config.h"
#include "ft_crc.h"
uint32_t sums(void);
uint32_t sums(void)
{
    return ft_crc32_more(0, (const uint8_t *)ft_stribeck_joint, sizeof ft_stribeck_joint) == ft_stribeck_crc;
}
"""}
    _, lib = build(files, "uint32_t sums(void);", precision)
    assert lib.sums() == 1
