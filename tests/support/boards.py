"""The three-link experiment for any board of the project."""

import re
from dataclasses import replace
from pathlib import Path

from femtorque.codegen.board import reader as boards
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.toolchain import BuildResult, platformio

FILE = Path(__file__).resolve().parents[2] / "mechanisms" / "three_link.toml"
IMAGES = FILE.parents[1] / "build" / "boards"
DRIVING = ("f405rg-4", "f405rg-6", "nucleo-g474re-6", "odrive-v3.6")


def three_link(name: str, folder: Path) -> Mechanism:
    """Return three_link with another board. On a board with two channels the last joint of the arm is locked."""
    if len(boards.load_board(name).channels) != 2:
        mechanism = load_mechanism(FILE)
        assert mechanism.board is not None
        return replace(mechanism, board=replace(mechanism.board, use=name))
    text = re.sub(r"^(gravity.*)$", r"\1\nlock = { wrist = 0.0 }", FILE.read_text(encoding="utf-8"),
                  count=1, flags=re.M)
    path = folder / "two_of_three_links.toml"
    path.write_text(text.replace("f405rg-4", name), encoding="utf-8")
    return load_mechanism(path)


def on_buses(name: str) -> Mechanism:
    """Return an arm with drives of three families, for a board that has only buses."""
    mechanism = load_mechanism(FILE.with_name("damiao_arm.toml"))
    assert mechanism.board is not None
    kinds = (("damiao-4340", 0x11), ("robstride-02", None), ("cubemars-ak80-9", 3))
    joints = tuple(replace(j, drive=replace(j.drive, type=DRIVES[kind], reply=reply)) if j.drive else j
                   for j, (kind, reply) in zip(mechanism.joints, kinds, strict=True))
    return replace(mechanism, name="on_buses", board=replace(mechanism.board, use=name), joints=joints)


def arm_for(name: str, folder: Path) -> Mechanism:
    """Return an arm whose motors a board can drive."""
    board = boards.load_board(name)
    return on_buses(name) if board.can and not board.channels else three_link(name, folder)


def driven(mechanism: Mechanism, drive: str) -> Mechanism:
    """Return the mechanism with `drive` as the drive of every motor."""
    return replace(mechanism, joints=tuple(
        replace(j, motor=replace(j.motor, drive=drive)) if j.motor else j for j in mechanism.joints))


def image(name: str, drive: str = "voltage") -> tuple[Mechanism, BuildResult]:
    """Return three_link for a board, and its image in the folder that all tests share."""
    folder = IMAGES / f"{name}-{drive}"
    folder.mkdir(parents=True, exist_ok=True)
    mechanism = driven(three_link(name, folder), drive)
    return mechanism, platformio.build_image(mechanism, folder / "image")
