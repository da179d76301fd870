"""The mechanisms whose sources the proofs read."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from femtorque.codegen.board import reader as boards
from femtorque.codegen.common import FIRMWARE, MECHANISMS
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.emit import sources as emit
from femtorque.codegen.mechanism import Friction, Home, Joint, Mechanism, Park, load_mechanism
from femtorque.codegen.mechanism.description import Brake, Feel
from femtorque.codegen.verify.known_arms import ARMS
from tests.support import boards as on_boards, bus_arm


def mechanism(name: str) -> Mechanism:
    """Return a mechanism by its name in a theorem.

    A plain name is in VARIANTS, or a file of mechanisms/. `printed:NAME` is a file of mechanisms/ with this scheme.
    `can:KIND` is an arm of drives on CAN, `can:long` is one with frames of 64 bytes. `sts:BOARD` has servos on a
    half-duplex serial bus of a board. `BOARD:DRIVE` is a three-link arm on a board, with this output stage for every
    motor."""
    head, _, tail = name.partition(":")
    if not tail:
        return VARIANTS[name]() if name in VARIANTS else _file(name)
    if head == "printed":
        return replace(_file(tail), control=replace(_file(tail).control, scheme="printed"))
    if head == "can":
        return bus_arm.described("fd" if tail == "long" else tail)
    return _servos(tail) if head == "sts" else _on_board(head, tail)


def _file(name: str) -> Mechanism:
    return load_mechanism(MECHANISMS / f"{name}.toml")


def _three(change: Callable[[Joint], Joint]) -> Mechanism:
    """Return three_link with its joints changed."""
    return replace(_file("three_link"), joints=tuple(map(change, _file("three_link").joints)))


def _braked() -> Mechanism:
    it = _three(lambda joint: replace(joint, home=Home(at=-1.57),
                                      encoder=joint.encoder and replace(joint.encoder, zero="stop")))
    return replace(it, safety=replace(it.safety, brake=Brake(0.2, 0.3), electrical="brake", motion="hold", host="hold",
                                      gain_overlay=(0.25, 2.0)))


def _lying(feel: Feel) -> Mechanism:
    it = _file("three_link")
    park = Park({joint.name: 0.25 for joint in it.streamed}, heat=True, supply_v=20.0)
    return replace(it, safety=replace(it.safety, park=park), feel=feel)


def _parked() -> Mechanism:
    it = _lying(Feel("stop"))
    return replace(it, safety=replace(it.safety, brake=Brake(0.2, 0.3)))


def _rubbing() -> Mechanism:
    kinds = iter((Friction(2e-3, 0.02, 0.03, 0.05, 0.1), Friction(1e-3, 0.02, 0.01, 2.0, 0.0),
                  Friction(1e-3, 0.0, load=0.3)))
    return _three(lambda joint: replace(joint, friction=next(kinds)))


def _drives() -> Mechanism:
    it = _file("damiao_arm")
    shoulder, elbow, wrist = (joint.drive for joint in it.joints)
    assert shoulder and elbow and wrist
    drives = (replace(shoulder, pd="drive", gear=3.0),
              replace(elbow, type=DRIVES["robstride-03"], reply=None, pd="drive"),
              replace(wrist, type=DRIVES["cubemars-ak10-9"], reply=wrist.id, gear=1.2))
    return replace(it, joints=tuple(map(lambda joint, drive: replace(joint, drive=drive), it.joints, drives)))


VARIANTS: dict[str, Callable[[], Mechanism]] = {
    "braked": _braked,  # holding brakes, zeros at a stop, host overrides of gains, reactions of each type
    "parked": _parked,  # brakes, and a parking pose, also for overheating and low supply; the arm stops at a contact
    "feeling": lambda: replace(_file("three_link"), feel=Feel("float")),  # the arm yields to a contact
    "returning": lambda: _lying(Feel("return")),  # the arm yields to a contact, returns, and has a parking pose
    "led": lambda: replace(_file("damiao_arm"), feel=Feel("stop", 5.0)),  # drives on CAN; the arm stops at a contact
    "looped": lambda: replace(_file("five_bar"), feel=Feel("stop")),  # closed loops; the arm stops at a contact
    # motors for a continuous current of 2 A that heat up in half a minute
    "warm": lambda: _three(lambda joint: replace(
        joint, motor=joint.motor and replace(joint.motor, continuous=2.0, thermal_s=30.0))),
    "rubbing": _rubbing,  # three joints: friction falls with the velocity, rises with the load, or both
    # the law has an integral gain
    "summing": lambda: _three(lambda joint: replace(joint, gains=replace(joint.gains, ki=1.0))),
    # three families, one with the loop on the board; one gear makes the position at power-up ambiguous
    "drives": _drives,
    # servos that close their position loops, on a PC
    "holding": lambda: load_mechanism(ARMS / "koch.toml"),
}


def _servos(board: str) -> Mechanism:
    it = _file("so101_sts")
    assert it.board is not None
    cutoff = it.safety.cutoff if boards.load_board(board).cutoff else None
    return replace(it, board=replace(it.board, use=board), safety=replace(it.safety, cutoff=cutoff))


def _on_board(board: str, drive: str) -> Mechanism:
    with TemporaryDirectory() as folder:
        return on_boards.driven(on_boards.three_link(board, Path(folder)), drive)


@cache
def chip_folders(name: str) -> tuple[Path, ...]:
    """Return the folders of the chip's source files for the mechanism's board, if the mechanism has a board."""
    board = mechanism(name).board
    return tuple(FIRMWARE / "chip" / folder for folder in boards.load_board(board.use).chip.folders) if board else ()


def chip_sources(name: str) -> dict[str, str]:
    """Return the chip's source files for the mechanism's board: {file name: text}."""
    return {path.name: path.read_text(encoding="utf-8") for folder in chip_folders(name)
            for path in folder.glob("*.[ch]")}


@cache
def sources(name: str) -> dict[str, str]:
    """Return all emitted files of the mechanism: {file name: text}."""
    it = mechanism(name)
    files = emit.sources(it, boards.load_board(it.board.use) if it.board else None)
    longer = {"ft_frame_bytes.h": files["ft_frame_bytes.h"].replace(" 8u", " 64u")} if name == "can:long" else {}
    return files | longer
