"""The two-link arm of the robot-dynamics chapter: Newton-Euler, Lagrange's closed form and FEM in comparison."""

import numpy as np

from femtorque.codegen.common import colours
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.verify import torque
from femtorque.hil.papers.finding import Finding, Table, canvas, label, picture, within
from femtorque.hil.papers.isobe import REFERENCE, SINGLE, example, newton_euler
from femtorque.hil.papers.two_link import TwoLink


def two_link(short: bool) -> Finding:
    mechanism, motion = example("two_link")
    fem = torque(mechanism, motion)
    single = torque(mechanism, motion, lambda m, positions: CompiledStep(m, "single").torque(positions))
    q, qd, qdd = motion.at(fem.t)
    arm = TwoLink.of(mechanism)
    lagrange = arm.torque(q, qd, qdd)
    exact, oracle = newton_euler(mechanism, motion, fem.t)
    peak = float(np.max(np.abs(lagrange)))
    numbers = (
        within(f"Newton-Euler ({oracle})", float(np.max(np.abs(exact - lagrange))) / peak, 1e-12,
               "Lagrange's closed form"),
        within("FEM, matrix form in float64, 1 ms", float(np.max(np.abs(fem.tau - lagrange))) / peak, REFERENCE,
               "Lagrange's closed form"),
        within("FEM, the emitted C in float32, 1 ms", float(np.max(np.abs(single.tau - lagrange))) / peak, SINGLE,
               "Lagrange's closed form"))
    H, h, G = arm.H(q), arm.h(q), arm.G(q)
    rows = []
    for k in np.linspace(0, len(fem.t) - 1, 5).astype(int):
        values = (fem.t[k], H[k, 0, 0], H[k, 0, 1], H[k, 1, 1], h[k], *G[k], *exact[k], *lagrange[k], *fem.tau[k])
        rows.append(tuple(f"{v:.4f}" for v in values))
    columns = ("t, s", "H11", "H12", "H22", "h", "G1", "G2", "NE 1", "NE 2", "Lagrange 1", "Lagrange 2", "FEM 1",
               "FEM 2")
    figure = canvas(13.0, 4.0)
    left, middle, right = figure.subplots(1, 3)
    for j in range(2):
        left.plot(fem.t, exact[:, j], color=colours.joint(j), linewidth=5.0, alpha=0.3,
                  label=f"joint {j + 1}, Newton-Euler")
        left.plot(fem.t, lagrange[:, j], color=colours.joint(j), linewidth=1.2, label=f"joint {j + 1}, Lagrange")
        left.plot(fem.t[::40], fem.tau[::40, j], "k.", markersize=4, label="FEM" if j else None)
        right.plot(fem.t, fem.tau[:, j] - lagrange[:, j], color=colours.joint(j), linewidth=1.0, label=f"joint {j + 1}")
    parts = {"inertial, H q''": (H @ qdd[..., None])[:, 0, 0], "gravity, G1": G[:, 0],
             "centrifugal, -h q2'^2": -h * qd[:, 1] ** 2, "Coriolis, -2 h q1' q2'": -2.0 * h * qd[:, 0] * qd[:, 1]}
    for k, (name, curve) in enumerate(parts.items()):
        middle.plot(fem.t, curve, color=colours.joint(k), linewidth=1.2, label=name)
    label(left, "joint torques", y="N m", legend=7)
    label(middle, "what makes up the torque of joint 1", y="N m", legend=7)
    label(right, "FEM minus Lagrange", y="N m", legend=7)
    return Finding(numbers, (picture(figure, "Planar two-link arm, gravity along -y: three formulations, one result"),),
                   (Table("coefficients (kg m^2, N m) and torques (N m) along the motion", columns, tuple(rows)),))
