"""The three-link arm on the virtual board with a host session, for tests of the lab modes and of experiments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from codegen.mechanism.description import Mechanism
from codegen.toolchain import platformio as build
from hil.board.virtual import VirtualBoard, VirtualClock
from hil.plant.rigid import Plant
from host.link.configuration import Configuration
from host.link.link import Link
from host.link.session import Session
from tests.support.rig import ROOT, three_link


def changed(name: str, joints: dict[str, dict[str, Any]] | None = None, **parts: Any) -> Mechanism:
    """The three-link arm under another name: `joints` changes fields of its joints, `parts` its own."""
    mechanism = three_link()
    new = []
    for joint in mechanism.joints:
        changes = {}
        for field, value in (joints or {}).get(joint.name, {}).items():
            part = getattr(joint, field)
            changes[field] = replace(part, **value) if isinstance(value, dict) and part is not None else value
        new.append(replace(joint, **changes))
    return replace(mechanism, name=name, joints=tuple(new), **parts)


@contextmanager
def session(mechanism: Mechanism, plant: Plant | None = None) -> Iterator[tuple[VirtualBoard, Session]]:
    """Built, booted and connected; DISARMED and without zeros."""
    elf = build.build(mechanism, ROOT / "build" / mechanism.name).elf
    plant = plant or Plant(mechanism)
    with VirtualBoard(elf, mechanism, plant) as board:
        configuration = Configuration.of(mechanism)
        link = Link(board.plug_in(), clock=VirtualClock(board), baud=configuration.baud)
        talk = Session(link, configuration)
        try:
            talk.connect()
            yield board, talk
        finally:
            link.close()


def true_positions(board: VirtualBoard) -> np.ndarray:
    return board.plant.q.copy()
