"""Tests that functions and commands give each number of the worked example in codegen/THEORY.md."""

import csv
import json
import re

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model, joint_torque_matrix, levers, nodal_forces, pose
from femtorque.codegen.model.kinematics import length_matrix, transformation
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference import rigid
from femtorque.codegen.reference.printed import tick_momenta
from femtorque.codegen.verify import elements_of, torque
from tests.support.rig import ROOT

FILE, MOTION, TICK = ROOT / "mechanisms" / "two_link.toml", ROOT / "mechanisms" / "two_link.csv", 250


def short(x) -> str:
    """Format numbers as in the example, with seven digits."""
    return "  ".join(f"{value:.7g}" if abs(value) > 1e-12 else "0" for value in np.ravel(x))


@pytest.fixture(scope="module")
def lines() -> list[str]:
    mechanism = load_mechanism(FILE)
    motion, model = Trajectory.load(MOTION, mechanism), Model.of(mechanism)
    t = (TICK + 0.5) * model.dt
    q = motion.at(np.array([t - model.dt, t, t + model.dt]))[0]
    first, last = (tick_momenta(model, pose(model, q[k]), (q[k + 1] - q[k]) / 2.0) for k in (0, 1))
    weight = np.array([body.mass for body in model.bodies])[:, None] * model.gravity
    F, Phi = (last[0] - first[0]) / model.dt - weight, (last[1] - first[1]) / model.dt
    at = pose(model, q[1])
    arms = levers(model, at)
    P = nodal_forces(model, F, Phi)
    turned = transformation(model, at.R) @ P
    moments = length_matrix(model, at.R, arms) @ turned
    tau = joint_torque_matrix(model, at.R, arms) @ P
    assert tau == pytest.approx(moments[[2, 5]], rel=1e-14)
    made = []
    for link in elements_of(mechanism).links:
        near, far = link.elements
        made += [f"{link.name}: elements {short([near.length, far.length])} m, s1 {short([near.s1, far.s1])}, "
                 f"C_mot {short(near.c_mot)}, at its node {short(link.mass)} kg, {short(link.inertia[2, 2])} kg m^2",
                 f"row z of [Lambda]: {short(link.matrix[2])}"]
    made += [f"q at s_k-1, s_k, s_k+1: {short(q[:, 0])}; {short(q[:, 1])}"]
    for i in range(2):
        made += [f"link {i + 1}: p before {short(first[0][i, :2])}, after {short(last[0][i, :2])}; "
                 f"h {short([first[1][i, 2], last[1][i, 2]])}",
                 f"F_{i + 1} {short(F[i, :2])}, Phi_{i + 1} {short(Phi[i, 2])}"]
    made += [f"[T]{{P}} of link 1: F {short(turned[:2])}, S {short(turned[3:5])}, Phi {short(turned[8])}",
             f"[T]{{P}} of link 2: F {short(turned[9:11])}, Phi {short(turned[14])}",
             f"tau {short(tau)} N m"]
    increments = torque(mechanism, motion).tau[TICK]
    exact = rigid.newton_euler(model, *(x[None] for x in motion.at(t)))[0]
    return [*made, f"by momenta at the boundaries (4.1): {short(increments)}", f"by Newton and Euler: {short(exact)}"]


def example() -> str:
    text = (ROOT / "codegen" / "THEORY.md").read_text(encoding="utf-8")
    return text.split("### 4.6 ")[1].split("\n## ")[0]


def test_the_functions_give_every_line_of_numbers(lines):
    assert [line.strip() for line in example().splitlines() if line.startswith("    ")] == lines
    known = set(" ".join(lines).replace(",", " ").replace(";", " ").split()) | {"9.81", "0.2505", "4.1", "4.5"}
    prose = " ".join(line for line in example().splitlines() if not line.startswith("    "))
    assert {x for x in re.findall(r"(?<![\w.-])\d+\.\d+", prose)} <= known


def test_the_commands_print_the_same(here, tmp_path, lines):
    said = example()
    shown = json.loads(here("elements", FILE, "--json").stdout)
    for link in shown["links"]:
        near, far = link["elements"]
        assert f"{link['name']}: elements {short([near['length'], far['length']])} m" in said
        assert short(link["lambda"][2]) in said and f"at its node {short(link['mass'])} kg" in said
    for out, more, line in (("a.csv", ("--backend", "c", "--precision", "double"), lines[-3]),
                            ("b.csv", (), lines[-2])):
        assert here("torque", FILE, MOTION, "-o", tmp_path / out, *more).returncode == 0
        with (tmp_path / out).open(encoding="utf-8") as rows:
            row = list(csv.reader(rows))[TICK + 1]
        assert float(row[0]) == pytest.approx(0.2505, abs=1e-12) and "0.2505 s" in said
        assert short([float(x) for x in row[1:]]) in line
