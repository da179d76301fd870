"""Figures of torque curves, in the manner of Isobe's Fig. 4."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from codegen import reference
from codegen.model import Model
from codegen.trajectory import Trajectory

Array = NDArray[np.float64]


def torque_curves(path: Path, model: Model, trajectory: Trajectory) -> float:
    """Draw the joint torques of a motion by Newton-Euler, by the incremental scheme, and their difference.

    Returns the largest difference over the largest torque.
    """
    ticks = round(trajectory.duration / model.dt)
    t, fem = reference.torque(model, trajectory, ticks, reference.recursion)
    exact = reference.newton_euler(model, *trajectory.at(t))
    difference = fem - exact
    error = float(np.max(np.abs(difference)) / np.max(np.abs(exact)))
    draw(path, t, exact, fem, [body.joint.name for body in model.bodies],
         f"{model.mechanism.name}, {model.mechanism.control.scheme} at {model.dt * 1e3:g} ms: "
         f"worst difference {error:.1e} of peak")
    return error


def draw(path: Path, t: Array, exact: Array, fem: Array, joints: list[str], title: str) -> None:
    """Three panels, one curve a joint: Newton-Euler, finite elements, difference. Torques (samples, n), N m or N."""
    with matplotlib.rc_context({"font.size": 9}):
        figure = Figure(figsize=(13.0, 4.2), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        middle.sharey(left)
        colours = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.9, len(joints)))
        for axes, values, name in ((left, exact, "(a) Newton-Euler"), (middle, fem, "(b) finite elements"),
                                   (right, fem - exact, "(b) - (a)")):
            for curve, joint, colour in zip(values.T, joints, colours, strict=True):
                axes.plot(t, curve, label=joint, color=colour, linewidth=1.2)
            axes.set(title=name, xlabel="t, s")
            axes.grid(alpha=0.3)
        left.set_ylabel("torque, N m")
        right.legend(ncols=1 + len(joints) // 8, fontsize=7, loc="best")
        figure.suptitle(title)
        figure.savefig(path, dpi=130)
