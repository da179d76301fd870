"""Tests that the emitted scheme "printed" equals the reference's sum, and that its noise is small at every rate."""

import re

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS, BadInput
from femtorque.codegen.emit import sources
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.model import Model, frame_to_axis, in_mode, supported
from femtorque.codegen.motion import random_motion
from femtorque.codegen.reference import discrete
from femtorque.codegen.reference.printed import printed_torque
from femtorque.codegen.reference.rigid import matrix_form
from femtorque.codegen.step.rounding_noise import noise_floor
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.verify import verification as verify
from femtorque.hil.cost import chip_step
from tests.support.mimic import gripper_in
from tests.support.oracle import peak, planar_chain, random_chain, random_tree
from tests.support.sampling import asking, moved, slides, sprung

EXACT = 1e-12  # fraction of the peak torque: double precision compared with the reference's sum


def of(mechanism: Mechanism, rate_hz: int = 1000) -> Model:
    return Model.of(asking(mechanism, scheme="printed", rate_hz=rate_hz, knot_hz=rate_hz // 4))


def printed(mechanism: Mechanism) -> Mechanism:
    return asking(mechanism, scheme="printed")


def examples() -> dict[str, Mechanism]:
    """Return every rigid mechanism of the project, and every mode as a separate mechanism."""
    found = {}
    for path in sorted(MECHANISMS.glob("*.toml")):
        mechanism = load_mechanism(path)
        if mechanism.flexible:
            continue
        for mode in mechanism.modes or (None,):
            name = f"{path.stem}, {mode.name}" if mode else path.stem
            found[name] = in_mode(mechanism, mode.name) if mode else mechanism
    return found


EXAMPLES = examples()


def tree(seed: int, n: int = 6) -> Mechanism:
    return random_tree(np.random.default_rng(seed), n)


# ---- right


@pytest.mark.parametrize("name", EXAMPLES)
def test_double_precision_is_the_sum_of_the_reference_on_every_example(name):
    """In trees the reference adds up {P} and converts {P} to torques by the dense matrices."""
    mechanism = printed(EXAMPLES[name])
    supported(mechanism)
    model = Model.of(mechanism)
    positions = random_motion(mechanism, np.random.default_rng(7)).middles(mechanism.control.rate_hz // 4, model.dt)
    if mechanism.constrained:
        sum_ = discrete.emitted_torque(model, positions)
    else:
        sum_ = printed_torque(model, positions, 0.5 * np.diff(positions, axis=0), matrix_form)
    assert peak(CompiledStep(model, "double").torque(positions) - sum_) <= EXACT * peak(sum_)
    single = np.abs(CompiledStep(model).torque(positions) - sum_)
    assert single.max() <= 1e-5 * peak(sum_)


@pytest.mark.parametrize("make", [lambda: planar_chain(5), lambda: random_chain(np.random.default_rng(1), 6),
                                  lambda: tree(2, 14), lambda: sprung(tree(11))],
                         ids=["planar", "chain", "large tree with slides", "springs"])
def test_double_precision_is_the_sum_with_frames_made_exact_in_rotation(make):
    model = of(make())
    positions = moved(model)
    plain = discrete.emitted_torque(model, positions)
    assert peak(CompiledStep(model, "double").torque(positions) - plain) <= EXACT * peak(plain)


@pytest.mark.parametrize("name", ["three_link", "six_axis", "three_axis", "four_bar"])
def test_it_is_the_default_step_to_second_order(name):
    """If the tick is halved, the difference falls to a quarter."""
    apart = []
    for rate_hz in (500, 1000):
        both = [Model.of(asking(EXAMPLES[name], scheme=scheme, rate_hz=rate_hz, knot_hz=rate_hz // 4))
                for scheme in ("nodal", "printed")]
        positions = random_motion(both[0].mechanism, np.random.default_rng(7)).middles(rate_hz // 2, both[0].dt)
        nodal, own = (CompiledStep(model, "double").torque(positions) for model in both)
        apart.append(peak(nodal - own) / peak(own))
    assert apart[0] / apart[1] == pytest.approx(4.0, rel=0.1) and apart[1] < 1e-5


def test_mimic_joints_follow(tmp_path):
    mechanism = printed(gripper_in(tmp_path))
    model = Model.of(mechanism)
    positions = random_motion(mechanism, np.random.default_rng(1)).middles(300, model.dt)
    plain = discrete.emitted_torque(model, positions)
    assert peak(CompiledStep(model, "double").torque(positions) - plain) <= EXACT * peak(plain)


@pytest.mark.parametrize("make", [lambda: random_chain(np.random.default_rng(5), 4),
                                  lambda: load_mechanism(MECHANISMS / "four_bar.toml")], ids=["chain", "four-bar"])
def test_verify_says_yes(make):
    assert verify.verify(printed(make()), (), chip_step.run_step_on_chip, motions=1).reasons == ()


# ---- quiet


@pytest.mark.parametrize("rate_hz", [100, 1000, 10_000])
@pytest.mark.parametrize("make", [lambda: random_chain(np.random.default_rng(9), 6), lambda: tree(10, 7)],
                         ids=["chain", "tree"])
def test_the_noise_floor_holds_and_is_not_idle(make, rate_hz):
    model = of(make(), rate_hz)
    positions = moved(model, 10)
    plain = discrete.emitted_torque(model, positions)
    wrong, floor = np.abs(CompiledStep(model).torque(positions) - plain).max(axis=0), noise_floor(model, positions)
    assert np.all(wrong <= floor)
    assert np.any(wrong > 0.01 * floor)
    assert wrong.max() <= 1e-5 * peak(plain)


def test_nothing_adds_up_however_long_it_runs():
    """A motion of one second is repeated for 100 s. The carried {P} must not make the error grow."""
    model = of(tree(12, 5))
    s = np.arange(1000) * model.dt
    second = slides(model) * 0.5 * np.sin(2.0 * np.pi * s[:, None] + np.arange(model.n))
    positions = np.concatenate([np.tile(second, (100, 1)), second[:2]])
    plain = discrete.emitted_torque(model, positions[:2002])[999:1999]
    found = CompiledStep(model).torque(positions)
    late, early = (np.abs(found[k:k + 1000] - plain).max() for k in (98_999, 999))
    assert late <= 2.0 * early <= 2e-5 * peak(plain)


def test_a_wrong_p_is_put_right_by_the_next_tick():
    model = of(tree(13, 4))
    positions, step = moved(model), CompiledStep(model)
    right = step.torque(positions)
    samples = step.turns.samples(positions)
    step.start(positions[0])
    step.run(samples[:500])
    # sines and cosines, then {P}
    cdata = step.ffi.buffer(step.state, 8 * sum(not b.prismatic for b in model.bodies) + 24)
    bytes_before = bytes(cdata)
    cdata[:] = bytes_before[:-24] + np.full(6, 1e3, np.float32).tobytes()
    found = step.run(samples[500:])
    assert found[0].tobytes() != right[499].tobytes()
    assert peak(found - right[499:]) <= 1e-4 * peak(right)
    assert found[2:].tobytes() == right[501:].tobytes()


# ---- how it reads


def numbers(text: str) -> list[float]:
    return [float(sign + x) for sign, x in re.findall(r"(-?)FT_C\(([^)]*)\)", text)]


@pytest.mark.parametrize("make", [lambda: tree(2), lambda: load_mechanism(MECHANISMS / "six_axis.toml")])
def test_the_table_has_the_links_own_masses_and_levers(make):
    model = Model.of(printed(make()))
    c = sources.step_sources(model)["ft_step.c"]
    table = c.split("ft_link[FT_JOINTS] = {")[1].split("\n};")[0]
    axes = [frame_to_axis(body.axis) for body in model.bodies]
    for i, (body, entry) in enumerate(zip(model.bodies, table.split("    },\n"), strict=False)):
        assert f"/* Of {body.joint.child}: m = {body.mass:.9g} kg" in entry
        found = numbers(entry)
        J = axes[i].T @ body.inertia @ axes[i]
        outer = np.eye(3) if body.parent < 0 else axes[body.parent]
        expected = [body.mass, *J.diagonal(), J[0, 1], J[0, 2], J[1, 2]]
        assert np.allclose(np.array(found[:7]) * model.dt**2 / 2.0, expected, rtol=1e-9, atol=1e-12)
        assert np.allclose(found[7:13], [*axes[i].T @ body.com, *outer.T @ body.p0], atol=1e-12)
        assert np.allclose(np.reshape(found[13:], (3, 3)).T, outer.T @ body.R0 @ axes[i], atol=1e-12)


def test_every_link_has_a_block_outwards_and_one_inwards_with_the_equations_and_p_is_state():
    model = Model.of(printed(load_mechanism(MECHANISMS / "six_axis.toml")))
    files = sources.step_sources(model)
    for i, body in enumerate(model.bodies):
        link = f'/* Link {i + 1}, "{body.joint.child}": '
        assert files["ft_step.c"].count(link + "increments over the ticks beside s_k. */") == 1
        assert files["ft_step.c"].count(link + "{P} (Eqs 17, 18), then [L][T]{P} (Eq. 6). */") == 1
    assert "ft_node P[FT_JOINTS]; /* {P}" in files["ft_step.h"]
    closed = sources.step_sources(Model.of(printed(load_mechanism(MECHANISMS / "four_bar.toml"))))
    assert all(len(line) <= 80 for c in (files["ft_step.c"], closed["ft_tree.c"]) for line in c.splitlines())


def test_links_that_bend_are_refused_by_name():
    mechanism = printed(load_mechanism(MECHANISMS / "flexible_link.toml"))
    with pytest.raises(BadInput, match="has no printed step"):
        supported(mechanism)
