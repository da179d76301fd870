"""Comparison of instantaneous torques with Pinocchio: emitted C and reference, at random states that form no motion."""

from functools import cache

import numpy as np
import pytest

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.emit import sources
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.model import Model, in_mode
from femtorque.codegen.reference import instant, pinocchio
from tests.support.closed import Closed
from tests.support.instant import Compiled
from tests.support.oracle import peak
from tests.support.suite import ROOT

MECHANISMS = {path.stem: load_mechanism(path) for path in sorted((ROOT / "mechanisms").glob("*.toml"))}
OPEN = [name for name, m in MECHANISMS.items() if not (m.flexible or m.loops or m.modes)]
CLOSED = [name for name, m in MECHANISMS.items() if m.loops and not m.modes]
MODED = [name for name, m in MECHANISMS.items() if m.modes]
STATES = 40

States = tuple[np.ndarray, np.ndarray, np.ndarray]


def states(mechanism: Mechanism, turns: float = 0.5) -> States:
    """Return q, qd, qdd (STATES, J) of an open tree. turns: range of joints in both directions."""
    rng, n = np.random.default_rng(3), len(mechanism.streamed)
    slides = np.array([joint.type == "prismatic" for joint in mechanism.streamed])
    q = rng.uniform(-1.0, 1.0, (STATES, n)) * np.where(slides, 0.5, 2.0 * np.pi * turns)
    return q, 3.0 * rng.standard_normal((STATES, n)), 10.0 * rng.standard_normal((STATES, n))


def closed_states(mechanism: Mechanism) -> tuple[States, np.ndarray, np.ndarray]:
    """Return states of a closed mechanism, and Pinocchio's torques (STATES, J) in motion and at rest."""
    oracle, rng = Closed(mechanism), np.random.default_rng(3)
    effort = np.array([joint.limits.effort for joint in mechanism.streamed])
    weight = 1.0 / effort**2 if np.all(np.isfinite(effort)) else None
    begin, rows, torques, held = oracle.assemble(oracle.start, oracle.active[:1]), [], [], []
    for _ in range(STATES):
        away = oracle.freedoms(begin) @ rng.uniform(-0.15, 0.15, oracle.mobility(begin))
        q = oracle.assemble(begin + away)
        free = oracle.freedoms(q)
        v = free @ (2.0 * rng.standard_normal(free.shape[1]))
        a = np.linalg.lstsq(oracle.jacobian(q), -oracle.drift(q, v), rcond=1e-9)[0]
        a = a + free @ (10.0 * rng.standard_normal(free.shape[1]))
        rows.append([x[oracle.active] for x in (q, v, a)])
        torques.append(oracle.inverse(q, v, a, weight)[0][oracle.active])
        held.append(oracle.inverse(q, 0.0 * v, 0.0 * a, weight)[0][oracle.active])
    q, v, a = np.moveaxis(np.array(rows), 1, 0)
    return (q, v, a), np.array(torques), np.array(held)


def off(found: np.ndarray, wanted: np.ndarray, scale: np.ndarray | None = None) -> float:
    """Return the largest error over the peak torque."""
    return float(np.max(np.abs(found - wanted)) / max(peak(wanted if scale is None else scale), 1e-300))


@cache
def compiled(name: str, precision: str) -> Compiled:
    return Compiled(Model.of(MECHANISMS[name]), precision)


@pytest.mark.parametrize("name", OPEN)
def test_open_mechanisms_against_pinocchio(name):
    mechanism = MECHANISMS[name]
    sprung = any(joint.stiffness or joint.c_mot for joint in mechanism.moving)
    given = states(mechanism, turns=0.5 if sprung else 10.0)  # joints with springs stay within half a turn
    rest = given[0], np.zeros_like(given[0]), np.zeros_like(given[0])
    wanted, held = pinocchio.torque(mechanism, *given), pinocchio.torque(mechanism, *rest)
    c = compiled(name, "double")
    assert off(instant.inverse_dynamics(mechanism, *given), wanted) < 1e-12
    assert off(c.torque(*given), wanted) < 1e-10 and c.made == STATES
    assert off(c.torque(given[0]), held, wanted) < 1e-10 and c.made == STATES


@pytest.mark.parametrize("name", CLOSED)
def test_closed_mechanisms_against_pinocchio_with_its_constraints(name):
    mechanism = MECHANISMS[name]
    given, wanted, held = closed_states(mechanism)
    c = compiled(name, "double")
    assert off(instant.inverse_dynamics(mechanism, *given), wanted) < 1e-10
    assert off(c.torque(*given), wanted) < 1e-10 and c.made == STATES
    assert off(c.torque(given[0]), held, wanted) < 1e-10 and c.made == STATES


@pytest.mark.parametrize("name", MODED)
def test_every_mode_has_torques_of_its_own(name):
    """A mode without loops is compared with Pinocchio, and a mode with loops is compared with the reference."""
    mechanism = MECHANISMS[name]
    c, names = compiled(name, "double"), [joint.name for joint in mechanism.streamed]
    different = []
    for number, mode in enumerate(mechanism.modes):
        alone = in_mode(mechanism, mode.name)
        if alone.loops:
            given, wanted, held = closed_states(alone)
        else:
            own = states(alone)
            given, wanted = own, pinocchio.torque(alone, *own)
            held = pinocchio.torque(alone, own[0], 0.0 * own[1], 0.0 * own[2])
        # joints that are streamed in all modes
        order = [[joint.name for joint in alone.streamed].index(name) for name in names]
        given = tuple(x[:, order] for x in given)
        wanted, held = wanted[:, order], held[:, order]
        assert off(instant.inverse_dynamics(mechanism, *given, mode=mode.name), wanted) < 1e-10
        assert off(c.torque(*given, mode=number), wanted) < 1e-10 and c.made == STATES
        assert off(c.torque(given[0], mode=number), held, wanted) < 1e-10 and c.made == STATES
        different.append(wanted)
    assert all(off(x, different[0]) > 1e-3 for x in different[1:])
    c.torque(*given, mode=len(mechanism.modes))
    assert c.made == 0, "no such mode"


@pytest.mark.parametrize("name", [*OPEN, *CLOSED])
def test_single_precision_errs_by_a_few_millionths_of_the_peak(name):
    """Joints stay within half a turn, since the angle of a larger rotation has fewer significant digits."""
    mechanism = MECHANISMS[name]
    given = closed_states(mechanism)[0] if mechanism.loops else states(mechanism)
    wanted = compiled(name, "double").torque(*given)
    assert off(compiled(name, "single").torque(*given), wanted) < 3e-6


def test_states_need_no_order():
    """The answer for a state does not depend on earlier calls. With loops the answer changes only by rounding."""
    for name in ("six_axis", "five_bar"):
        mechanism = MECHANISMS[name]
        given = closed_states(mechanism)[0] if mechanism.loops else states(mechanism)
        c = compiled(name, "double")
        forwards, backwards = c.torque(*given), c.torque(*(x[::-1] for x in given))[::-1]
        assert off(backwards, forwards) < (1e-11 if mechanism.loops else 1e-300)


@pytest.mark.parametrize("name, position", [
    ("six_axis", np.nan), ("six_axis", np.inf), ("six_axis", -1e8), ("five_bar", np.nan), ("five_bar", 1e30),
])
def test_a_position_that_is_not_finite_is_refused_and_leaves_the_torque_unchanged(name, position):
    c, q = compiled(name, "double"), np.array([[joint.start for joint in MECHANISMS[name].streamed]])
    assert np.all(np.isfinite(c.torque(q))) and c.made == 1
    rest = 0.0 * q
    q[0, -1] = position
    assert np.all(np.isnan(c.torque(q, rest, rest))) and c.made == 0
    assert np.all(np.isnan(c.torque(q))) and c.made == 0


def test_loops_are_not_followed_through_a_singular_pose():
    """The coupler and the rocker of the four-bar are collinear at 2.05 rad.

    After the return to the first side, the answer equals the first answer."""
    mechanism = MECHANISMS["four_bar"]
    c = compiled("four_bar", "double")
    c.torque([[1.9], [2.3], [1.9]])
    assert c.made == 1
    with pytest.raises(Refused, match="leads through a singular pose, near crank = 2.05"):
        instant.inverse_dynamics(mechanism, [[1.9], [2.3]], [0.0], [0.0])
    assert off(c.torque([[1.9]]), instant.inverse_dynamics(mechanism, [[1.9]], [[0.0]], [[0.0]])) < 1e-10


def test_a_far_state_is_followed_on_the_branch_of_the_last_one():
    mechanism = MECHANISMS["five_bar"]
    q = np.array([[1.4, 0.4], [2.9, 1.7], [2.2, 0.94]])
    assert off(compiled("five_bar", "double").torque(q),
               instant.inverse_dynamics(mechanism, q, 0.0 * q, 0.0 * q)) < 1e-10


def test_any_number_of_states_at_once():
    arm = MECHANISMS["six_axis"]
    q, v, a = (x[:24].reshape(2, 3, 4, 6) for x in states(arm))
    tau = instant.inverse_dynamics(arm, q, v, a)
    assert tau.shape == (2, 3, 4, 6)
    np.testing.assert_allclose(tau[1, 2, 3], instant.inverse_dynamics(arm, q[1, 2, 3], v[1, 2, 3], a[1, 2, 3]))
    np.testing.assert_allclose(instant.inverse_dynamics(arm, q, v[0, 0, 0], np.zeros(6))[1, 1, 1],
                               instant.inverse_dynamics(arm, q[1, 1, 1], v[0, 0, 0], np.zeros(6)))


@pytest.mark.parametrize("given, words", [
    (([0.1, 0.2], [0.0] * 3, [0.0] * 3),
     r"q = .shape \(2,\).: must end in 3, one number per joint; shoulder, elbow, wrist"),
    (([0.1] * 3, 0.0, [0.0] * 3), r"v = .shape \(\).: must end in 3"),
    ((np.zeros((4, 3)), np.zeros((5, 3)), np.zeros(3)), "q, v, a = .*: shapes do not go together"),
    (([np.nan] * 3, [0.0] * 3, [0.0] * 3), "q, v, a: must be finite"),
])
def test_unfit_states_are_refused_by_name(given, words):
    with pytest.raises(BadInput, match=words):
        instant.inverse_dynamics(MECHANISMS["three_link"], *given)


def test_flexible_links_are_refused_and_the_folder_says_why(tmp_path):
    arm = MECHANISMS["flexible_arm"]
    with pytest.raises(Refused, match="flexible links depend on how they swing"):
        instant.inverse_dynamics(arm, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    names = [path.name for path in sources.generate(arm, tmp_path)]
    assert "ft_units.h" in names and "ft_rnea.c" not in names
    assert "There is no `ft_rnea` for flexible links" in (tmp_path / "README.md").read_text()


def test_the_folder_explains_the_call_and_its_cost(tmp_path):
    names = [path.name for path in sources.generate(MECHANISMS["two_arm_grasp"], tmp_path)]
    assert {"ft_rnea.h", "ft_rnea.c", "ft_units.h"} <= set(names)
    readme = (tmp_path / "README.md").read_text()
    assert "return ft_rnea(&near, mode, q, qd, qdd, tau);" in readme and "| grasp | " in readme
    assert "-c ft_m0_tree.c ft_m1_loop.c ft_m1_step.c ft_m1_tree.c ft_rnea.c ft_step.c" in readme
    assert all(len(line) <= 100 for name in names if name.startswith("ft_rnea")
               for line in (tmp_path / name).read_text().splitlines())
