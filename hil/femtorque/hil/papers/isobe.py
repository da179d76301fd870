"""The numerical examples and the control experiment of Isobe's paper."""

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from mpl_toolkits.mplot3d.axes3d import Axes3D

from femtorque.codegen.common import MECHANISMS, Array, colours
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.model import Model, pose
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference import newmark_growth, newmark_torque, pinocchio, rigid
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.verify import Torque, torque
from femtorque.hil.papers.finding import Finding, Number, Picture, canvas, label, picture, within
from femtorque.hil.play import Result
from femtorque.hil.scenarios import Scenario, checks, difference, load_scenario, play_scenario

REFERENCE, SINGLE = 1e-5, 1e-4  # of peak, at 1 ms
NEWMARK = (0.25, 0.5)  # the paper's beta, and its gamma
CORE_HZ = 168e6  # of the STM32F405
PAPER_STEP, PAPER_SAMPLING = 0.5e-3, 10e-3  # time steps, s: "about 0.5 ms, which is short enough ... (10 ms)"


def example(name: str) -> tuple[Mechanism, Trajectory]:
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    return mechanism, Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)


def newton_euler(mechanism: Mechanism, motion: Trajectory, t: Array) -> tuple[Array, str]:
    """Return the torques (N, n) of the motion at t from an independent oracle, and the name of the oracle."""
    if version := pinocchio.version():
        return pinocchio.torque(mechanism, *motion.at(t)), f"rnea of Pinocchio {version}"
    return rigid.newton_euler(Model.of(mechanism), *motion.at(t)), "the project's own Newton-Euler (no Pinocchio)"


def _worst(tau: Array, against: Array) -> float:
    return float(np.max(np.abs(tau - against)) / np.max(np.abs(against)))


def _accuracy(mechanism: Mechanism, motion: Trajectory) -> tuple[Torque, Array, str, tuple[Number, Number]]:
    """Return the torques by FEM and by the oracle, the name of the oracle, and the errors of FEM."""
    fem = torque(mechanism, motion)
    single = torque(mechanism, motion, lambda m, positions: CompiledStep(m, "single").torque(positions))
    exact, oracle = newton_euler(mechanism, motion, fem.t)
    return fem, exact, oracle, (
        within("FEM, matrix form in float64, 1 ms", _worst(fem.tau, exact), REFERENCE, oracle),
        within("FEM, the emitted C in float32, 1 ms", _worst(single.tau, exact), SINGLE, oracle))


def eight_link(short: bool) -> Finding:
    """Return Fig. 4: joint torques of the eight-link chain by Newton-Euler and by FEM."""
    mechanism, motion = example("eight_link")
    model = Model.of(mechanism)
    fem, exact, oracle, accuracy = _accuracy(mechanism, motion)
    slow = Model.of(replace(mechanism, control=replace(mechanism.control, rate_hz=100, knot_hz=100)))
    growth = newmark_growth(*NEWMARK)
    numbers = (
        *accuracy,
        within("FEM with the paper's Newmark beta = 1/4, 10 ms, motion of zero initial jerk",
               _worst(*_newmark(slow, motion)), 1e-2, oracle),
        Number("the same on a motion with initial jerk (quintic): the scheme used inversely is not stable",
               f"{_worst(*_newmark(slow, _quintic(motion))):.2g} of peak",
               f"largest eigenvalue {growth:g}, twice: errors grow in "
               "proportion to time, so the momentum form is the default"))
    return Finding(numbers, (_torque_picture(fem.t, exact, fem.tau, [b.joint.name for b in model.bodies],
                                             f"Eight links of 20 cm and 107.5 g; worst difference "
                                             f"{_worst(fem.tau, exact):.1e} of peak"),))


def _newmark(model: Model, motion: Trajectory) -> tuple[Array, Array]:
    """Return the torques of the paper's scheme and of the oracle at the sampled times."""
    t = np.arange(round(motion.duration / model.dt) + 1, dtype=float) * model.dt
    start = rigid.accelerations(model, *motion.at(0.0))
    tau = newmark_torque(model, motion.at(t)[0], start, *NEWMARK, rigid.recursion)
    return tau, newton_euler(model.mechanism, motion, t)[0]


def _quintic(motion: Trajectory) -> Trajectory:
    """Return a motion with the same start and end, but with a jerk at the start."""
    x = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
    s, first, way = motion.times / motion.duration, motion.positions[0], motion.positions[-1] - motion.positions[0]
    parts = [np.outer(x.deriv(k)(s) if k else x(s), way) / motion.duration**k for k in range(3)]
    return Trajectory(motion.joints, motion.times, first + parts[0], parts[1], parts[2])


def _torque_picture(t: Array, exact: Array, fem: Array, joints: list[str], caption: str) -> Picture:
    figure = canvas(13.0, 4.2)
    panels = figure.subplots(1, 3)
    panels[1].sharey(panels[0])
    for axes, values, name in zip(panels, (exact, fem, fem - exact),
                                  ("(a) Newton-Euler", "(b) finite elements", "(b) - (a)"), strict=True):
        for curve, joint, colour in zip(values.T, joints, colours.joints(len(joints)), strict=True):
            axes.plot(t, curve, label=joint, color=colour, linewidth=1.2)
        label(axes, name, y="torque, N m")
    panels[2].legend(fontsize=7, ncols=2)
    return picture(figure, caption)


def six_joints(short: bool) -> Finding:
    """Return Fig. 5: a six-joint arm carries 5.0 kg along a straight line."""
    mechanism, motion = example("six_axis_line")
    model, load = Model.of(mechanism), mechanism.payloads[0]
    fem, exact, _, accuracy = _accuracy(mechanism, motion)
    at = pose(model, motion.at(fem.t)[0])
    path = at.origin[:, -1] + at.R[:, -1] @ load.com
    way = path[-1] - path[0]
    along = (path - path[0]) @ way / (way @ way)
    aside = float(np.max(np.linalg.norm(path - path[0] - along[:, None] * way, axis=1)))
    numbers = (
        *accuracy,
        within(f"the object's path of {np.linalg.norm(way):.3f} m is straight", aside, 1e-6,
               "the line between its ends", "m"))
    figure = canvas(13.0, 4.6)
    arm = figure.add_subplot(1, 3, 1, projection="3d")
    stroboscope(arm, at.origin, path, 9)
    arm.set(xlabel="x, m", ylabel="y, m", title="z up")
    arm.set_box_aspect(np.ptp([arm.get_xlim3d(), arm.get_ylim3d(), arm.get_zlim3d()], axis=1), zoom=0.85)
    for k, (which, name) in enumerate((([0, 1, 2], "joints 1 to 3"), ([3, 4, 5], "joints 4 to 6"))):
        axes = figure.add_subplot(1, 3, 2 + k)
        for j, colour in zip(which, colours.joints(3), strict=True):
            axes.plot(fem.t, exact[:, j], color=colour, linewidth=3.0, alpha=0.35)
            axes.plot(fem.t, fem.tau[:, j], color=colour, linewidth=1.0, label=fem.joints[j])
        label(axes, f"{name}: rnea pale, FEM thin", y="torque, N m", legend=7)
    return Finding(numbers,
                   (picture(figure, "(a) the arm and the straight line of its 5.0 kg object; (b), (c) joint torques"),))


def stroboscope(axes: Axes3D, origins: Array, path: Array, frames: int) -> None:
    """Draw the arm at some times: origins (T, n, 3) of the moving links, and the path (T, 3) of the tip."""
    for k in np.linspace(0, len(origins) - 1, frames).astype(int):
        points = np.vstack([np.zeros(3), origins[k], path[k]])
        axes.plot(*points.T, color=colours.MEASURED, alpha=0.25 + 0.75 * k / len(origins), linewidth=1.5, marker="o",
                  markersize=2)
    axes.plot(*path.T, color=colours.joint(1), linewidth=2.0)
    axes.tick_params(labelsize=6)


def three_link(short: bool) -> Finding:
    """Return Figs 7 and 8: the motion by PD and by feed-forward + PD, then with plant changes and faults."""
    s = load_scenario("three_link")
    results = {case.name: play_scenario(s, case, short=short) for case in s.runs(short)}
    numbers = [Number.of(check) for check in checks(s, results, short)]
    ff = results["feed-forward + PD"]
    in_motion = ff.record.cycles[ff.moving]
    numbers.append(within("time of a whole control tick on the chip (cycle model, 168 MHz), worst",
                          float(in_motion.max() / CORE_HZ * 1e3), PAPER_STEP * 1e3,
                          f"the paper's step alone took 0.5 ms of its {PAPER_SAMPLING * 1e3:.0f} ms on a PC", "ms"))
    return Finding(tuple(numbers), (_tracking(results), changed_picture(s, results, short)))


def _tracking(results: dict[str, Result]) -> Picture:
    figure = canvas(13.0, 4.2)
    target, control, error = figure.subplots(1, 3)
    pd, ff = results["PD"], results["feed-forward + PD"]
    for result, colour, style, name in ((pd, colours.FEEDBACK, "-", "PD"),
                                        (ff, colours.FEED_FORWARD, "--", "feed-forward + PD")):
        t, q, gap = result.tracked
        if result is pd:
            for j, joint in enumerate(result.mechanism.streamed):
                target.plot(t, (q + gap)[:, j], color=colours.joint(j), label=f"link {j + 1} ({joint.name})")
            control.plot(t, (q + gap)[:, 0], color=colours.DESIRED, linewidth=4.0, label="target")
        control.plot(t, q[:, 0], color=colour, linestyle=style, label=name)
        error.plot(t, 1e3 * gap[:, 0], color=colour, label=name)
    label(target, "Fig. 7: target motion", y="angle, rad")
    label(control, "Fig. 8: control result for link 1", y="angle, rad")
    label(error, "link 1: target minus true angle", y="mrad")
    _magnified(control)
    for axes in (target, control, error):
        axes.legend(fontsize=8, loc="upper right")
    return picture(figure,
                   "The exact flash image on the virtual board drives the articulated plant: same gains, friction on, "
                           "8192-count encoders")


def _magnified(axes: Axes) -> None:
    """Draw an inset where the curves of Fig. 8, which are almost equal, differ most."""
    lines = [np.asarray(line.get_xydata()) for line in axes.get_lines()]  # target, PD, feed-forward
    k = int(np.argmax(np.abs(lines[1][:, 1] - lines[0][:, 1])))
    t, near = lines[1][k, 0], slice(max(0, k - 30), k + 30)
    inset = axes.inset_axes((0.42, 0.08, 0.32, 0.38))
    for line, of in zip(axes.get_lines(), lines, strict=True):
        inset.plot(*of[near].T, color=line.get_color(), linestyle=line.get_linestyle(),
                   linewidth=line.get_linewidth())
    inset.set_title(f"{t:.2f} s, magnified", fontsize=7)
    inset.tick_params(labelsize=6)
    axes.indicate_inset_zoom(inset)


def changed_picture(s: Scenario, results: dict[str, Result], short: bool) -> Picture:
    """Draw the change of the tracking error for a plant that differs from the file, and the predicted change."""
    cases = [case for case in s.file.run if case.predicted_from in results and case.name in results]
    figure = canvas(13.0, 3.6)
    for axes, case in zip(figure.subplots(1, len(cases), squeeze=False)[0], cases, strict=True):
        assert case.predicted_from is not None
        d = difference(s, case, results[case.predicted_from], results[case.name], short)
        t = np.arange(len(d.error)) / s.mechanism.control.rate_hz
        for j, joint in enumerate(s.mechanism.streamed):
            axes.plot(t, 1e3 * d.error[:, j], color=colours.joint(j), linewidth=3.0, alpha=0.35)
            axes.plot(t, 1e3 * d.theory.error[:, j], color=colours.joint(j), linewidth=1.0, label=joint.name)
        label(axes, f"{case.name}: change of the tracking error", y="mrad", legend=7)
    return picture(figure,
                   "The plant changed on purpose against what the board believes: measured (pale) and by theory (thin)")
