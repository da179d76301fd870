"""The mechanisms whose sources are proved about."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from codegen.board import reader as boards
from codegen.emit import sources as emit
from codegen.mechanism.description import Brake, Home, Mechanism
from codegen.mechanism.reader import load_mechanism

MECHANISMS = Path(__file__).resolve().parents[3] / "mechanisms"


def mechanism(name: str) -> Mechanism:
    """One of mechanisms/; `braked`: three links with all that they may have besides."""
    return _braked() if name == "braked" else load_mechanism(MECHANISMS / f"{name}.toml")


def _braked() -> Mechanism:
    """Holding brakes, zeros at a stop, gains that may be overlaid, reactions of each kind."""
    it = load_mechanism(MECHANISMS / "three_link.toml")
    joints = tuple(replace(joint, encoder=joint.encoder and replace(joint.encoder, zero="stop"),
                           home=Home(at=-1.57)) for joint in it.joints)
    safety = replace(it.safety, brake=Brake(0.2, 0.3), electrical="brake", motion="hold", host="hold",
                     gain_overlay=(0.25, 2.0))
    return replace(it, joints=joints, safety=safety)


@cache
def sources(name: str) -> dict[str, str]:
    """All that is emitted for it: {file name: text}."""
    it = mechanism(name)
    return emit.sources(it, boards.load(it.board.use) if it.board else None)
