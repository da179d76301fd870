"""Figures 1 to 3 and 6 of Isobe's paper, which explain the method, drawn from computed matrices for one link. Fig. 1
has the link's element and [K]. Fig. 2 shows the link's mass, lumped at the common node. Fig. 3 shows nodal forces and
the resulting forces at the joints. Fig. 6 shows the control law with its terms' torques."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from femtorque.codegen.common import MECHANISMS, Array, colours
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.model import Levers, Model, joint_torque_matrix, levers, nodal_forces, pose
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference import NodalState, accelerations, newton_euler, pinocchio
from femtorque.codegen.verify import FREEDOMS, Bar, RigidLink, elements_of, load_names
from femtorque.hil.papers.finding import Finding, Picture, Table, canvas, picture, within

INSTANT = 0.35  # time in the motion at which all joints accelerate
ROUNDING = 1e-12


def method(short: bool) -> Finding:
    """Return Figs 1 to 3 and 6, computed for one link of the three-link arm."""
    mechanism = load_mechanism(MECHANISMS / "three_link.toml")
    motion = Trajectory.load(MECHANISMS / "three_link.csv", mechanism)
    link = elements_of(mechanism).links[0]
    model, q, qd, qdd = Model.of(mechanism), *(x[None] for x in motion.at(INSTANT * motion.duration))
    loads = accelerations(model, q, qd, qdd)
    at = pose(model, q)
    arms = levers(model, at)
    matrix = joint_torque_matrix(model, at.R[0], Levers(arms.com[0], arms.joint[0]))
    tau = matrix @ nodal_forces(model, loads.F[0], loads.Phi[0])
    near, far = link.elements
    numbers = (
        within("Eq. 2, [K] of both elements against their strain energy: largest difference",
               max(_energy_gap(bar) for bar in link.elements), ROUNDING, "energy of linear fields at s1",
               "of the largest"),
        within("moment that the joint's end of the first element takes, C_mot = 0",
               float(np.abs(near.stiffness[3:6]).max() / np.abs(near.stiffness).max()), 0.0, "a hinge",
               "of the largest"),
        within("[L][T]{P} at one instant of the motion", _gap(tau, mechanism, q, qd, qdd), 1e-10,
               "rnea of Pinocchio" if pinocchio.version() else "the project's own recursion"))
    rows = tuple((name, *(f"{x:.4g}" if abs(x) > 1e-12 else "0" for x in row))
                 for name, row in zip(("Nx", "Ny", "Nz"), link.matrix, strict=True))
    lumped = tuple((axis, f"{link.mass:.4g}", *(f"{x:.4g}" if abs(x) > 1e-12 else "0" for x in row))
                   for axis, row in zip("xyz", link.inertia, strict=True))
    tables = (Table(f"Fig. 2: lumped at the node of {link.name}, kg and kg m² (mended Eq. 3: the link's own inertia)",
                    ("", "mass", "Jx", "Jy", "Jz"), lumped),
              Table(f"Eq. 15, general form: [Λ] of {link.name}, m", ("", *load_names(link)), rows))
    return Finding(numbers, (_element_picture(link, near, far), _forces_picture(at.origin[0], arms.com[0], loads, tau),
                             _control_picture()), tables)


def _gap(tau: Array, mechanism: Mechanism, q: Array, qd: Array, qdd: Array) -> float:
    exact = (pinocchio.torque(mechanism, q, qd, qdd)[0] if pinocchio.version()
             else newton_euler(Model.of(mechanism), q, qd, qdd)[0])
    return float(np.max(np.abs(tau - exact)) / np.max(np.abs(exact)))


def _energy_gap(bar: Bar) -> float:
    """Return the difference between [K] and the Hessian of the strain energy of linear fields at s1."""
    one, z = np.eye(12), bar.length * (1.0 + bar.s1) / 2.0

    def energy(u: Array) -> float:
        slope = (u[6:] - u[:6]) / bar.length
        here = u[:6] + slope * z
        bent = bar.EI[0] * slope[3] ** 2 + bar.EI[1] * slope[4] ** 2 + bar.GJ * slope[5] ** 2
        sheared = bar.GA_s * ((slope[0] - here[4]) ** 2 + (slope[1] + here[3]) ** 2)
        return 0.5 * bar.length * float(bar.EA * slope[2] ** 2 + bar.c_mot * bent + sheared)

    alone = [energy(e) for e in one]
    K = np.array([[energy(a + b) - alone[i] - alone[j] for j, b in enumerate(one)] for i, a in enumerate(one)])
    return float(np.abs(K - bar.stiffness).max() / np.abs(bar.stiffness).max())


def _element_picture(link: RigidLink, near: Bar, far: Bar) -> Picture:
    figure = canvas(13.0, 4.4)
    drawn, *spies = figure.subplots(1, 3, width_ratios=(1.5, 1.0, 1.0))
    x, joint, end = near.length, 0.0, near.length + far.length
    drawn.plot([joint, x, end], [0, 0, 0], color=colours.MEASURED, linewidth=6, alpha=0.35, solid_capstyle="round")
    drawn.plot([joint, x, end], [0, 0, 0], "o", color=colours.MEASURED)
    for at, text in ((joint, f"joint {link.joint}\nr1 = -1, C_mot = {near.c_mot:g}"),
                     (x, f"centre of gravity\ns1 = 1 of the first, s1 = -1 of the second\n{link.mass:.4g} kg lumped"),
                     (end, f"{far.end}\nr1 = 1")):
        drawn.annotate(text, (at, 0), (at, 0.3 if at == x else -0.45), ha="center", va="center", fontsize=8,
                       arrowprops={"arrowstyle": "-", "color": colours.DESIRED})
    drawn.text((joint + x) / 2, 0.07, f"element 1, {near.length:.4g} m", ha="center", fontsize=8)
    drawn.text((x + end) / 2, -0.13, f"element 2, {far.length:.4g} m", ha="center", fontsize=8)
    drawn.set(xlim=(-0.25 * end, 1.25 * end), ylim=(-0.8, 0.6), title="Figs 1 and 2: a link is two shifted elements")
    drawn.axis("off")
    for axes, bar, name in zip(spies, (near, far), ("first", "second"), strict=True):
        _matrix(axes, bar.stiffness, f"[K] of the {name} element, log10 of N/m, N, N m")
    return picture(figure, f"Figs 1 and 2, computed: link {link.name}; [K] = l B(s1)' D(r1) B(s1) (Eq. 2). Rows "
                           "and columns 3 to 5 of the first element are zero: C_mot = 0 makes its joint's end a hinge")


def _matrix(axes: Axes, matrix: Array, title: str) -> None:
    size = np.where(np.abs(matrix) > 1e-12 * np.abs(matrix).max(), np.log10(np.abs(matrix) + 1e-300), np.nan)
    shown = axes.imshow(size, cmap="cividis")
    axes.set_xticks(range(12), FREEDOMS, rotation=90, fontsize=7)
    axes.set_yticks(range(12), FREEDOMS, fontsize=7)
    axes.set_title(title, fontsize=9)
    axes.figure.colorbar(shown, ax=axes, shrink=0.8)


def _forces_picture(origins: Array, arms: Array, loads: NodalState, tau: Array) -> Picture:
    """Draw the nodal forces at the centres of gravity, the moments of these forces, and the torques at the joints."""
    figure = canvas(9.0, 4.6)
    axes = figure.subplots()
    centres = origins + arms
    tip = origins[-1] + 2.0 * arms[-1]
    points = np.vstack([origins, tip])
    axes.plot(points[:, 0], points[:, 1], color=colours.MEASURED, linewidth=3, alpha=0.5)
    axes.plot(origins[:, 0], origins[:, 1], "o", color=colours.MEASURED, markersize=9, markerfacecolor="white")
    reach = 0.12 / np.max(np.linalg.norm(loads.F[0, :, :2], axis=1))
    right, left = 0.16 + points[:, 0].max(), points[:, 0].min() - 0.16
    line = {"arrowstyle": "-", "color": colours.DESIRED, "linewidth": 0.5}
    for i, (c, F, Phi, torque) in enumerate(zip(centres, loads.F[0], loads.Phi[0], tau, strict=True)):
        colour = colours.joint(i)
        axes.add_patch(FancyArrowPatch(c[:2], c[:2] + reach * F[:2], arrowstyle="-|>", mutation_scale=14, color=colour))
        axes.plot(*c[:2], "s", color=colour)
        axes.annotate(f"F{i + 1} = {np.linalg.norm(F[:2]):.3g} N\nΦ{i + 1} = {1e3 * Phi[2]:.3g} mN m", (c[0], c[1]),
                      (right, c[1]), va="center", fontsize=8, color=colour, arrowprops=line)
        axes.annotate(f"τ{i + 1} = {torque:.4g} N m", tuple(origins[i, :2]), (left, origins[i, 1]), ha="right",
                      va="center", fontsize=8, arrowprops=line)
    axes.set(xlim=(left - 0.25, right + 0.25), ylim=(points[:, 1].min() - 0.08, points[:, 1].max() + 0.08))
    axes.set_aspect("equal")
    axes.set(xlabel="x, m", ylabel="y, m", title=f"Fig. 3: nodal forces at {INSTANT:.0%} of the motion")
    return picture(figure, "Fig. 3, computed: {P} at the nodes of the three-link arm, and {τ} = [L][T]{P} at its "
                           "joints")


def _control_picture() -> Picture:
    figure = canvas(11.0, 2.6)
    axes = figure.subplots()
    boxes = {"target": (0.0, 0.0, "target\nq, q', q''"), "fem": (0.26, 0.28, "FEM inverse dynamics\nτ = [L][T]{P}"),
             "pd": (0.26, -0.28, "PD\nKu (q - q_m) + Kv (q' - q_m')"),
             "motor": (0.56, 0.0, "J q'' + D q'\nV = R i + K q'"), "arm": (0.82, 0.0, "motors and arm")}
    for x, y, text in boxes.values():
        axes.add_patch(FancyBboxPatch((x, y - 0.14), 0.16, 0.28, boxstyle="round,pad=0.01", facecolor="#eef2f7",
                                      edgecolor=colours.MEASURED))
        axes.text(x + 0.08, y, text, ha="center", va="center", fontsize=8)
    for a, b in (((0.17, 0.05), (0.25, 0.26)), ((0.17, -0.05), (0.25, -0.26)), ((0.43, 0.26), (0.55, 0.06)),
                 ((0.43, -0.26), (0.55, -0.06)), ((0.73, 0.0), (0.81, 0.0))):
        axes.add_patch(FancyArrowPatch(a, b, arrowstyle="-|>", mutation_scale=12, color=colours.MEASURED))
    axes.plot([0.9, 0.9, 0.34], [-0.15, -0.58, -0.58], color=colours.MEASURED, linewidth=1.0)
    axes.add_patch(FancyArrowPatch((0.34, -0.58), (0.34, -0.42), arrowstyle="-|>", mutation_scale=12, shrinkA=0,
                                   color=colours.MEASURED))
    axes.text(0.62, -0.54, "encoder counts: q_m, q_m'", fontsize=8, ha="center")
    axes.set(xlim=(-0.05, 1.05), ylim=(-0.65, 0.5))
    axes.axis("off")
    return picture(figure, "Fig. 6: the control system. All of it but motors and arm is one control tick on the chip; "
                           "the motor terms are Eq. 19 with its mended sign")
