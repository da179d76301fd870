"""Identifies an arm whose file is incorrect, as `femtorque identify --whole` does, and draws the errors of the file and
of the result for docs/lab.md."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from femtorque.codegen.common import colours
from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.plant import plant_of
from femtorque.host.board import Board
from femtorque.host.lab.inertial import experiment
from femtorque.host.lab.inertial.experiment import Result
from femtorque.host.lab.inertial.recording import equations
from femtorque.host.lab.inertial.regressor import Unknowns
from tests.support.plugged import plugged_in

SMALL = 1e-3  # the torque below which the plot's scale is linear, N m


def identified(mechanism: Mechanism, truth: Mechanism) -> Result:
    """Run all experiments on a board with the file's image that is connected to the real arm."""
    programme = experiment.whole(mechanism, {})
    with plugged_in(mechanism, plant_of(truth)) as virtual, Board.connect("auto", mechanism) as board:
        board.home()
        board.arm()
        virtual.brakes = False
        return experiment.identify(board, mechanism, programme)


def draw(result: Result, truth: Mechanism, path: Path) -> None:
    """Draw the unexplained torques of motions that the fit did not use, and the base parameters."""
    figure = Figure((9.0, 7.0), layout="constrained")
    above, below = figure.subplots(2, 1)
    _unexplained(above, result, truth)
    _base(below, result, Unknowns.of(truth).prior)
    figure.savefig(path, dpi=110)


def _unexplained(axes: Axes, result: Result, truth: Mechanism) -> None:
    found, judged, true = result.found, result.judged, Unknowns.of(truth)
    assert judged is not None
    least = replace(found, unknowns=true, values=true.prior).left(result.unseen).after
    at = np.arange(len(least))
    for k, (name, rms, colour) in enumerate((("file", judged.before, colours.ERROR),
                                             ("found", judged.after, colours.MEASURED),
                                             ("true numbers", least, colours.DESIRED))):
        axes.bar(at + 0.27 * (k - 1), rms, 0.25, label=name, color=colour)
    axes.set_yscale("log")
    axes.set_xticks(at, [joint.name for joint in truth.streamed])
    axes.set_ylabel("unexplained torque\nof unseen motions, rms, N m")
    axes.legend(ncols=3, loc="upper right")
    axes.grid(alpha=0.3, axis="y")


def _base(axes: Axes, result: Result, true: np.ndarray) -> None:
    """Plot the errors of base parameters: the rms torque of each at the joint that it affects most, outside the fit."""
    found = result.found
    rows = equations(found.unknowns, result.unseen)
    size = np.sqrt(np.mean(rows.matrix[:, :, found.columns] ** 2, axis=0)).max(axis=0)
    values, deviations = found.base_values()
    error, file, half = (size * x for x in (values - found.base @ true, found.base @ (found.unknowns.prior - true),
                                            1.96 * deviations))
    order = np.argsort(-np.abs(file))
    at = np.arange(len(order))
    axes.plot(at, file[order], "o", color=colours.ERROR, label="file")
    axes.errorbar(at, error[order], half[order], fmt="o", ms=3.5, capsize=2, color=colours.MEASURED,
                  label="found, with 95 % intervals")
    axes.axhline(0.0, color=colours.DESIRED, lw=0.8)
    axes.set_yscale("symlog", linthresh=SMALL)
    most = 2.0 * float(np.abs(file).max())
    axes.set_ylim(-most, most)
    axes.set_xlabel(f"{len(at)} base parameters of links, rotors and friction, by the file's error")
    axes.set_ylabel("error, by the torque\nthat it makes, rms, N m")
    axes.legend(loc="upper right")
    axes.grid(alpha=0.3)
