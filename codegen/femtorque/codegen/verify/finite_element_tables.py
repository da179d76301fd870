"""The finite elements of a mechanism as tables for a terminal."""

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from femtorque.codegen.verify.finite_elements import Beam, Elements, Loops, RigidLink

FREEDOMS = [f"{name}{node}" for node in "12" for name in ("u", "v", "w", "θx", "θy", "θz")]
STRAINS = ["ε_z", "κ_x", "κ_y", "κ_z", "γ_x", "γ_y"]  # axial, bending, torsion, shear: rows of [B]
FULL, EMPTY = "■", "·"


def elements_renderable(found: Elements, whole: bool) -> RenderableType:
    """Return tables for a terminal. whole: include [B], [D] and [K] of every element."""
    parts: list[RenderableType] = [Text(f"{found.mechanism.name}: the elements of {len(found.links)} "
                                        f"link{'s' if len(found.links) > 1 else ''}, lengths in m, forces in N")]
    for link in found.links:
        parts += _link(link, whole)
    for beam in found.beams:
        parts += _beam(beam, whole)
    if not whole:
        parts += [Text("\n[T_Λ], a block T_ij for every link j that link i carries", style="italic"),
                  Text(spy(found.accumulation)),
                  Text(f"[T]: block diagonal, {', '.join(map(str, found.blocks))} rows; R_i' of every link")]
        parts += _loops(found.loops) if found.loops else []
    parts.append(Text(f"\n{len(found.constants)} numbers of all this reach the chip, in scheme {found.scheme}, each "
                      f"counted once. {found.regrouped}".rstrip()))
    return Group(*parts)


def spy(filled: NDArray[np.bool_]) -> str:
    """Return the sparsity pattern of a matrix (m, n), one line per row."""
    return "\n".join("  " + " ".join(FULL if one else EMPTY for one in row) for row in filled)


def load_names(link: RigidLink) -> list[str]:
    """Return the names of [Lambda_i]'s columns: force at the node, forces beyond every child, moment."""
    vectors = ("F", *(f"S{k + 1}" for k in range(len(link.children))), "Φ")
    return [f"{vector}{axis}" for vector in vectors for axis in "xyz"]


def freedom_names(beam: Beam) -> list[str]:
    """Return the names of the 2 E freedoms of a flexible link: deflection and slope of every node but the root node."""
    return [f"{name}{node + 1}" for node in range(len(beam.M) // 2) for name in ("w", "θ")]


def number(x: float) -> str:
    return f"{x:.5g}" if abs(x) > 1e-12 else "0"


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="left" if column == "" else "right")
    return table


def _matrix(matrix: NDArray[np.float64], columns: list[str], rows: list[str]) -> Table:
    table = _table("", *columns)
    for name, row in zip(rows, matrix, strict=True):
        table.add_row(name, *map(number, row))
    return table


def _link(link: RigidLink, whole: bool) -> list[RenderableType]:
    also = [name for name in link.names if name != link.name]
    fixed = f", with {', '.join(also)} fixed to it" if also else ""
    about = "nominal section, the file gives none" if link.nominal else "section of the file"
    parts: list[RenderableType] = [Text(f"\n{link.name}{fixed}: on joint {link.joint}", style="bold")]
    table = _table("", "length", "s1", "r1", "C_mot", "EA", "EI", "GJ", "GA_s")
    for bar in link.elements:
        numbers = (bar.length, bar.s1, bar.r1, bar.c_mot, bar.EA, bar.EI[0], bar.GJ, bar.GA_s)
        table.add_row(f"{bar.start} – {bar.end}", *map(number, numbers))
    parts += [table, *(Text(f"no element: {reason}") for reason in link.missing), Text(
        f"{about}: E {number(link.section.E)} Pa, area {number(link.section.area)} m², outer radius "
        f"{number(link.section.radius)} m; stiffness EA, GA_s in N, EI, GJ in N m²")]
    inertia = "  ".join(f"{name} {number(link.inertia['xyz'.index(name[0]), 'xyz'.index(name[1])])}"
                        for name in ("xx", "yy", "zz", "xy", "xz", "yz"))
    parts.append(Text(f"lumped at the centre of gravity [{', '.join(map(number, link.com))}]: {number(link.mass)} kg, "
                      f"inertia {inertia} kg m²"))
    parts.append(Text("Λ_i: lever arms of the centre of gravity"
                      + "".join(f", of {child}" for child in link.children) + ", unit matrix"))
    parts.append(_matrix(link.matrix, load_names(link), [f"N{axis}" for axis in "xyz"]))
    if whole:
        for bar in link.elements:
            name = f"{bar.start} – {bar.end}"
            parts += [Text(f"[B(s1)] of {name}, 1/m and, of turns under shear, 1", style="italic"),
                      _matrix(bar.B, FREEDOMS, STRAINS),
                      Text(f"[D(r1)] of {name}, on the diagonal: N and, of bending and torsion, N m²", style="italic"),
                      _matrix(np.diag(bar.D)[None, :], STRAINS, [""]),
                      Text(f"[K] of {name}, l [B]' [D] [B], N/m, N, N m; z along the element", style="italic"),
                      _matrix(bar.stiffness, FREEDOMS, FREEDOMS)]
    return parts


def _beam(beam: Beam, whole: bool) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(f"\n{beam.name}, flexible, bending along {beam.plane}: {len(beam.M) // 2} "
                                        f"elements, {len(beam.hz)} modes", style="bold")]
    table = _table("", "Hz", "factor on the chip")
    for k, (hz, factor) in enumerate(zip(beam.hz, beam.factor, strict=True)):
        table.add_row(f"mode {k + 1}", number(float(hz)), f"{factor:.9g}")
    parts.append(table)
    if whole:
        names = freedom_names(beam)
        for title, matrix in (("[M], kg, m", beam.M), ("[K], N, m", beam.K), ("[A]", beam.A),
                              ("modes, columns of unit modal mass", beam.shapes)):
            parts += [Text(title, style="italic"), _matrix(matrix, names, names)]
    return parts


def _loops(loops: Loops) -> list[RenderableType]:
    lines = [f"  {' '.join(FULL if one else EMPTY for one in row)}  {name}"
             for name, row in zip(loops.equations, loops.structure, strict=True)]
    return [Text("\nJacobian of the loops: a row an equation, a column a joint", style="italic"),
            Text("\n".join(lines)), Text(f"columns: {', '.join(loops.joints)}"),
            Text(f"independent: {', '.join(loops.independent)}"),
            Text(f"eliminated in this order: {', '.join(loops.order)}")]
