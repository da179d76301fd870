"""The page itself: data, viewer and three.js in one file that opens without a network."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from codegen.common.output import write_text
from codegen.common.templating import template
from codegen.mechanism.description import Mechanism
from codegen.motion.trajectory import Trajectory
from host.show.scene.description import FRAMES_A_SECOND, Motion, scene

# what can be shown: its name in viewer.js, what it is called, whether it is shown at first
KINDS = (("solid", "links", True), ("centres", "centres of gravity", False),
         ("inertias", "inertias, as ellipsoids", False),
         ("frames", "frames (x red, y green, z blue)", False))


def of_motion(mechanism: Mechanism, motion: Trajectory | None) -> dict[str, Any]:
    """A mechanism, moved as a trajectory has it."""
    if motion is None:
        return scene(mechanism)
    t = np.linspace(0.0, motion.duration, max(2, round(motion.duration * FRAMES_A_SECOND)))
    names = tuple(joint.name for joint in mechanism.streamed)
    return scene(mechanism, Motion(names, t, np.asarray(motion.at(t)[0], float)))


def page(scene: dict[str, Any], said: str, verb: str) -> str:
    """HTML of what `description.scene` gave; said: a line under the title; verb: who made it."""
    return template("scene.html", "host.show", page=True).render(
        scene=scene, said=said, verb=verb, kinds=KINDS, three=_part("three.min.js"), viewer=_part("viewer.js"))


def write(scene: dict[str, Any], said: str, verb: str, path: Path) -> None:
    """Raises OSError if it cannot be written there."""
    write_text(path, page(scene, said, verb))


@cache
def _part(name: str) -> str:
    return (files("host.show.scene") / name).read_text(encoding="utf-8").replace("</script", "<\\/script")
