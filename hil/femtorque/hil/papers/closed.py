"""Closed loops (Isobe, Eq. 16) on the virtual board: the error without constraint forces, and their cost."""

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes

from femtorque.codegen.common import colours
from femtorque.codegen.model import ClosedMotion, Model, assemble, placed_links, pose
from femtorque.hil.papers.finding import Finding, Number, Picture, Table, canvas, label, picture
from femtorque.hil.scenarios import CHANGING, EXAMPLES, LAWS, Played, example, on_board, play_closed_loops

IDEAL_BETTER = 50.0  # times: minimum ratio of the rms errors of PD and of PD + lambda with an ideal board
FRAMES = 6
SMOOTHER = 0.1  # maximum ratio of the torque steps with and without the ramp
BOARD_BETTER = 15.0  # times: this ratio with friction, encoders, motors and latency


def closed_loops(short: bool) -> Finding:
    """Return the tracking of the closed examples with PD, PD + partition and PD + lambda."""
    played = play_closed_loops(EXAMPLES[:1] if short else EXAMPLES, brief=short)
    numbers = []
    for p in played:
        ideal = float(np.min(p.ideal["PD"] / p.ideal["PD + lambda"]))
        board = float(np.min(p.rms("PD") / p.rms("PD + lambda")))
        numbers += [
            Number(f"{p.name}: the motion is played under all three laws",
                   ", ".join(p.board[law].ended for law in LAWS), "done",
                   all(r.ended == "done" and not r.faults for r in (*p.board.values(), *p.again))),
            Number(f"{p.name}, ideal board: PD + lambda better than PD, worst joint", f"{ideal:.0f} times",
                   f"at least {IDEAL_BETTER:g}", ideal >= IDEAL_BETTER),
            Number(f"{p.name}, virtual board: PD + lambda better than PD, worst joint", f"{board:.3g} times",
                   f"at least {BOARD_BETTER:g}", board >= BOARD_BETTER)]
    four_bar = played[0].board
    worse = float(four_bar["PD + partition"].tracking_rms[0] / four_bar["PD"].tracking_rms[0])
    numbers.append(Number("four_bar: rms error of PD + partition over that of PD", f"{worse:.2f}",
                          "above 1: the partition, cut here, is worse than nothing", worse > 1.0))
    table = Table("rms tracking error on the virtual board, friction and encoders on, 1 kHz; rad per joint",
                  ("mechanism", *LAWS), tuple(
                      (p.name, *(", ".join(f"{x:.1e}" for x in p.rms(law)) for law in LAWS))
                      for p in played))
    return Finding(tuple(numbers), (_picture(played[0]),), (table,))


def changing(short: bool) -> Finding:
    """Return the result of two arms that carry an object. A full run adds one arm with a payload, and the biped."""
    mechanism, motion = example("two_arm_grasp")
    names = ("two_arm_grasp",) if short else CHANGING
    results = {name: on_board(*example(name), "PD + lambda") for name in names}
    sudden = replace(mechanism, name=f"{mechanism.name}-sudden",
                     modes=tuple(replace(mode, ramp_s=0.0) for mode in mechanism.modes))
    steps = {True: results["two_arm_grasp"], False: on_board(sudden, motion, "PD + lambda")}
    numbers = []
    for name, result in results.items():
        wanted = [mode for _, mode in example(name)[1].modes[1:]]
        found = [mode if not missed else f"{mode} missed: {missed}" for _, mode, missed in result.switched]
        numbers.append(Number(f"{name}: played through its modes", f"{result.ended}; {', '.join(found)}; rms error "
                              f"{', '.join(f'{x:.1e}' for x in result.tracking_rms)} rad", f"done; {', '.join(wanted)}",
                              result.ended == "done" and not result.faults and found == wanted))
    # The right arm carries the object only through the closed loop.
    with_ramp, without = (float(np.abs(np.diff(steps[ramp].record.torque_ff[steps[ramp].moving, 2:], axis=0)).max())
                          for ramp in (True, False))
    numbers.append(Number("largest step of feed-forward per tick, the arm that is joined",
                          f"{with_ramp:.3f} N m with a ramp of "
                          f"{1e3 * max(mode.ramp_s for mode in mechanism.modes):g} ms, {without:.3f} without",
                          f"at most {SMOOTHER:g} of that without", with_ramp <= SMOOTHER * without))
    figure = canvas(13.0, 3.8)
    left, right, error = figure.subplots(1, 3)
    for ramp, style in ((False, ":"), (True, "-")):
        result = steps[ramp]
        t, _, gap = result.tracked
        for axes, arm in ((left, (0, 1)), (right, (2, 3))):
            for j in arm:
                axes.plot(t, result.record.torque_ff[result.moving, j], color=colours.joint(j), linestyle=style,
                          label=result.mechanism.streamed[j].name if ramp else None)
    for j, joint in enumerate(mechanism.streamed):
        error.plot(t, 1e3 * gap[:, j], color=colours.joint(j), label=joint.name)
    label(left, "left arm, which takes the object", y="feed-forward, N m", legend=7)
    label(right, "right arm, joined by the closure", y="feed-forward, N m", legend=7)
    label(error, "target minus true angle", y="mrad", legend=7)
    return Finding(tuple(numbers), (picture(figure, "Two arms grasp at 0.7 s, carry and release at 1.9 s; dotted: the "
                                            "closure's force not ramped"),))


def _picture(played: Played) -> Picture:
    figure = canvas(13.0, 4.2)
    drawing, path, error = figure.subplots(1, 3)
    _draw(drawing, played)
    for law, colour in zip(LAWS, (colours.FEEDBACK, colours.REST, colours.FEED_FORWARD), strict=True):
        t, q, gap = played.board[law].tracked
        if law == "PD":
            path.plot(t, (q + gap)[:, 0], color=colours.DESIRED, linewidth=4.0, label="target")
        path.plot(t, q[:, 0], color=colour, linewidth=1.0, label=law)
        error.plot(t, 1e3 * gap[:, 0], color=colour, label=law)
    joint = played.mechanism.streamed[0].name
    label(path, f"{joint}", y="angle, rad", legend=8)
    label(error, f"{joint}: target minus true angle", y="mrad", legend=8)
    return picture(figure, f"{played.name}: one motor, two passive joints; the exact image on the virtual board")


def _draw(axes: Axes, played: Played) -> None:
    """Draw the mechanism in its plane at some times of the motion: each link from its joint to its children."""
    model = Model.of(played.mechanism)
    motion = ClosedMotion(assemble(model), played.motion)
    at = pose(model, motion.at(np.linspace(0.0, played.motion.duration, FRAMES))[0])
    places = placed_links(played.mechanism)
    anchors = [places[x.link][:1] + (places[x.link][2] + places[x.link][1] @ x.xyz,)
               for loop in played.mechanism.loops for x in (loop.a, loop.b)]
    for k in range(FRAMES):
        for i, body in enumerate(model.bodies):
            ends = [at.origin[k, child] for child in body.children]
            ends += [at.origin[k, i] + at.R[k, i] @ point for carrier, point in anchors if carrier == i]
            for end in ends:
                axes.plot(*np.array([at.origin[k, i], end])[:, :2].T, color=colours.joint(i),
                          alpha=0.15 + 0.85 * k / FRAMES, marker="o", markersize=3)
    axes.set(title="the linkage", xlabel="x, m", ylabel="y, m")
    axes.set_aspect("equal")
