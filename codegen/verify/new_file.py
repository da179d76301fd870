"""`femtorque init`: a commented mechanism file to start from, plain or on top of a URDF."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

from codegen.board import reader as boards
from codegen.common.errors import BadInput
from codegen.control.gains import stiffest_gains
from codegen.mechanism.description import Gains
from codegen.mechanism.reader import load_mechanism
from codegen.mechanism.schema import TITLE_PATTERN, TITLE_RULE
from codegen.mechanism.urdf import Tables, frozen, read, toml_key
from codegen.model.bodies import Model

COMPUTE = "compute"  # the board without motors
VOLTS = 24.0
STALL, NO_LOAD = 1.5, 1.3  # of a made-up motor, over the joint's limits of effort and velocity
RUN_UP = 0.05  # s in which its rotor alone reaches the joint's velocity at the joint's effort
GEAR = {False: 100.0, True: 2000.0}  # motor turns per joint turn; rad per metre where the joint slides
ELECTRICAL = 1e-3  # s: L / R

HEAD = """\
# A mechanism for femtorque. SI units, radians. `femtorque check` says what it makes of this file.
# Gains, limits, springs, friction and every torque are at the joint; R, L, K and the rotor's inertia at the motor.

name = "{name}"
gravity = {gravity}           # an acceleration, m/s^2
"""

CONTROL = """
[control]
rate_hz = 1000                  # control tick; a whole multiple of knot_hz
knot_hz = 250                   # knots of the trajectory a second
# scheme = "midpoint"           # without it, midpoint, or newton-euler where single precision makes midpoint noisy;
                                # "newmark" with beta and gamma is the papers' own
trig = "tick"                   # or "knot": sines made exact at knots, outside the tick, which gets shorter
observer_hz = 80                # bandwidth of the rate observer
host_timeout_s = 0.1            # armed and silent for that long: stop along the path, then see [safety]

# [safety]                      # reactions to faults: coast, brake, for motion and host also hold; see docs/faults.md
# host = "coast"                # where gravity loads a joint it is hold, unless said otherwise

[board]                         # needed by build, flash, stream and hil
use = "{board}"
bus_voltage = 24.0
pwm_hz = 20000
"""

ARM = """
[[link]]
name = "upper"
mass = 0.4
com = [0.1, 0.0, 0.0]           # in the link's frame, which is its joint's
inertia = [1e-4, 1.4e-3, 1.4e-3, 0.0, 0.0, 0.0]    # ixx, iyy, izz, ixy, ixz, iyz about the centre of gravity

[[link]]
name = "fore"
mass = 0.2
rod = 0.2                       # instead of com and inertia: a uniform slender rod along x, m
# beam = {{ length = 0.2, EI = 0.5, elements = 3, damping = 1e-3 }}   # instead of rod: it bends; N m^2, damping in s

[[joint]]
name = "shoulder"
type = "revolute"               # revolute | continuous | prismatic | fixed
parent = "base"                 # the ground
child = "upper"
xyz = [0.0, 0.0, 0.0]           # joint frame in the parent link's frame, as in URDF
rpy = [0.0, 0.0, 0.0]
axis = [0.0, 0.0, 1.0]
start = 0.0                     # where it is at power-up
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

DRIVE = """\
limits = {{ lower = -2.5, upper = 2.5, velocity = 10.0, effort = {effort} }}
friction = {{ viscous = 1e-3, coulomb = {coulomb} }}              # N m s/rad, N m
motor = {{ R = {R}, L = {L}, K = {K}, gear = 1.0, inertia = {rotor}, channel = {channel}, sign = 1 }}
encoder = {{ counts = 8192, at = "joint", sign = 1, zero = "start" }}   # counts per turn after quadrature x4
gains = {{ ku = {ku}, kv = {kv} }}      # `femtorque check` prints the stiffest with margin"""


def text(name: str, urdf: Path | None = None, out: Path | None = None, board: str | None = None) -> str:
    """The file's text. With a URDF its path is written relative to where `out` will be. Raises BadInput.

    board: with it every joint of the URDF gets a motor that fits its limits, an encoder, and the stiffest gains.
    """
    if not re.fullmatch(TITLE_PATTERN, name):
        raise BadInput("femtorque init", "NAME", name, TITLE_RULE)
    if urdf is not None:
        return _from_urdf(name, urdf, (out or Path(f"{name}.toml")).parent, board or COMPUTE)
    if board is not None:
        raise BadInput("femtorque init", "--board", board, "goes with --from",
                       "the file without a URDF has motors already")
    drive_0 = DRIVE.format(effort=4.0, coulomb=2e-2, R=1.6, L=2.5e-3, K=0.35, rotor=3e-3, channel=0, ku=33.0, kv=1.28)
    drive_1 = DRIVE.format(effort=1.5, coulomb=1e-2, R=2.4, L=2e-3, K=0.2, rotor=1e-3, channel=1, ku=5.3, kv=0.208)
    return (HEAD.format(name=name, gravity="[0.0, 0.0, -9.81]") + CONTROL.format(board="f405rg-4")
            + ARM.format(drive_0=drive_0, drive_1=drive_1))


def write(name: str, out: Path, urdf: Path | None = None, board: str | None = None) -> Path:
    """Write it to a new file. Raises BadInput if that file is there already."""
    content = text(name, urdf, out, board)
    try:
        with out.open("x", encoding="utf-8", newline="\n") as file:
            file.write(content)
    except FileExistsError:
        raise BadInput(out, "file", None, "is there already", "choose another name or remove it") from None
    except OSError as error:
        raise BadInput(out, "file", None, f"cannot be written: {error.strerror}") from None
    return out


def _from_urdf(name: str, urdf: Path, folder: Path, board: str) -> str:
    tables = read(urdf, locked=None)
    near = os.path.relpath(urdf.absolute(), folder.absolute())
    path = near if near.count("..") <= 2 else str(urdf.absolute())
    if board == COMPUTE:
        return _urdf_text(name, path, tables, board, None)
    _check_drives(urdf, tables, board)
    none = {str(joint["name"]): Gains() for joint in _moving(tables)}
    with tempfile.TemporaryDirectory() as scratch:  # the gains follow from the mechanism that the file describes
        draft = Path(scratch) / f"{name}.toml"
        draft.write_text(_urdf_text(name, str(urdf.absolute()), tables, board, none), encoding="utf-8")
        gains = stiffest_gains(Model.of(load_mechanism(draft)), boards.load(board).lead)
    return _urdf_text(name, path, tables, board, gains)


def _urdf_text(name: str, path: str, tables: Tables, board: str, gains: dict[str, Gains] | None) -> str:
    lines = [HEAD.format(name=name, gravity="[0.0, 0.0, -9.81]").rstrip()]
    lines.append(f"urdf = {_quoted(path)}     # links and joints; what stands below is matched by name")
    lines.append(_lock(tables))
    lines.append('unphysical = "warn"             # or "refuse": inertias that no single body can have')
    lines.append(CONTROL.format(board=board).rstrip().replace(
        'use = "compute"',
        'use = "compute"                 # no motors; one with channels needs [[joint]] tables as below'))
    if gains is not None:
        lines.append("\n# Motors made up to fit the limits in the URDF, to begin with: replace them by those of your "
                     "data sheets,\n"
                     "# then take the gains that `femtorque check` prints.")
    for number, joint in enumerate(_moving(tables)):
        lines.append(_joint(number, joint) if gains is None else _driven(number, joint, gains[str(joint["name"])]))
    return "\n".join(lines) + "\n"


def _moving(tables: Tables) -> list[dict[str, Any]]:
    """The joints that move, from the base outwards."""
    above = {j["child"]: j["parent"] for j in tables.joints}

    def depth(joint: dict[str, Any]) -> int:
        link, steps = joint["parent"], 0
        while link in above and steps < len(above):
            link, steps = above[link], steps + 1
        return steps

    return sorted((j for j in tables.joints if j["type"] != "fixed" and j["name"] not in frozen(tables)), key=depth)


def _check_drives(urdf: Path, tables: Tables, board: str) -> None:
    """The board has a channel for every joint, and every joint the limits that a motor is fitted to."""
    moving, channels = _moving(tables), len(boards.load(board, "femtorque init").channels)
    if len(moving) > channels:
        enough = [name for name in boards.names() if len(boards.load(name).channels) >= len(moving)]
        raise BadInput("femtorque init", "--board", board, f"drives {channels} motors, {urdf} has {len(moving)} joints",
                       f"take {' or '.join(enough)}" if enough else "leave --board out, and lock joints by hand")
    for joint in moving:
        for key in ("velocity", "effort"):
            if key not in joint.get("limits", {}):
                raise BadInput(urdf, f"joint.{joint['name']}.limit.{key}", None,
                               "is needed to fit a motor to the joint",
                               "leave --board out, and write the motors by hand")


def _lock(tables: Tables) -> str:
    if not tables.mimics:
        return "# lock = { finger = 0.04 }      # freezes joints"
    values = ", ".join(f"{toml_key(name)} = {value:g}" for name, value in frozen(tables).items())
    return f"lock = {{ {values} }}     # mimic joints and what they follow are frozen"


def _said(joint: dict[str, Any]) -> str:
    """What the URDF says of a joint."""
    limits = ", ".join(f"{key} {value:g}" for key, value in joint.get("limits", {}).items())
    return f"{joint['type']}, {limits or 'no limits'}"


def _driven(number: int, joint: dict[str, Any], gains: Gains) -> str:
    """A joint with a motor whose no-load speed and stall torque are NO_LOAD and STALL times the joint's limits."""
    velocity, effort, gear = joint["limits"]["velocity"], joint["limits"]["effort"], GEAR[joint["type"] == "prismatic"]
    constant = VOLTS / (NO_LOAD * velocity)  # K gear, N m/A at the joint
    R = VOLTS * constant / (STALL * effort)
    rotor = RUN_UP * effort / velocity / gear**2
    winding = f"R = {R:.3g}, L = {R * ELECTRICAL:.3g}, K = {constant / gear:.3g}"
    return f"""
[[joint]]                       # {_said(joint)}
name = {_quoted(str(joint["name"]))}
friction = {{ viscous = {0.01 * effort / velocity:.3g}, coulomb = {0.01 * effort:.3g} }}
motor = {{ {winding}, gear = {gear:g}, inertia = {rotor:.3g}, channel = {number}, sign = 1 }}
encoder = {{ counts = 2048, at = "motor", sign = 1, zero = "start" }}
gains = {{ ku = {gains.ku:g}, kv = {gains.kv:g} }}"""


def _joint(number: int, joint: dict[str, Any]) -> str:
    return f"""
[[joint]]                       # {_said(joint)}
name = {_quoted(str(joint["name"]))}
# friction = {{ viscous = 0.0, coulomb = 0.0 }}
# motor = {{ R = 1.0, L = 1e-3, K = 0.05, gear = 100.0, inertia = 1e-5, channel = {number}, sign = 1 }}
# encoder = {{ counts = 8192, at = "motor", sign = 1, zero = "start" }}
# gains = {{ ku = 0.0, kv = 0.0 }}"""


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
