"""Writes the page of an identified arm. The page shows the numbers before and after the fit, and the motion that tests
them."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np

from femtorque.codegen.common import claim, colours, output, template, write_text
from femtorque.host.lab.inertial.experiment import BEYOND, NO_BETTER, Result
from femtorque.host.lab.inertial.recording import equations
from femtorque.host.lab.inertial.regressor import OF_JOINT
from femtorque.host.lab.inertial.touches import MARGIN
from femtorque.host.show import Curve, Plot


@dataclass(frozen=True)
class Table:
    """Rows of text under a heading."""

    title: str
    text: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def write_inertial_page(path: Path, result: Result) -> None:
    """Write the page and replace an older page. Raises OSError, and BadInput for a file of another kind."""
    claim(path, output.page("identify"), True)
    write_text(path, page(result))


def page(result: Result) -> str:
    """Return the page as HTML. Equal results give equal text."""
    return template("identified.html", "femtorque.host.show", page=True).render(
        name=result.found.unknowns.space.whole.name, tables=_tables(result), drawn=_plots(result))


def _tables(result: Result) -> list[Table]:
    links = [(row["name"], f"{row['mass']['before']:.4g} → {row['mass']['after']:.4g} ± {row['mass']['interval']:.2g}",
              f"{_mm(row['com']['before'])} → {_mm(row['com']['after'])} ± {_mm(row['com']['interval'])}",
              f"{row['sigmas']:.1f}", ", ".join(row["not_seen"]) or "-") for row in result.solids()]
    tables = [Table(
        "Links", "Sigmas: the largest change of a number, in its standard deviations. Not determined alone: numbers "
        "that these motions determine only together with others; they stay as near to the file as the others allow.",
        ("link", "mass, kg", "centre of gravity, mm", "sigmas", "not determined alone"), links)]
    rows = result.joints()
    if rows:
        joints = [(row["name"], *(f"{row[part]['before']:.3g} → {row[part]['after']:.3g} ± {row[part]['interval']:.2g}"
                                  f"{'' if row[part]['seen'] else ' (not seen)'}" for part in OF_JOINT),
                   *((f"{row['residual']['before']:.3g}", f"{row['residual']['after']:.3g}",
                      f"{row['residual']['of']:.3g}") if "residual" in row else ("-", "-", "-"))) for row in rows]
        tables.append(Table(
            "Joints", "Rotor (at the joint), viscous and Coulomb friction with 95 % intervals. The intervals hold if "
            "the file is right about motors and drives. Unexplained: N m or N rms of a motion that the fit did not use."
            + ("" if result.better else f" {NO_BETTER}"),
            ("joint", *OF_JOINT, "unexplained before", "after", "of"), joints))
        more = [(row["name"], *(f"{row[part]['before']:.3g} → {row[part]['after']:.3g} ± {row[part]['interval']:.2g}"
                                if part in row else "not seen" for part in BEYOND)) for row in rows]
        tables.append(Table(
            "Friction beyond Coulomb's", "With 95 % intervals: additional N m or N at rest, the velocity at which half "
            "of it is left, and N m per N m of the links' torque. A number is used only if it explains the unseen "
            "motions better, by more than the interval of the improvement. Otherwise the file's number stays.",
            ("joint", *BEYOND.values()), more))
    if result.touches:
        touches = [(touch.joint, f"{touch.before:.3g}", f"{touch.after:.3g}",
                    *(f"{part:.3g}" for part in astuple(touch.contact))) for touch in result.touches]
        tables.append(Table(
            "Touches", "External torque that the board felt without contact, from its mean, N m or N: with the file's "
            "numbers and with the new ones. The proposed threshold of a touch (contact in the file) is twice the "
            f"joint's dry friction plus {MARGIN:g} times the rest of what was felt in all motions.",
            ("joint", "felt at most", "with what is found", "torque", "velocity", "acceleration"), touches))
    return tables


def _mm(point: Sequence[float]) -> str:
    return "(" + ", ".join(f"{1e3 * x:.1f}" for x in point) + ")"


def _plots(result: Result) -> list[Plot]:
    if not result.unseen:
        return []
    found, rows = result.found, equations(result.found.unknowns, result.unseen)
    of_file = equations(replace(found.unknowns, terms=(), carried=None), result.unseen)
    plots, none = [], np.zeros_like(found.late)
    for j, joint in enumerate(found.unknowns.space.whole.streamed):
        use = np.flatnonzero(rows.counts[:, j])
        t = np.arange(len(use), dtype=float) * rows.period
        before = of_file.errors(found.unknowns.prior[:found.unknowns.plain], none)[use, j]
        after = rows.errors(found.values, found.late)[use, j]
        unit = "N" if joint.type == "prismatic" else "N m"
        plots.append(Plot(joint.name, "s in motion", f"unexplained, {unit}", (
            Curve("file", colours.ERROR, t, before), Curve("found", colours.MEASURED, t, after)), "t", zero=True))
    return plots
