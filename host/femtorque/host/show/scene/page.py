"""The arm on a page: data, viewer and three.js, in one file without a network."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from femtorque.codegen.common import template, write_text
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.host.scene import Motion, lengths, planned, scene

# parts of the drawing: name in viewer.js, label, True if visible at first
KINDS = (("solid", "links", True), ("payloads", "payloads", True), ("limits", "ranges of the joints", True),
         ("centres", "centres of gravity", False), ("inertias", "inertias, as ellipsoids", False),
         ("frames", "frames (x red, y green, z blue)", False))
REPORT_KINDS = (*KINDS[:1], ("ghost", "desired pose", True), ("true", "true pose", True), *KINDS[1:3],
                *KINDS[-1:])


def of_motion(mechanism: Mechanism, motion: Trajectory | Motion | None) -> dict[str, Any]:
    """Return a mechanism's scene, moved along a trajectory."""
    drawn = scene(mechanism)
    if motion is None:
        return drawn
    moved = planned(mechanism, motion) if isinstance(motion, Trajectory) else motion
    return drawn | {"motion": moved.data(lengths(mechanism))}


def page(scene: dict[str, Any], said: str, verb: str, elements: str = "") -> str:
    """Return a page of a scene. said: a line under the title. verb: makes the page. elements: HTML of matrices."""
    return template("scene.html", "femtorque.host.show", page=True).render(
        scene=scene, said=said, verb=verb, elements=elements, kinds=KINDS, scripts=scripts())


def write_scene(scene: dict[str, Any], said: str, verb: str, path: Path, elements: str = "") -> None:
    """Write the page. Raises OSError."""
    write_text(path, page(scene, said, verb, elements))


@cache
def scripts() -> str:
    """Return three.js, the viewer and its controls, as scripts for a page."""
    folder = files("femtorque.host.show.scene")
    return "\n".join((folder / name).read_text(encoding="utf-8").replace("</script", "<\\/script")
                     for name in ("three.min.js", "viewer.js", "controls.js"))
