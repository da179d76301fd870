"""The mechanisms whose sources are proved about."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from femtorque.codegen.board import reader as boards
from femtorque.codegen.common import FIRMWARE
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.emit import sources as emit
from femtorque.codegen.mechanism import Friction, Home, Mechanism, Park, load_mechanism
from femtorque.codegen.mechanism.description import Brake, Feel
from tests.support import boards as on_boards, bus_arm

MECHANISMS = Path(__file__).resolve().parents[2] / "mechanisms"


def mechanism(name: str) -> Mechanism:
    """One of mechanisms/; `braked`: three links with all that they may have besides; `parked`: with
    a pose to lie in, and it feels; `feeling`: that gives way to a touch; `returning`: and goes back, or lies down;
    `led`: of drives, that stops at one; `looped`: of closed loops; `warm`: with motors that are;
    `rubbing`: with friction that falls with the velocity and rises with the load;
    `summing`: with a law that sums up errors; `drives`: an arm of three
    families of drives; `can:KIND`: with drives on such buses; `can:long`: with frames of 64 bytes;
    `sts:BOARD`: with servos on a wire of that board; `nodal:NAME`: one of mechanisms/ under that scheme; `BOARD:DRIVE`:
    on that board, with that drive of every motor."""
    own = {"braked": _braked, "parked": _parked, "feeling": _feeling, "returning": _returning, "led": _led,
           "looped": _looped, "warm": _warm, "summing": _summing, "drives": _drives, "rubbing": _rubbing}
    head, _, tail = name.partition(":")
    if head == "nodal":
        it = load_mechanism(MECHANISMS / f"{tail}.toml")
        return replace(it, control=replace(it.control, scheme="nodal"))
    if head == "can":
        return bus_arm.described("fd" if tail == "long" else tail)
    if tail:
        return _servos(tail) if head == "sts" else _on_board(head, tail)
    return own[name]() if name in own else load_mechanism(MECHANISMS / f"{name}.toml")


def _braked() -> Mechanism:
    """Holding brakes, zeros at a stop, gains that may be overlaid, reactions of each kind."""
    it = load_mechanism(MECHANISMS / "three_link.toml")
    joints = tuple(replace(joint, encoder=joint.encoder and replace(joint.encoder, zero="stop"),
                           home=Home(at=-1.57)) for joint in it.joints)
    safety = replace(it.safety, brake=Brake(0.2, 0.3), electrical="brake", motion="hold", host="hold",
                     gain_overlay=(0.25, 2.0))
    return replace(it, joints=joints, safety=safety)


def _parked() -> Mechanism:
    """A pose to lie in, for heat and a low supply too, holding brakes, and it stops at a touch."""
    it = _lying(load_mechanism(MECHANISMS / "three_link.toml"))
    return replace(it, safety=replace(it.safety, brake=Brake(0.2, 0.3)), feel=Feel("stop"))


def _lying(it: Mechanism) -> Mechanism:
    pose = {joint.name: 0.25 for joint in it.streamed}
    return replace(it, safety=replace(it.safety, park=Park(pose, heat=True, supply_v=20.0)))


def _feeling() -> Mechanism:
    """It feels, and gives way to a touch."""
    it = load_mechanism(MECHANISMS / "three_link.toml")
    return replace(it, feel=Feel("float"))


def _returning() -> Mechanism:
    """It feels, gives way to a touch, and goes back; with a pose to lie in."""
    return replace(_lying(_feeling()), feel=Feel("return"))


def _led() -> Mechanism:
    """Drives on a bus, and it stops at a touch."""
    it = load_mechanism(MECHANISMS / "damiao_arm.toml")
    return replace(it, feel=Feel("stop", 5.0))


def _looped() -> Mechanism:
    """Closed loops that feel."""
    return replace(load_mechanism(MECHANISMS / "five_bar.toml"), feel=Feel("stop"))


def _rubbing() -> Mechanism:
    """Friction that falls with the velocity, rises with the load, or does both, at a joint each."""
    it = load_mechanism(MECHANISMS / "three_link.toml")
    kinds = (Friction(2e-3, 0.02, 0.03, 0.05, 0.1), Friction(1e-3, 0.02, 0.01, 2.0, 0.0), Friction(1e-3, 0.0, load=0.3))
    joints = tuple(replace(joint, friction=kind) for joint, kind in zip(it.joints, kinds, strict=True))
    return replace(it, joints=joints)


def _warm() -> Mechanism:
    """Motors that may carry 2 A for good, and take half a minute to warm up."""
    it = load_mechanism(MECHANISMS / "three_link.toml")
    joints = tuple(replace(joint, motor=joint.motor and replace(joint.motor, continuous=2.0, thermal_s=30.0))
                   for joint in it.joints)
    return replace(it, joints=joints)


def _summing() -> Mechanism:
    """An integral gain."""
    it = load_mechanism(MECHANISMS / "three_link.toml")
    joints = tuple(replace(joint, gains=replace(joint.gains, ki=1.0)) for joint in it.joints)
    return replace(it, joints=joints)


def _drives() -> Mechanism:
    """Three drives of three families, one of which leaves its loop to the board; two are behind gears, one so far that
    its place is not known at power-up."""
    it = load_mechanism(MECHANISMS / "damiao_arm.toml")
    shoulder, elbow, wrist = (joint.drive for joint in it.joints)
    assert shoulder and elbow and wrist
    drives = (replace(shoulder, pd="drive", gear=3.0),
              replace(elbow, type=DRIVES["robstride-03"], reply=None, pd="drive"),
              replace(wrist, type=DRIVES["cubemars-ak10-9"], reply=wrist.id, gear=1.2))
    return replace(it, joints=tuple(map(lambda joint, drive: replace(joint, drive=drive), it.joints, drives)))


def _servos(board: str) -> Mechanism:
    it = load_mechanism(MECHANISMS / "so101_sts.toml")
    assert it.board is not None
    cutoff = it.safety.cutoff if boards.load_board(board).cutoff else None
    return replace(it, board=replace(it.board, use=board), safety=replace(it.safety, cutoff=cutoff))


def _on_board(board: str, drive: str) -> Mechanism:
    with TemporaryDirectory() as folder:
        return on_boards.driven(on_boards.three_link(board, Path(folder)), drive)


@cache
def chip_folders(name: str) -> tuple[Path, ...]:
    """Folders of the chip's files for the mechanism's board; none if it has no board."""
    board = mechanism(name).board
    return tuple(FIRMWARE / "chip" / folder for folder in boards.load_board(board.use).chip.folders) if board else ()


def chip_sources(name: str) -> dict[str, str]:
    """The chip's files of the mechanism's board: {file name: text}."""
    return {path.name: path.read_text(encoding="utf-8") for folder in chip_folders(name)
            for path in folder.glob("*.[ch]")}


@cache
def sources(name: str) -> dict[str, str]:
    """All that is emitted for it: {file name: text}."""
    it = mechanism(name)
    files = emit.sources(it, boards.load_board(it.board.use) if it.board else None)
    longer = {"ft_frame_bytes.h": files["ft_frame_bytes.h"].replace(" 8u", " 64u")} if name == "can:long" else {}
    return files | longer
