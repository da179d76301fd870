"""The solids, the examples and the accuracy of the PLEXUS paper, with the articulated plant."""

import time

import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from mpl_toolkits.mplot3d.axes3d import Axes3D
from scipy.integrate import solve_ivp

from femtorque.codegen.common import MECHANISMS, Array, colours
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.model import Model, pose, rotor_inertia
from femtorque.codegen.reference import pinocchio as pinocchio_rnea
from femtorque.hil.papers.finding import Finding, Number, Picture, Table, canvas, label, picture, within
from femtorque.hil.papers.isobe import changed_picture, stroboscope
from femtorque.hil.plant import RigidTree
from femtorque.hil.plant.articulated import solids
from femtorque.hil.plant.articulated.plant import Plant
from femtorque.hil.play import Result
from femtorque.hil.scenarios import (
    DESIGN_COLUMNS, FOLDER, Scenario, checks, form, load_scenario, optimise, plant_of, play_scenario, servo_arm,
    without_friction)

STEPS = (1e-3, 5e-4, 2.5e-4)  # s
FALL = 0.3  # time of motion without drives for the order of convergence, s
TRIALS, SHORT_TRIALS = 40, 12


def reduction(short: bool) -> Finding:
    """Return Fig. 1: a solid as four point masses."""
    mechanism = load_mechanism(MECHANISMS / "six_axis.toml")
    rows, worst = [], 0.0
    for link in mechanism.links:
        r = solids.reduce(link.name, link.mass, link.com, link.inertia).points - link.com
        inertia = sum(0.25 * link.mass * (p @ p * np.eye(3) - np.outer(p, p)) for p in r)
        error = float(np.max(np.abs(inertia - link.inertia)) / np.max(np.abs(link.inertia)))
        aside = float(np.linalg.norm(r.mean(axis=0)))
        worst = max(worst, error, aside)
        rows.append((link.name, f"{link.mass:g}",
                     "; ".join("(" + ", ".join(f"{1e3 * x:.1f}" for x in p) + ")" for p in r),
                     f"{error:.1e}"))
    link = mechanism.link("upper_arm")
    points = solids.reduce(link.name, link.mass, link.com, link.inertia).points
    figure = canvas(6.5, 3.2)
    axes = figure.add_subplot(projection="3d")
    for i, j in solids.EDGES:
        axes.plot(*points[[i, j]].T, color=colours.DESIRED, linewidth=1.0)
    axes.scatter(*points.T, s=60, color=colours.joint(1))
    axes.scatter(*link.com, s=30, color=colours.joint(0), marker="+")
    for k, p in enumerate(points):
        axes.text(*p, f"  m{k + 1} = M/4", fontsize=8)
    axes.set(xlabel="x, m", xticks=[0.0, 0.1, 0.2, 0.3, 0.4], yticks=[], zticks=[])  # y and z are short
    axes.set_box_aspect(None, zoom=1.3)
    axes.tick_params(labelsize=6)
    return Finding((within("centre of gravity and inertia of the four points, all links of the six-axis arm", worst,
                           1e-12,
                           "the given tensor", "relative"),),
                   (picture(figure,
                            "Reduction of a solid into 4 nodal masses: upper arm of the six-axis arm, widened across; "
                                    "+ its centre of gravity"),),
                   (Table("the four points",
                          ("solid", "M, kg", "places about the centre of gravity, mm", "inertia error"),
                          tuple(rows)),))


def flexible_arm(short: bool) -> Finding:
    """Return the flexible arm with servo-controlled rotation."""
    swings = servo_arm.swings(load_scenario("flexible_arm"), short)
    figure = canvas(13.0, 4.0)
    left, right = figure.subplots(1, 2)
    left.plot(swings[0].t, swings[0].target, color=colours.DESIRED, linewidth=4.0, label="target")
    for k, s in enumerate(swings):
        left.plot(s.t, s.hub, color=colours.joint(k), linewidth=1.2, label=s.name)
        right.plot(s.t, 1e3 * s.tip, color=colours.joint(k), linewidth=1.2,
                   label=f"{s.name}, {s.theory[0]:.2f} Hz by theory")
    label(left, "angle of the motor", y="rad", legend=8)
    label(right, "tip from where the target points", y="mm", legend=8)
    numbers = [Number.of(check) for s in swings for check in s.checks()]
    softer = [s.measured[0] for s in swings]
    numbers.append(Number("the additional flexibility provided by the servo-control: frequency over that of a clamped "
                          "root",
                          ", ".join(f"{f / swings[0].clamped:.3f}" for f in softer),
                          "below 1, falling with the servo's "
                          "stiffness", bool(np.all(np.diff([swings[0].clamped, *softer]) < 0.0))))
    return Finding(tuple(numbers),
                   (picture(figure, "An elastic beam with a point mass at its end, turned and held by three "
                                                    "servos"),))


def three_axes(short: bool) -> Finding:
    """Return Fig. 3: manipulator with three axes of rotation."""
    s = load_scenario("three_axis")
    plants = {case.name: plant_of(s.mechanism, case, short) for case in s.runs(short)}
    results = {case.name: play_scenario(s, case, short=short, plant=plants[case.name]) for case in s.runs(short)}
    ff = results["feed-forward + PD"]
    began = ff.record.seconds[ff.moving.start]
    members = [(m.link, f"{m.axial.value:.1f}", f"{m.shear.value:.1f}", f"{m.torsion.value:.2f}",
                f"{m.bending.value:.2f}",
                f"{1e-6 * m.stress.value:.2f} at {m.stress.station:.2f} m, {m.stress.time - began:.2f} s")
               for m in plants["feed-forward + PD"].members.report()]
    return Finding(tuple(Number.of(check) for check in checks(s, results, short)),
                   (_arm_picture(s.mechanism, results), changed_picture(s, results, short)),
                   (Table("maxima of the members over the motion (N, N m; von Mises stress of the outer fibre, MPa)",
                          ("link", "axial", "shear", "torsion", "bending", "stress"), tuple(members)),))


def _arm_picture(mechanism: Mechanism, results: dict[str, Result]) -> Picture:
    """Draw the arm at some times, its joint angles, and the tracking errors of the first two runs."""
    figure = canvas(13.0, 4.4)
    arm = figure.add_subplot(1, 3, 1, projection="3d")
    names = list(results)
    t, q, _ = results[names[-1]].tracked
    model = Model.of(mechanism)
    at = pose(model, q)
    stroboscope(arm, at.origin, at.origin[:, -1] + at.R[:, -1] @ (2.0 * model.bodies[-1].com), 7)
    arm.set(xlabel="x, m", ylabel="y, m", zlabel="z, m")
    arm.set_aspect("equal")
    angles, errors = figure.add_subplot(1, 3, 2), figure.add_subplot(1, 3, 3)
    for j, joint in enumerate(mechanism.streamed):
        angles.plot(t, q[:, j], color=colours.joint(j), label=joint.name)
    for name, style in zip(names[:2], ("-", "--"), strict=True):
        seconds, _, gap = results[name].tracked
        for j in range(gap.shape[1]):
            errors.plot(seconds, 1e3 * gap[:, j], color=colours.joint(j), linestyle=style, linewidth=1.0,
                        label=name if j == 0 else None)
    label(angles, "joint angles", y="rad", legend=7)
    label(errors, "target minus true angle", y="mrad", legend=7)
    return picture(figure, "The arm at some instants, its motion and its tracking, all from the articulated plant")


def industrial_robot(short: bool) -> Finding:
    """Return Fig. 4: solids from meshes; optimised motors, gears and servo gains; the result on the virtual board."""
    s = load_scenario("industrial_robot")
    assert s.file.design is not None
    choice = optimise(s.mechanism, s.file.design, s.trajectory(short), SHORT_TRIALS if short else TRIALS)
    results = {case.name: play_scenario(s, case, short=short, chosen=choice.chosen) for case in s.runs(short)}
    numbers = [Number.of(c) for c in choice.checks(s.file.design.margin) + checks(s, results, short)]
    figure = canvas(13.0, 4.8)
    _draw_robot(figure.add_subplot(1, 2, 1, projection="3d"), s)
    axes = figure.add_subplot(1, 2, 2)
    paints = {"start, PD": colours.FEEDBACK, "start, feed-forward + PD": colours.FEED_FORWARD,
              "optimised, PD": colours.ALL}
    for name, result in results.items():
        seconds, _, gap = result.tracked
        axes.semilogy(seconds, 1e3 * np.maximum(np.linalg.norm(gap, axis=1), 1e-7), linewidth=1.0,
                      color=paints.get(name, colours.REST), label=name)
    label(axes, "tracking error on the virtual board, all joints", y="mrad", legend=8)
    table = Table(f"chosen in {choice.trials} simulations: start -> optimum", DESIGN_COLUMNS, tuple(choice.table()))
    return Finding(tuple(numbers), (picture(figure, "The robot's solids, and its error before and after"),), (table,))


def _draw_robot(axes: Axes3D, s: Scenario) -> None:
    """Draw the solids at the end of the motion, with the meshes of the scenario file."""
    model, q = Model.of(s.mechanism), s.trajectory(False).positions[-1]
    at = pose(model, q)
    where = {body.joint.child: i for i, body in enumerate(model.bodies)}
    corners = []
    for number, solid in enumerate(s.file.solid):
        if solid.shape == "sphere":
            continue  # the picture omits the twenty thousand triangles of the housing
        mesh, i = form(solid, FOLDER / f"{s.name}.toml", number), where[solid.link]
        triangles = mesh.triangles @ at.R[i].T + at.origin[i]
        axes.add_collection3d(Poly3DCollection(triangles, facecolor=colours.joint(i), edgecolor=(0, 0, 0, 0.15),
                                               linewidth=0.3, alpha=0.6))
        corners.append(triangles.reshape(-1, 3))
    low, high = np.vstack(corners).min(axis=0), np.vstack(corners).max(axis=0)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]), xlabel="x, m", ylabel="y, m",
             zlabel="z, m")
    axes.set_aspect("equal")
    axes.tick_params(labelsize=6)


# ---- accuracy and speed


def accuracy(short: bool) -> Finding:
    """Return the articulated plant's convergence order, drift of energy and closure, and real-time factor."""
    mechanism = load_mechanism(MECHANISMS / "six_axis.toml")
    free = without_friction(mechanism)
    exact, oracle = fallen(free, FALL)
    rows, errors = [], []
    for step in STEPS:
        plant = Plant(free, max_step=step)
        plant.push(FALL, np.zeros(plant.n))
        errors.append(float(np.abs(plant.q - exact).max()))
        lost, _, open_by = energy(free, step, 1.0)
        rows.append((f"{1e3 * step:g}", f"{errors[-1]:.2e}",
                     "" if len(errors) < 2 else f"{np.log2(errors[-2] / errors[-1]):.2f}",
                     f"{lost:.1e}", f"{open_by:.1e}", f"{real_time_factor(mechanism, step):.2f}"))
    seconds = 2.0 if short else 10.0
    drift, scale, closure = energy(free, 2e-3, seconds)
    orders = [float(np.log2(a / b)) for a, b in zip(errors[:-1], errors[1:], strict=True)]
    fastest = float(rows[0][-1])
    numbers = (
        Number("order of convergence, six joints falling freely", ", ".join(f"{o:.2f}" for o in orders),
               f"2 +- 0.2; errors against {oracle}", bool(np.all(np.abs(np.array(orders) - 2.0) < 0.2))),
        within(f"energy over {seconds:g} s of free motion at 2 ms, {scale:.1f} J changing hands", drift,
               round(1e-3 * scale, 3),
               "conserved", "J"),
        within("closure of the mechanisms after that", closure, 1e-10, "the rows", "m"),
        Number("real-time factor, six joints with motors and friction, 1 ms steps", f"{fastest:.1f}",
               "at least 1 on this machine",
               fastest >= 1.0))
    return Finding(numbers, (), (Table("six-axis arm in free motion",
                                       ("step, ms", f"error after {FALL:g} s, rad", "order",
                                        "energy drift within 1 s, J",
                                        "closure after 1 s, m", "real-time factor"), tuple(rows)),))


def fallen(mechanism: Mechanism, seconds: float) -> tuple[Array, str]:
    """Return positions (n,) after a fall from the start pose without drives, and the oracle's name."""
    start, rotors = np.array([j.start for j in mechanism.streamed]), rotor_inertia(Model.of(mechanism))
    n = len(start)
    if version := pinocchio_rnea.version():
        import pinocchio as pin  # noqa: PLC0415 (not everyone has it)

        model = pinocchio_rnea.pinocchio_of(mechanism)
        model.armature = rotors
        data = model.createData()

        def slope(t: float, y: Array) -> Array:
            return np.concatenate([y[n:], pin.aba(model, data, y[:n], y[n:], np.zeros(n))])

        oracle = f"aba of Pinocchio {version}, DOP853 of SciPy"
    else:
        tree = RigidTree(mechanism)

        def slope(t: float, y: Array) -> Array:
            at = tree.at(y[:n], y[n:])
            return np.concatenate([y[n:], np.linalg.solve(at.mass + np.diag(rotors), at.gravity - at.coriolis @ y[n:])])

        oracle = "the minimal-coordinate plant's equations, DOP853 of SciPy (no Pinocchio)"
    found = solve_ivp(slope, (0.0, seconds), np.concatenate([start, np.zeros(n)]), method="DOP853", rtol=1e-11,
                      atol=1e-12)
    return found.y[:n, -1], oracle


def energy(mechanism: Mechanism, step: float, seconds: float) -> tuple[float, float, float]:
    """Return the maximum drift of the energy and maximum kinetic energy, J, and the final closure error, m."""
    plant = Plant(mechanism, max_step=step)
    start, drift, fastest = plant.kinetic() + plant.potential(), 0.0, 0.0
    while plant.time < seconds - 1e-9:
        plant.push(0.05, np.zeros(plant.n))
        kinetic = plant.kinetic()
        drift, fastest = max(drift, abs(kinetic + plant.potential() - start)), max(fastest, kinetic)
    return drift, fastest, plant.cycle.closure()


def real_time_factor(mechanism: Mechanism, step: float) -> float:
    """Return simulated over elapsed time for the fastest of 30 chunks of five ticks of 1 ms."""
    plant, best = Plant(mechanism, max_step=step), np.inf
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(5):
            plant.drive(1e-3, np.full(plant.n, 6.0))
        best = min(best, time.perf_counter() - start)
    return 5e-3 / best
