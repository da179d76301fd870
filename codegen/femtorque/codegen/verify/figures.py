"""Pictures in files: formats, and figures of torque curves like Isobe's Fig. 4."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from femtorque.codegen.common import BadInput, drawn_by, joints as joint_colours, need, replacing
from femtorque.codegen.verify.motion_torques import Torque

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def check_format(path: Path, key: str = "figure") -> None:
    """Raise BadInput if the suffix belongs to no picture format. Raise Refused if matplotlib is missing."""
    if path.suffix.lower() not in FORMATS:
        raise BadInput(path, key, None, f"must end in one of {', '.join(FORMATS)}")
    need("matplotlib")


def blank(width: float, height: float) -> Figure:
    """Return a figure without axes. The size is in inches."""
    from matplotlib.figure import Figure  # noqa: PLC0415 (an extra)

    return Figure(figsize=(width, height), layout="constrained")


def torque_curves(path: Path, result: Torque, title: str, computed: str) -> None:
    """Draw three panels with one curve per joint: the Newton-Euler torque, the torque `computed`, and their difference.

    The axes are N m or N over s. Raise BadInput if the suffix belongs to no picture format."""
    import matplotlib  # noqa: PLC0415 (an extra)

    check_format(path)
    with matplotlib.rc_context({"font.size": 9}):
        figure = blank(13.0, 4.2)
        left, middle, right = figure.subplots(1, 3)
        middle.sharey(left)
        colours = joint_colours(len(result.joints))
        for axes, values, name in ((left, result.exact, "(a) Newton-Euler"), (middle, result.tau, f"(b) {computed}"),
                                   (right, result.tau - result.exact, "(b) - (a)")):
            for curve, joint, colour in zip(values.T, result.joints, colours, strict=True):
                axes.plot(result.t, curve, label=joint, color=colour, linewidth=1.2)
            axes.set(title=name, xlabel="t, s")
            axes.grid(alpha=0.3)
        left.set_ylabel("torque, N m (force, N)")
        figure.legend(*left.get_legend_handles_labels(), ncols=min(len(result.joints), 10), fontsize=7,
                      loc="outside lower center")
        figure.suptitle(f"{title}: worst difference {result.error:.1e} of peak")
        with replacing(path) as part:
            figure.savefig(part, dpi=130, metadata=drawn_by(path, "torque"))
