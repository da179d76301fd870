"""The hand-written loop (loop.c) with its table of links."""

from pathlib import Path

import numpy as np

from assurance.bench.peers.serial_arm import SerialLink, serial_links
from femtorque.codegen.model import Model

ENTRY = "loop_rnea"
SOURCE = Path(__file__).with_name("loop.c")


def sources(model: Model) -> dict[str, str]:
    """The files of the loop for one arm; its entry takes q, qd, qdd and the room for the torques."""
    links = serial_links(model)
    table = ",\n".join(_row(link) for link in links)
    header = f"""\
#define LINKS {len(links)}

typedef struct {{
    float R0[9], p[3], mass, com[3], I[6]; /* xx yy zz xy xz yz */
}} link;

static const float gravity[3] = {{ {_numbers(model.gravity)} }};

static const link arm[LINKS] = {{
{table},
}};
"""
    return {"loop.c": SOURCE.read_text(encoding="utf-8"), "arm.h": header}


def _row(link: SerialLink) -> str:
    I = link.inertia
    six = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    return (f"    {{ {{ {_numbers(link.R0)} }}, {{ {_numbers(link.p0)} }}, {_numbers(link.mass)},\n"
            f"      {{ {_numbers(link.com)} }}, {{ {_numbers(six)} }} }}")


def _numbers(values: object) -> str:
    return ", ".join(f"{float(x)!r}f" for x in np.ravel(np.asarray(values, float)))
