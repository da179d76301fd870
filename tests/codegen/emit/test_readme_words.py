"""Test that the README's instructions in a generated folder give the torques of a motion."""

import re
import subprocess

import numpy as np
import pytest

from femtorque.codegen.emit import rnea, sources
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference import instant
from femtorque.codegen.toolchain import ARITHMETIC, WARNINGS, CompiledStep, compiler, precision_flags
from femtorque.codegen.toolchain.host_compiler import build
from tests.support.oracle import peak
from tests.support.suite import ROOT

QUINTIC = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])  # from rest to rest in 1 s; its jerk jumps at 0


@pytest.mark.parametrize("name, away", [("six_axis", 0.8), ("five_bar", 0.2), ("three_link", 0.8)])
def test_the_first_tick_is_as_exact_as_the_others_if_its_sample_is_the_one_that_is_named(name, away, tmp_path):
    mechanism = load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    sources.generate(mechanism, tmp_path)
    words = " ".join((tmp_path / "README.md").read_text().split())
    for said in ("begins with the sample s_(-1) = -dt/2", "continued backwards beyond its beginning",
                 "`ft_step_start` is given q(s_(-1))",
                 "The first `ft_step` takes s_0, with u = (q(s_0) - q(s_(-1))) / 2 and "
                 "du = u / 2", "is dropped", "half a tick beyond the end"):
        assert said in words
    model, ticks = Model.of(mechanism), mechanism.control.rate_hz
    begin = np.array([joint.start for joint in mechanism.streamed])
    s = (np.arange(-1, ticks + 1) + 0.5) / ticks  # s_-1 .. s_N

    def torque(samples: np.ndarray) -> np.ndarray:
        """Start the step at the first sample, call it for each further sample, and drop the first torque."""
        step = CompiledStep(model, "double")
        step.start(samples[0])
        u = np.diff(samples, axis=0) / 2.0
        given = np.empty(len(u), step.turns.sample)
        given["q"], given["u"] = step.turns.of(samples[1:]), u
        given["du"] = np.concatenate([u[:1] / 2.0, np.diff(u, axis=0) / 2.0])
        return step.run(given)[1:]

    t = s[1:-1, None]
    wanted = instant.inverse_dynamics(mechanism, begin + away * QUINTIC(t), away * QUINTIC.deriv(1)(t) + 0.0 * begin,
                                      away * QUINTIC.deriv(2)(t) + 0.0 * begin)
    q = begin + away * QUINTIC(s)[:, None]
    error = np.max(np.abs(torque(q) - wanted), axis=1) / peak(wanted)
    assert error[0] < 1e-5 and error[0] < 3.0 * np.max(error[1:])
    resting = q.copy()
    resting[0] = begin
    rested = np.max(np.abs(torque(resting)[0] - wanted[0])) / peak(wanted)
    assert rested > 3.0 * error[0], "the rest itself is not that sample"
    assert name != "three_link" or rested > 5e-5  # three_link has no weight that would increase the peak torque


@pytest.mark.parametrize("precision, differ", [("single", 1e-4), ("double", 1e-5)])
def test_the_example_of_a_controller_of_ones_own_compiles_and_follows(precision, differ, tmp_path):
    """The command in the example's header compiles it. The step's error is of order dt^2, with dt = 1 ms."""
    sources.generate(load_mechanism(ROOT / "mechanisms" / "three_axis.toml"), tmp_path, derivatives=True)
    source, out = ROOT / "examples" / "own_controller.c", tmp_path / "own_controller"
    assert "arm/ft_rnea.c arm/ft_step.c" in source.read_text()
    flags = [*WARNINGS, *ARITHMETIC, *precision_flags(precision), "-O2", f"-I{tmp_path}"]
    done = subprocess.run([compiler(), *flags, source, tmp_path / "ft_rnea.c", tmp_path / "ft_step.c", "-o", out],
                          capture_output=True, text=True)
    assert not done.returncode, done.stderr
    said = subprocess.run([out], capture_output=True, text=True, check=True).stdout
    off, between = (float(x) for x in re.findall(r"[\d.]+e[-+]\d+", said))
    assert off < 2e-4 and between < differ


def test_rad_and_m_become_whole_positions_and_come_back():
    files = sources.step_sources(Model.of(load_mechanism(ROOT / "mechanisms" / "two_link.toml")))
    files |= rnea.units(load_mechanism(ROOT / "mechanisms" / "two_link.toml"))
    entry = '#include "ft_units.h"\nft_turn from(double x, int m);\n' \
            'ft_turn from(double x, int m) { return m ? ft_from_m(x) : ft_from_rad(x); }\n' \
            "double back(ft_turn q, int m);\ndouble back(ft_turn q, int m) { return m ? ft_to_m(q) : ft_to_rad(q); }\n"
    _, lib = build(files | {"entry.c": entry},
                   "int64_t from(double x, int m); double back(int64_t q, int m);", "double")
    for x in (0.0, 1e-9, -1e-9, 1.0, -3.0, 3.14, 100.0, -1e6):
        short = (x + np.pi) % (2.0 * np.pi) - np.pi
        assert lib.back(getattr(lib, "from")(x, 0), 0) == pytest.approx(short, abs=2e-15 + 2e-16 * abs(x))
    for x in (0.0, 0.3, -7.9):
        assert lib.back(getattr(lib, "from")(x, 1), 1) == pytest.approx(x, abs=1e-15)
