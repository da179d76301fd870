"""`femtorque init`: a first mechanism file with comments, either plain or based on a URDF."""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from femtorque.codegen.board import PC_BOARD, board_names, load_board
from femtorque.codegen.common import BadInput, hint, write_text
from femtorque.codegen.control import OF_NO_LOAD, sample_poses, stiffest_gains, weights
from femtorque.codegen.mechanism import (
    BASE, TITLE_PATTERN, TITLE_RULE, Gains, Sold, Tables, in_radians, load_mechanism, named, read_urdf, toml_key)
from femtorque.codegen.model import Model, mass_matrix
from femtorque.codegen.verify.check import examine
from femtorque.codegen.verify.known_arms import TOLD, arm_text
from femtorque.codegen.verify.new_drives import Bussed, bussed
from femtorque.codegen.verify.plausible import doubts

ASKED = ("femtorque init", "--board")  # file and key of an error about the board
COMPUTE = "compute"  # the board without motors
VOLTS = 24.0
STALL, NO_LOAD = 1.5, 1.3  # stall torque and no-load speed of an invented motor, over the joint's limits
RUN_UP = 0.05  # time in which the rotor alone reaches the joint's velocity limit at the joint's effort limit, s
GEAR = {False: 100.0, True: 2000.0}  # motor turns per joint turn; rad per metre for a prismatic joint
ELECTRICAL = 1e-3  # assumed L / R, s
SPEED = {False: 2.0, True: 0.2}  # invented velocity limit, rad/s; m/s for a prismatic joint
START_UP = 0.5  # time to the velocity limit that an invented effort allows, s
WEAKEST = {False: 0.5, True: 5.0}  # smallest invented effort, for friction, N m; N for a prismatic joint
SLACK = Gains(0.01, 0.001)  # gains so small that every loop is stable
FEW = 3  # maximum number of joints that a hint about --lock names

HEAD = """\
# A mechanism for femtorque. SI units, radians. `femtorque check` reports on this file.
# Gains, limits, springs, friction and torques are at the joint. R, L, K and the rotor's inertia are at the motor.

name = "{name}"
gravity = {gravity}           # an acceleration, m/s^2
"""

CONTROL = """
[control]
rate_hz = 1000                  # control tick; a whole multiple of knot_hz
knot_hz = 250                   # knots of the trajectory a second
# scheme = "printed"            # the paper's step without constant folding; without this line, nodal
observer_hz = 80                # bandwidth of the velocity observer
host_timeout_s = 0.1            # time without the host while armed; the arm then stops on its path, see [safety]

# [safety]                      # reactions to faults: coast, brake or (motion, host) hold; see docs/faults.md
# host = "coast"                # without this line it is hold if gravity loads a joint

[board]                         # needed by build, flash, stream and hil
use = "{board}"
bus_voltage = {volts}
pwm_hz = 20000
"""

ACCEPT = """\
# When the PC dies, these go on with their last command. Where a switch in their supply is within reach, write:
{mark}accept = "no time limit"
"""

ARM = """
[[link]]
name = "upper"
mass = 0.4
com = [0.1, 0.0, 0.0]           # in the link's frame, which is the joint's frame
inertia = [1e-4, 1.4e-3, 1.4e-3, 0.0, 0.0, 0.0]    # ixx, iyy, izz, ixy, ixz, iyz about the centre of gravity

[[link]]
name = "fore"
mass = 0.2
rod = 0.2                       # instead of com and inertia: a uniform slender rod along x, m
# beam = {{ length = 0.2, EI = 0.5, elements = 3, damping = 1e-3 }}   # instead of rod, if it bends; N m^2, damping in s

[[joint]]
name = "shoulder"
type = "revolute"               # revolute | continuous | prismatic | fixed
parent = "base"                 # the ground
child = "upper"
xyz = [0.0, 0.0, 0.0]           # joint frame in the parent link's frame, as in URDF
rpy = [0.0, 0.0, 0.0]
axis = [0.0, 0.0, 1.0]
start = 0.0                     # position at power-up
{drive_0}

[[joint]]
name = "elbow"
type = "revolute"
parent = "upper"
child = "fore"
xyz = [0.2, 0.0, 0.0]
axis = [0.0, 0.0, 1.0]
{drive_1}

# [[payload]]                   # a body fixed to a link
# name = "tool"
# link = "fore"
# mass = 0.05
# com = [0.2, 0.0, 0.0]
# inertia = [1e-5, 1e-5, 1e-5, 0.0, 0.0, 0.0]
"""

LOCKED, WEAK = "# Locked by init: ", "# Efforts by init: "

MADE_UP = """\
# These motors are invented to fit the limits in the URDF. Replace the numbers by those of your data sheets,
# then take the gains that `femtorque check` prints. `femtorque motors` lists motors on the market."""

DRIVE = """\
limits = {{ lower = -2.5, upper = 2.5, velocity = 10.0, effort = {effort} }}
friction = {{ viscous = 1e-3, coulomb = {coulomb} }}              # N m s/rad, N m
motor = {{ R = {R}, L = {L}, K = {K}, gear = 1.0, inertia = {rotor}, channel = {channel}, sign = 1 }}
encoder = {{ counts = 8192, at = "joint", sign = 1, zero = "start" }}   # counts per turn after quadrature x4
gains = {{ ku = {ku}, kv = {kv} }}      # `femtorque check` prints the stiffest with margin"""


@dataclass(frozen=True)
class Choice:
    """Selected part of a URDF, with its actuators."""

    board: str | None = None  # every joint gets a motor that fits its limits, an encoder, and the stiffest gains
    motor: str | None = None  # a catalogue motor for every joint, instead of an invented motor
    drive: tuple[str, ...] = ()  # drives on a bus, `DRIVE` for every joint, `JOINT=DRIVE` for one joint
    chain: str | None = None  # `A:B`, only the joints between link A and link B move
    lock: tuple[str, ...] = ()  # joints that do not move, `JOINT` or `JOINT=value`
    arm: str | None = None  # an arm of `known_arms`, without a URDF

    def given(self) -> tuple[str, str] | None:
        """Return the first option that is valid only with a URDF, and its value."""
        said = (("--board", self.board), ("--motor", self.motor), ("--drive", " ".join(self.drive) or None),
                ("--chain", self.chain), ("--lock", self.lock[0] if self.lock else None))
        return next(((option, value) for option, value in said if value is not None), None)


def text(name: str, urdf: Path | None = None, out: Path | None = None, choice: Choice = Choice()) -> str:
    """Return the file's text. The path of the URDF in the file is relative to `out`. Raise BadInput."""
    if not re.fullmatch(TITLE_PATTERN, name):
        raise BadInput("femtorque init", "NAME", name, TITLE_RULE)
    if choice.arm is not None:
        other = choice.given() if urdf is None else ("--from", str(urdf))
        if other is not None:
            raise BadInput("femtorque init", *other, "does not go with --arm", "change the new file")
        return arm_text(choice.arm, name)
    if urdf is not None:
        return _from_urdf(name, urdf, (out or Path(f"{name}.toml")).parent, choice)
    if said := choice.given():
        raise BadInput("femtorque init", *said, "goes with --from", "the file without a URDF has motors already"
                       if said[0] in ("--board", "--motor", "--drive") else "")
    drive_0 = DRIVE.format(effort=4.0, coulomb=2e-2, R=1.6, L=2.5e-3, K=0.35, rotor=3e-3, channel=0, ku=33.0, kv=1.28)
    drive_1 = DRIVE.format(effort=1.5, coulomb=1e-2, R=2.4, L=2e-3, K=0.2, rotor=1e-3, channel=1, ku=5.3, kv=0.208)
    return (HEAD.format(name=name, gravity="[0.0, 0.0, -9.81]") + CONTROL.format(board="f405rg-4", volts=VOLTS)
            + ARM.format(drive_0=drive_0, drive_1=drive_1))


def write_new_file(name: str, out: Path, urdf: Path | None = None, choice: Choice = Choice()) -> Path:
    """Write a new file. If writing fails, leave no file behind. Raise BadInput if the file exists."""
    if out.exists():
        raise BadInput(out, "file", None, "is there already", "choose another name or remove it")
    content = text(name, urdf, out, choice)
    try:
        write_text(out, content)
    except OSError as error:
        raise BadInput(out, "file", None, f"cannot be written: {error.strerror}") from None
    return out


def said_of(path: Path) -> list[str]:
    """Return the doubts of `femtorque check` about the model of a new file, and the choices that `init` has made.

    At this stage no motors are chosen, so missing motors cause no doubts.
    """
    mechanism, lines = load_mechanism(path), path.read_text(encoding="utf-8").splitlines()
    made_up = sum(line.endswith("# invented") for line in lines)
    said = (line[2:] for line in lines if line.startswith((LOCKED, WEAK, *TOLD)))
    return [*mechanism.warnings, *doubts(mechanism), *said,
            *([f"limits that the URDF does not give are invented: see # invented in {path.name}"] if made_up else [])]


def _from_urdf(name: str, urdf: Path, folder: Path, choice: Choice) -> str:
    tables, board = read_urdf(urdf), choice.board or COMPUTE
    lock, sold = _locked(urdf, tables, choice), None if choice.motor is None else named(choice.motor)
    if sold is not None and board == COMPUTE:
        raise BadInput("femtorque init", "--motor", choice.motor, "goes with --board", "say which board drives it")
    if choice.drive and (board == COMPUTE or sold is not None):
        raise BadInput("femtorque init", "--drive", " ".join(choice.drive), "goes with --board, and stands for --motor",
                       "say which board has the bus" if board == COMPUTE else "leave --motor out")
    near = os.path.relpath(urdf.absolute(), folder.absolute())
    path = near if near.count("..") <= 2 else str(urdf.absolute())
    if board == COMPUTE:
        return _urdf_text(name, path, tables, board, lock)
    before, tables = tables, _carrying(name, urdf, tables, lock)
    weak = [str(old["name"]) for old, new in zip(before.joints, tables.joints, strict=True)
            if old.get("limits", {}).keys() - new["limits"].keys()]
    said = f"{WEAK}{', '.join(weak)}: the URDF's effort cannot hold the arm up, and is taken as no limit.\n"
    if fingers := _fingers(tables, lock, choice, board):
        content = _actuated(name, urdf, path, tables, board, lock | fingers, choice, sold)
        return said * bool(weak) + content.replace(
            "\nlock = ", f"\n{LOCKED}{', '.join(fingers)}: nothing moves fingers that slide; write "
            "their drive by hand.\nlock = ", 1)
    return said * bool(weak) + _actuated(name, urdf, path, tables, board, lock, choice, sold)


def _bare(name: str, urdf: Path, tables: Tables, lock: dict[str, float]) -> Model:
    """Return the model without motors."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "draft.toml"
        path.write_text(_urdf_text(name, str(urdf.absolute()), tables, COMPUTE, lock), encoding="utf-8")
        return Model.of(load_mechanism(path))


def _carrying(name: str, urdf: Path, tables: Tables, lock: dict[str, float]) -> Tables:
    """Return the tables without efforts that cannot hold the arm's own weight. They are an exporter's placeholders."""
    weight = weights(_bare(name, urdf, tables, lock).mechanism)
    joints = [joint | {"limits": {key: value for key, value in joint.get("limits", {}).items()
                                  if key != "effort" or value > weight.get(str(joint["name"]), 0.0)}}
              for joint in tables.joints]
    return replace(tables, joints=joints)


def _fingers(tables: Tables, lock: dict[str, float], choice: Choice, board: str) -> dict[str, float]:
    """Return the positions of sliding joints at the tips, if the chosen motors turn or the board has too few
    channels."""
    moving = _moving(tables, lock)
    if not choice.drive and choice.motor is None and len(moving) <= len(load_board(board, *ASKED).channels):
        return {}
    above = {str(j["child"]): j for j in tables.joints}
    carrying: set[str] = set()
    for joint in moving:
        link = str(joint["parent"])
        while link in above:
            carrying.add(str(above[link]["name"]))
            link = str(above[link]["parent"])
    found = [j for j in moving if j["type"] == "prismatic" and j["name"] not in carrying]
    return {str(j["name"]): _nearest_zero(j) for j in found} if len(found) < len(moving) else {}


def _actuated(name: str, urdf: Path, path: str, tables: Tables, board: str, lock: dict[str, float], choice: Choice,
              sold: Sold | None) -> str:
    """Return a file with a motor or drive at every moving joint."""
    if choice.drive:
        drive = bussed(urdf, _moving(tables, lock), load_board(board, *ASKED), choice.drive)
        return _with_drives(name, str(urdf.absolute()), path, tables, board, lock, drive)
    moving, volts = _moving(tables, lock), VOLTS if sold is None else sold.volts
    _check_drives(urdf, moving, board)
    made_up = {} if sold is not None else _invented(moving, _bare(name, urdf, tables, lock))
    motors = {str(joint["name"]): _made_up(joint, made_up[str(joint["name"])]) if sold is None else _bought(joint, sold)
              for joint in moving}
    none = {str(joint["name"]): Gains() for joint in moving}
    with tempfile.TemporaryDirectory() as scratch:  # the gains come from this draft's mechanism
        draft = Path(scratch) / f"{name}.toml"
        draft.write_text(_urdf_text(name, str(urdf.absolute()), tables, board, lock, none, motors, volts),
                         encoding="utf-8")
        gains = stiffest_gains(Model.of(load_mechanism(draft)), load_board(board).lead)
    return _urdf_text(name, path, tables, board, lock, gains, motors, volts)


def _invented(moving: list[dict[str, Any]], model: Model) -> dict[str, dict[str, float]]:
    """Return limits for joints without limits, by joint. An effort is twice what weight and acceleration need."""
    found = {str(j["name"]): {} if "velocity" in j.get("limits", {}) else {"velocity": SPEED[j["type"] == "prismatic"]}
             for j in moving}
    weak = [j for j in moving if "effort" not in j.get("limits", {})]
    if weak:
        masses = np.max([np.diag(mass_matrix(model, q)) for q in sample_poses(model)], axis=0)
        inertia = dict(zip([body.joint.name for body in model.bodies], masses, strict=True))
        weight = weights(model.mechanism)
    for joint in weak:
        name = str(joint["name"])
        velocity = (joint.get("limits", {}) | found[name])["velocity"]
        effort = max(2.0 * (weight.get(name, 0.0) + inertia[name] * velocity / START_UP),
                     WEAKEST[joint["type"] == "prismatic"])
        found[name]["effort"] = float(f"{effort:.2g}")
    return found


def _accept(drive: Bussed, mark: str) -> str:
    """Return the lines with which the owner of a PC accepts what happens to the drives when it dies."""
    return ACCEPT.format(mark=mark) if drive.endless else ""


def _with_drives(name: str, absolute: str, path: str, tables: Tables, board: str, lock: dict[str, float],
                 drive: Bussed) -> str:
    """Return a file with drives on a bus, and with the gains that `check` computes for them."""
    def content(urdf: str, gains: dict[str, Gains], mark: str) -> str:
        text = _urdf_text(name, urdf, tables, board, lock, volts=drive.volts, undriven=False)
        if board == PC_BOARD:
            text = text.replace("pwm_hz = 20000", _accept(drive, mark))
        for key, was, becomes in (("rate_hz", 1000, drive.rate_hz), ("knot_hz", 250, drive.knot_hz),
                                  ("observer_hz", 80, min(80, drive.rate_hz // 4))):
            text = text.replace(f"{key} = {was}", f"{key} = {becomes}".ljust(len(f"{key} = {was}")))
        joints = [f"\n[[joint]]                       # {_said(joint)}\nname = {_quoted(str(joint['name']))}\n"
                  f"{drive.tables(number, joint)}\n{drive.gains(str(joint['name']), gains[str(joint['name'])])}"
                  for number, joint in enumerate(_moving(tables, lock), 1)]
        return "\n".join([text.rstrip(), drive.head(), *joints]) + "\n"

    with tempfile.TemporaryDirectory() as scratch:  # the gains come from this draft's mechanism
        draft = Path(scratch) / f"{name}.toml"
        slack = {str(joint["name"]): SLACK for joint in _moving(tables, lock)}
        draft.write_text(content(absolute, slack, ""), encoding="utf-8")
        gains = examine(load_mechanism(draft)).rule
    return content(path, gains, "# ")


def _urdf_text(name: str, path: str, tables: Tables, board: str, lock: dict[str, float],
               gains: dict[str, Gains] | None = None, motors: dict[str, Drive] | None = None,
               volts: float = VOLTS, undriven: bool = True) -> str:
    lines = [HEAD.format(name=name, gravity="[0.0, 0.0, -9.81]").rstrip()]
    lines.append(f"urdf = {_quoted(path)}     # links and joints; tables below are matched by name")
    lines.append(_lock(lock))
    lines.append('unphysical = "warn"             # or "refuse": inertias that no single body can have')
    lines.append(CONTROL.format(board=board, volts=volts).rstrip().replace(
        'use = "compute"',
        'use = "compute"                 # no motors; a board with channels needs [[joint]] tables as below'))
    if motors:
        told = dict.fromkeys(drive.told for drive in motors.values() if drive.told)
        lines.append("\n" + ("\n".join(told) if told else MADE_UP))
    for number, joint in enumerate(_moving(tables, lock) if undriven else ()):
        at = str(joint["name"])
        lines.append(_joint(number, joint) if gains is None or motors is None
                     else _driven(number, joint, gains[at], motors[at]))
    return "\n".join(lines) + "\n"


def _moving(tables: Tables, lock: Collection[str]) -> list[dict[str, Any]]:
    """Return the joints that a motor moves, from the base outwards."""
    above = {j["child"]: j["parent"] for j in tables.joints}

    def depth(joint: dict[str, Any]) -> int:
        link, steps = joint["parent"], 0
        while link in above and steps < len(above):
            link, steps = above[link], steps + 1
        return steps

    driven = (j for j in tables.joints if j["type"] != "fixed" and j["name"] not in lock and "mimic" not in j)
    return sorted(driven, key=depth)


def _locked(urdf: Path, tables: Tables, choice: Choice) -> dict[str, float]:
    """Return the joints that do not move, with their positions: joints off the chain, and joints that --lock names."""
    moving = {str(j["name"]): j for j in tables.joints if j["type"] != "fixed"}
    lock: dict[str, float] = {}
    if choice.chain is not None:
        kept = _chain(urdf, tables, choice.chain)
        kept |= {name for name, joint in moving.items() if joint.get("mimic", {}).get("joint") in kept}
        lock |= {name: _nearest_zero(joint) for name, joint in moving.items() if name not in kept}
    for asked in choice.lock:
        name, _, value = asked.partition("=")
        if name not in moving:
            raise BadInput("femtorque init", "--lock", asked, f"{urdf.name} has no such joint that moves",
                           hint(name, moving, "joints"))
        try:
            at = float(value) if value else _nearest_zero(moving[name])
        except ValueError:
            raise BadInput("femtorque init", "--lock", asked, "must be JOINT or JOINT=value in rad or m") from None
        limits = moving[name].get("limits", {})
        if not limits.get("lower", -math.inf) <= at <= limits.get("upper", math.inf):
            raise BadInput("femtorque init", "--lock", asked, "is outside the joint's limits "
                           f"{limits.get('lower', -math.inf):g} .. {limits.get('upper', math.inf):g}",
                           in_radians(at, limits.get("lower", -math.inf), limits.get("upper", math.inf)))
        lock[name] = at
    if len(lock) == len(moving) and (choice.chain or choice.lock):
        raise BadInput("femtorque init", "--chain" if choice.chain else "--lock", choice.chain,
                       "leaves no joint that moves")
    return lock


def _nearest_zero(joint: dict[str, Any]) -> float:
    limits = joint.get("limits", {})
    return float(min(max(0.0, limits.get("lower", -math.inf)), limits.get("upper", math.inf)))


def _chain(urdf: Path, tables: Tables, chain: str) -> set[str]:
    """Return the names of the joints on the path from link A to link B."""
    links = [tables.root, *(str(link["name"]) for link in tables.links)]
    first, _, last = chain.partition(":")
    for link in (first, last):
        if link not in links:
            raise BadInput("femtorque init", "--chain", chain, f"{urdf.name} has no link {link!r}"
                           if link else "must be two links, A:B", hint(link, links, "links"))
    above = {str(j["child"]): j for j in tables.joints}
    first, last = (BASE if link == tables.root else link for link in (first, last))
    way, link = [], last
    while link != first:
        if link not in above:
            raise BadInput("femtorque init", "--chain", chain, f"link {last!r} does not hang on {first!r}",
                           "the first link is the one nearer to the root")
        way.append(above[link])
        link = str(above[link]["parent"])
    return {str(j["name"]) for j in way}


def _check_drives(urdf: Path, moving: list[dict[str, Any]], board: str) -> None:
    """Refuse a board that does not have a channel for every joint."""
    if board == PC_BOARD:
        raise BadInput("femtorque init", "--board", board, "has no outputs for motors", "--drive, for drives on buses")
    channels = len(load_board(board, *ASKED).channels)
    if len(moving) > channels:
        sizes = {name: len(load_board(name).channels) for name in board_names()}
        enough = [name for name, size in sizes.items() if size >= len(moving)]
        largest = max(sizes, key=lambda name: sizes[name])
        raise BadInput("femtorque init", "--board", board,
                       f"drives {channels} motors, {urdf} has {len(moving)} joints that move",
                       f"take {' or '.join(enough)}" if enough else
                       f"the largest, {largest}, drives {sizes[largest]}: {_fewer(moving, sizes[largest])}")


def _fewer(moving: list[dict[str, Any]], most: int) -> str:
    """Return a hint on how to reduce the number of moving joints to `most`. moving: moving joints from the base
    outwards."""
    away = [str(joint["name"]) for joint in moving[most:]]
    if len(away) > FEW:
        return f"keep so many by --chain A:B, or lock {len(away)} with --lock JOINT"
    locks = " ".join(f"--lock {name}" for name in away)
    return f"lock {len(away)} more, as {locks}, or take a part by --chain A:B"


def _lock(lock: dict[str, float]) -> str:
    if not lock:
        return "# lock = { finger = 0.04 }      # freezes joints"
    values = ", ".join(f"{toml_key(name)} = {value:g}" for name, value in lock.items())
    return f"lock = {{ {values} }}"


def _said(joint: dict[str, Any]) -> str:
    """Return a comment with the URDF's data of a joint."""
    limits = ", ".join(f"{key} {value:g}" for key, value in joint.get("limits", {}).items())
    return f"{joint['type']}, {limits or 'no limits'}"


@dataclass(frozen=True)
class Drive:
    """Tables of a joint's motor, encoder and friction, and limits with their reason."""

    motor: str
    encoder: str
    friction: dict[str, float]
    limits: str = ""
    told: str = ""  # source of the numbers, for a comment in the file
    why: str = "the motor gives no more"


def _made_up(joint: dict[str, Any], invented: dict[str, float]) -> Drive:
    """Return a motor whose no-load speed and stall torque are NO_LOAD and STALL times the joint's limits. invented:
    limits that the URDF does not give."""
    limits, gear = joint.get("limits", {}) | invented, GEAR[joint["type"] == "prismatic"]
    velocity, effort = limits["velocity"], limits["effort"]
    constant = VOLTS / (NO_LOAD * velocity)  # K gear: torque constant at the joint, N m/A
    R = VOLTS * constant / (STALL * effort)
    rotor = RUN_UP * effort / velocity / gear**2
    return Drive(f"R = {R:.3g}, L = {R * ELECTRICAL:.3g}, K = {constant / gear:.3g}, gear = {gear:g}, "
                 f"inertia = {rotor:.3g}", 'counts = 2048, at = "motor"',
                 {"viscous": 0.01 * effort / velocity, "coulomb": 0.01 * effort}, _pairs(invented), why="invented")


def _bought(joint: dict[str, Any], sold: Sold) -> Drive:
    """Return a motor of the catalogue.

    The gear's losses at stall are modelled as Coulomb friction at the torque that the gear can carry.
    """
    if joint["type"] == "prismatic":
        raise BadInput("femtorque init", "--motor", sold.name, f"turns, and joint {joint['name']!r} slides",
                       "lock it, or write its motor and lead screw by hand")
    motor = (f"R = {sold.R:.4g}, L = {sold.L:.3g}, K = {sold.K:.4g}, gear = {sold.gear:g}, inertia = "
             f"{sold.inertia or 0.0:.3g}")
    if sold.continuous is not None:
        motor += f", continuous = {sold.continuous:.3g}, thermal_s = {sold.thermal_s:g}"
    carried, fastest = min(sold.stall(sold.volts), sold.torque), OF_NO_LOAD * sold.no_load(sold.volts)
    asked = joint.get("limits", {})
    limits = {"velocity": min(asked.get("velocity", math.inf), fastest),
              "effort": min(asked.get("effort", math.inf), carried)}
    less = _pairs({key: value for key, value in limits.items() if value != asked.get(key)})
    missing = "\n# The sheet has no rotor inertia: `femtorque identify` measures it." if sold.inertia is None else ""
    worked = f"\n# Worked out: {sold.worked_out}." if sold.worked_out else ""
    return Drive(motor, f'counts = {sold.counts or 2048}, at = "motor"',
                 {"viscous": 0.0, "coulomb": (1.0 - sold.efficiency) * carried}, less,
                 f"# Motors: {sold.what}.\n# Source: {sold.source}.{worked}{missing}")


def _pairs(values: dict[str, float]) -> str:
    return ", ".join(f"{key} = {value:.3g}" for key, value in values.items())


def _driven(number: int, joint: dict[str, Any], gains: Gains, drive: Drive) -> str:
    limits = f"\nlimits = {{ {drive.limits} }}   # {drive.why}" if drive.limits else ""
    return f"""
[[joint]]                       # {_said(joint)}
name = {_quoted(str(joint["name"]))}{limits}
{_rubs(joint.get("friction", {}), drive.friction)}
motor = {{ {drive.motor}, channel = {number}, sign = 1 }}
encoder = {{ {drive.encoder}, sign = 1, zero = "start" }}
gains = {{ ku = {gains.ku:g}, kv = {gains.kv:g} }}"""


def _rubs(given: dict[str, float], made_up: dict[str, float]) -> str:
    """Return the friction line of a joint's table.

    Values of the URDF have precedence. A friction of 0 in a URDF means that it was not measured.
    """
    kept = ", ".join(f"{key} = {value:g}" for key, value in given.items() if value)
    missing = ", ".join(f"{key} = {value:.3g}" for key, value in made_up.items() if not given.get(key))
    if not missing:
        return f"# friction: the URDF's, {kept}"
    return f"friction = {{ {missing} }}" + (f"   # the URDF has {kept}" if kept else "")


def _joint(number: int, joint: dict[str, Any]) -> str:
    limits = "" if "velocity" in joint.get("limits", {}) else (
        f"\nlimits = {{ velocity = {SPEED[joint['type'] == 'prismatic']:g} }}   # invented")
    return f"""
[[joint]]                       # {_said(joint)}
name = {_quoted(str(joint["name"]))}{limits}
# friction = {{ viscous = 0.0, coulomb = 0.0 }}
# motor = {{ R = 1.0, L = 1e-3, K = 0.05, gear = 100.0, inertia = 1e-5, channel = {number}, sign = 1 }}
# encoder = {{ counts = 8192, at = "motor", sign = 1, zero = "start" }}
# gains = {{ ku = 0.0, kv = 0.0 }}"""


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
