"""Test that the emitted C gives the recorded torques, bit for bit, for every mechanism of the project and for the arms
of the tests.

torques.json contains a digest of the torques of a motion for each precision. After an intended change, record the
digest again: `python -m tests.codegen.step.test_same_torques [name ...]`."""

import json
import re
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.emit import sources
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.model import Model, assemble, schedule
from femtorque.codegen.motion import Trajectory, random_motion
from femtorque.codegen.reference import Wrench
from femtorque.codegen.toolchain import CompiledStep, Precision, wrench_library
from tests.codegen.model import test_loop_kinds
from tests.codegen.step import test_flexible
from tests.support import oracle, sampling
from tests.support.arms import arms

TABLE = Path(__file__).with_name("torques.json")
TICKS = 250
PRECISIONS: tuple[Precision, ...] = ("single", "double")

Case = Callable[[], Mechanism]


def asking(case: Case, **control: object) -> Case:
    """Return a case of the same mechanism with other values in its control section."""
    return lambda: sampling.asking(case(), **control)


def schemes(name: str, case: Case) -> dict[str, Case]:
    """Return the case with each scheme."""
    return {f"{name}, {scheme}": asking(case, scheme=scheme)
            for scheme in ("nodal", "printed")}


def cases() -> dict[str, Case]:
    """Return functions that make the mechanisms, by name."""
    found: dict[str, Case] = {}
    for path in sorted(MECHANISMS.glob("*.toml")):
        found[path.stem] = lambda path=path: load_mechanism(path)
    for name in ("six_axis", "three_axis", "three_link"):
        found |= schemes(name, lambda name=name: load_mechanism(MECHANISMS / f"{name}.toml"))
    for name in ("planar-3", "planar-8", "ur5", "puma560", "panda-7"):
        found |= schemes(name, lambda name=name: arms()[name])
    for seed, n in ((1, 4), (2, 6), (3, 14)):
        found |= schemes(f"tree {n}", lambda seed=seed, n=n: oracle.random_tree(np.random.default_rng(seed), n))
    found |= schemes("sprung tree", lambda: sampling.sprung(oracle.random_tree(np.random.default_rng(11), 6)))
    found |= schemes("slow tree",
                     asking(lambda: oracle.random_tree(np.random.default_rng(12), 5), rate_hz=100, knot_hz=50))
    found["chain 20"] = lambda: oracle.random_chain(np.random.default_rng(13), 20)
    found["three_rrr, partition"] = asking(lambda: load_mechanism(MECHANISMS / "three_rrr.toml"),
                                           allocation="partition")
    for name in ("biped", "delta", "five_bar_4", "four_bar", "pick_and_place"):
        found[f"{name}, printed"] = asking(lambda name=name: load_mechanism(MECHANISMS / f"{name}.toml"),
                                           scheme="printed")
    for name, mechanism in test_flexible.CASES.items():
        found[f"flexible: {name}"] = lambda m=mechanism: m
    for name, (make, *_) in test_loop_kinds.KINDS.items():
        if name not in test_loop_kinds.LARGE:
            found[f"loop: {name}"] = make
    return found


def torques(name: str, mechanism: Mechanism, precision: Precision) -> np.ndarray:
    """Return the torques of a motion of all joints: from the file for a mechanism with modes, otherwise random."""
    model = Model.of(mechanism)
    step = CompiledStep(model, precision)
    if name.startswith("flexible: "):
        return step.torque(test_flexible.sampled(mechanism))
    if name.startswith("loop: "):
        assembly = assemble(model)
        return step.torque(test_loop_kinds.motion(assembly)[:, list(assembly.actuated)])
    if mechanism.modes:
        assert mechanism.source is not None
        motion = Trajectory.load(mechanism.source.with_suffix(".csv"), mechanism)
        ticks = round(motion.duration * mechanism.control.rate_hz)
        return step.torque(motion.middles(ticks, model.dt), schedule(mechanism, motion.modes, ticks))
    motion = random_motion(mechanism, np.random.default_rng(7))
    positions = motion.middles(min(TICKS, mechanism.control.rate_hz), model.dt)
    if mechanism.constrained:  # the last bits of SciPy's splines depend on the processor
        positions = np.round(positions * 2.0**30) / 2.0**30
    return step.torque(positions)


def wrenches(mechanism: Mechanism, precision: Precision) -> np.ndarray:
    """Return torques due to a wrench on the last link."""
    model = Model.of(mechanism)
    q = np.random.default_rng(8).uniform(-1.0, 1.0, (20, model.n))
    wrench = Wrench(mechanism.links[-1].name, np.array([1.0, -2.0, 3.0]), np.array([0.1, 0.2, -0.3]))
    return wrench_library.emitted_wrench_torque(model, q, wrench, precision)


def digests(name: str, case: Case) -> dict[str, str]:
    mechanism, found = case(), {}
    for precision in PRECISIONS:
        parts = [torques(name, mechanism, precision)]
        if name.endswith(", nodal"):
            parts.append(wrenches(mechanism, precision))
        assert all(np.all(np.isfinite(part)) and np.any(part) for part in parts)
        found[precision] = sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]
    return found


CASES = cases()


def test_no_mechanism_is_left_out():
    assert list(json.loads(TABLE.read_text())) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_torques_are_the_same_bit_for_bit(name):
    assert digests(name, CASES[name]) == json.loads(TABLE.read_text())[name]


# ---- how it reads


def endings(text: str) -> set[str]:
    """Return the suffixes of the names of values in a function of the emitted C, without components."""
    names = re.findall(r"const ft_(?:real|pair) (\w+) = ", text.split("_state *s, const ft", 1)[-1])
    parts = {re.sub(r"\d+(x$|[yz]s?$)?", "", part) for name in names for part in name.split("_")[1:]}
    return parts - {"", "c", *"xyz", *(a + b for a in "xyz" for b in "xyz")}


@pytest.mark.parametrize("name",
                         ["panda-7, nodal", "tree 6, nodal", "tree 14, nodal",
                                  "tree 14, printed", "delta, printed", "pick_and_place, printed",
                                  "eight_link", "three_rrr", "delta", "two_arm_grasp", "biped",
                                  "flexible: two planes", "flexible: beams and springs, two planes",
                          "flexible: a sliding spring"])
def test_the_head_of_the_emitted_c_explains_every_ending(name):
    for file, text in sources.step_sources(Model.of(CASES[name]())).items():
        if file.endswith(("step.c", "tree.c", "loop.c")):
            head = text.split("*/", 1)[0]
            assert not [e for e in endings(text) if f"_{e}" not in head], file
            assert "minus_" not in text


if __name__ == "__main__":
    old = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    made = {name: digests(name, case) if not sys.argv[1:] or name in sys.argv[1:] else old[name]
            for name, case in CASES.items()}
    TABLE.write_text(json.dumps(made, indent=1) + "\n", newline="\n")
