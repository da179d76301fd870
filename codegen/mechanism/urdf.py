"""URDF: the links and joints of a mechanism, as the tables a mechanism file would hold.

yourdfpy parses the document (no meshes, no scene; visuals are cut away before it sees them). It forgives and fills
in, so what must not be guessed is checked on the XML before: names, numbers, inertias, kinds of joint, one root. The
root link is the ground.
"""

from __future__ import annotations

import io
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common.errors import BadInput
from femtorque.codegen.common.files import read_text
from femtorque.codegen.common.nearest import hint, shown
from femtorque.codegen.common.vectors import product
from femtorque.codegen.mechanism.description import BASE
from femtorque.codegen.mechanism.schema import NAME_PATTERN, NAME_RULE, TITLE_PATTERN

LARGEST_FILE = 2**26  # bytes
MOST = 1000  # links, joints
LIMBS = 3  # on one trunk: two are the arms of a bench
DUST = 1e-20  # kg m^2: what exporters leave of a zero
TYPES = ("revolute", "continuous", "prismatic", "fixed")
NO_LIMIT = 1e9
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


@dataclass(frozen=True)
class Tables:
    """Raw `[[link]]` and `[[joint]]` tables in the document's order; its name; what was left out of it, and why.

    root: the document's name of the link that is the
    ground here.
    """

    name: str
    links: list[dict[str, Any]]
    joints: list[dict[str, Any]]
    warnings: list[str]
    root: str = BASE


def read(path: Path, locked: Collection[str] = ()) -> Tables:
    """The tables of a URDF file; `locked` joints are known to stand still. Raises BadInput."""
    document = _parse(path)
    for kind in ("link", "joint"):
        if (count := len(document.findall(kind))) > MOST:
            raise BadInput(path, kind, None, f"there are {count}: at most {MOST} are read")
    _check_names(path, document)
    for link in document.findall("link"):
        _check_link(path, link)
    for joint in document.findall("joint"):
        _check_joint(path, joint)
    root = _root(path, document)
    if document.find("joint") is None:
        raise BadInput(path, "joint", None, "there is none: nothing can move")
    warnings: list[str] = []
    robot = _yourdfpy(path, document).robot
    names = names_here([link.name for link in robot.links], root)
    if BASE in names and root != BASE:
        if any(link.name == BASE and link.inertial and link.inertial.mass for link in robot.links):
            warnings.append(f"link 'base' of {path.name} is called {names[BASE]!r} here: 'base' is the ground")
    links = [_link(link, names) for link in robot.links if link.name != root]
    joints = [_joint(joint, names, warnings) for joint in robot.joints]
    warnings += _floating(path, robot, root, locked)
    return Tables(robot.name, links, joints, warnings, root)


def names_here(links: Sequence[str], root: str) -> dict[str, str]:
    """Names of a document's links in a mechanism, where 'base' is the ground."""
    names = {name: name for name in links}
    if BASE in names and root != BASE:
        names[BASE] = next(n for n in ("base_frame", "base_frame_", "base_frame__") if n not in names)
    return names | {root: BASE}


def links_here(path: Path) -> dict[str, str]:
    """Names of links, as in names_here, of a file that was read before."""
    document = _parse(path)
    return names_here([str(link.get("name")) for link in document.findall("link")], _root(path, document))


# ---- the XML, before anything fills it in


def _parse(path: Path) -> ET.Element:
    text = read_text(path, LARGEST_FILE, ".urdf")
    if not text.strip():
        raise BadInput(path, "file", None, "is empty")
    xacro = "holds xacro, which is not URDF yet"
    plain = f"{path.with_suffix('').stem}.urdf"
    how = f"run: xacro {path.name} -o {plain if plain != path.name else f'{path.stem}_plain.urdf'}"
    try:
        document = ET.fromstring(text.encode())
    except ET.ParseError as error:
        line = error.position[0]
        if "unbound prefix" in str(error) and "xacro" in text:
            raise BadInput(path, f"line {line}", None, xacro, how) from None
        raise BadInput(path, f"line {line}", None, f"is not XML: {str(error).split(':')[0]}") from None
    if document.tag != "robot":
        raise BadInput(path, "root element", shown(document.tag), "must be <robot>")
    document.attrib.setdefault("name", path.stem)
    for element in document.iter():
        if isinstance(element.tag, str) and "xacro" in element.tag:
            raise BadInput(path, f"<xacro:{element.tag.split('}')[-1]}>", None, xacro, how)
    for element in [*document]:  # only what has to do with mass and motion
        if element.tag not in ("link", "joint"):
            document.remove(element)
        for part in [*element]:
            if element.tag == "link" and part.tag != "inertial":
                element.remove(part)
    for element in document.iter():
        for key, value in element.attrib.items():
            if "${" in value or "$(" in value:
                raise BadInput(path, f"<{element.tag} {key}>", shown(value), xacro, how)
    return document


def _check_names(path: Path, document: ET.Element) -> None:
    for kind in ("link", "joint"):
        seen = set()
        for index, element in enumerate(document.findall(kind)):
            name = element.get("name")
            if not name:
                raise BadInput(path, f"{kind}[{index}].name", None, "is required")
            if not re.fullmatch(NAME_PATTERN, name):
                raise BadInput(path, f"{kind}[{index}].name", shown(name), NAME_RULE)
            if name in seen:
                raise BadInput(path, f"{kind}.{name}", None, f"is there twice: every {kind} needs a name of its own")
            seen.add(name)


def _child(element: ET.Element, tag: str) -> ET.Element:
    found = element.find(tag)
    return ET.Element(tag) if found is None else found


def _numbers(path: Path, key: str, text: str | None, count: int, largest: float = 1e9) -> None:
    """`text` is absent or holds that many numbers, none larger."""
    if text is None:
        return
    try:
        values = [float(x) for x in text.split()]
    except ValueError:
        raise BadInput(path, key, shown(text), "must be numbers" if count > 1 else "must be a number") from None
    if len(values) != count or not all(abs(x) <= largest for x in values):
        what = "a finite number" if count == 1 else f"{count} finite numbers"
        raise BadInput(path, key, shown(text), f"must be {what}")


def _check_origin(path: Path, key: str, element: ET.Element) -> None:
    for attribute in ("xyz", "rpy"):
        _numbers(path, f"{key}.origin.{attribute}", _child(element, "origin").get(attribute), 3)


def _check_link(path: Path, link: ET.Element) -> None:
    """A body has mass and all six moments, as the format asks; what has neither is a frame."""
    inertial, key = link.find("inertial"), f"link.{link.get('name')}.inertial"
    if inertial is None:
        return
    _check_origin(path, key, inertial)
    mass, inertia = _child(inertial, "mass"), inertial.find("inertia")
    if mass.get("value") is None:
        raise BadInput(path, f"{key}.mass", None, "is required")
    _numbers(path, f"{key}.mass", mass.get("value"), 1)
    if inertia is None:
        raise BadInput(path, f"{key}.inertia", None, "is required")
    for attribute in MOMENTS:
        value = inertia.get(attribute)
        if value is None:
            raise BadInput(path, f"{key}.inertia.{attribute}", None, "is required")
        _numbers(path, f"{key}.inertia.{attribute}", value, 1)


def _check_joint(path: Path, joint: ET.Element) -> None:
    key, kind = f"joint.{joint.get('name')}", joint.get("type")
    if kind in ("floating", "planar", "spherical"):
        raise BadInput(path, f"{key}.type", kind, "joints of several degrees of freedom are not supported",
                       'make it "fixed", or several joints in series')
    if kind not in TYPES:
        raise BadInput(path, f"{key}.type", kind, f"must be one of {', '.join(TYPES)}", hint(kind or "", TYPES))
    for side in ("parent", "child"):
        if not _child(joint, side).get("link"):
            raise BadInput(path, f"{key}.{side}", None, "is required")
    _check_origin(path, key, joint)
    _numbers(path, f"{key}.axis", _child(joint, "axis").get("xyz"), 3)
    for attribute in ("lower", "upper", "velocity", "effort"):
        _numbers(path, f"{key}.limit.{attribute}", _child(joint, "limit").get(attribute), 1, math.inf)
    for attribute in ("damping", "friction"):
        _numbers(path, f"{key}.dynamics.{attribute}", _child(joint, "dynamics").get(attribute), 1)


def _root(path: Path, document: ET.Element) -> str:
    """The one link that is nobody's child."""
    names = dict.fromkeys(str(link.get("name")) for link in document.findall("link"))
    children = set()
    for joint in document.findall("joint"):
        for side in ("parent", "child"):
            link = _child(joint, side).get("link")
            if link not in names:
                raise BadInput(path, f"joint.{joint.get('name')}.{side}", shown(link), "no such link",
                               hint(str(link), names, "links"))
        children.add(_child(joint, "child").get("link"))
    roots = [name for name in names if name not in children]
    if not names:
        raise BadInput(path, "link", None, "there is none")
    if not roots:
        raise BadInput(path, "joint", None, "no link is the root: the joints go in a circle")
    if len(roots) > 1:
        raise BadInput(path, "link", None, f"there are {len(roots)} root links: {', '.join(roots[:6])}",
                       "join them with fixed joints")
    return roots[0]


def _yourdfpy(path: Path, document: ET.Element) -> Any:
    from yourdfpy import URDF  # noqa: PLC0415 (half a second of mesh tools: only when a URDF is read)

    try:
        return URDF.load(io.BytesIO(ET.tostring(document)), build_scene_graph=False, load_meshes=False)
    except Exception as error:
        raise BadInput(path, "file", None, f"is not a URDF that yourdfpy reads: {error}") from None


def _floating(path: Path, robot: Any, root: str, locked: Collection[str]) -> list[str]:
    """A trunk on several limbs that stands on the ground here: the base of a legged robot floats. One limb alone, all
    others locked, was taken on purpose."""
    hanging: dict[str, list[Any]] = {}
    for joint in robot.joints:
        hanging.setdefault(joint.parent, []).append(joint)

    def below(link: str, along: Collection[str]) -> list[Any]:
        """All joints from a link outwards, as long as their types are among these."""
        found, waiting = dict[str, Any](), [link]
        while waiting:
            for joint in hanging.get(waiting.pop(), ()):
                if joint.type in along and joint.name not in found:
                    found[joint.name] = joint
                    waiting.append(joint.child)
        return [*found.values()]

    ground, limbs, moving = {root, *(j.child for j in below(root, ("fixed",)))}, 0, 0
    trunk = sum(link.inertial.mass or 0.0 for link in robot.links if link.name in ground and link.inertial is not None)
    for joint in robot.joints:
        if joint.type == "fixed" or joint.parent not in ground:
            continue
        limb = [j for j in below(joint.child, TYPES) if j.type != "fixed"]
        moving += any(j.name not in locked for j in (joint, *limb))
        limbs += len(limb) > 0
    if limbs < LIMBS or trunk <= 0.0 or moving <= 1:
        return []
    return [f"{path.name}: {limbs} limbs hang on link {root!r} and what is fixed to it ({trunk:.4g} kg), which is the "
            f"ground here: its mass is in no torque; no floating base is modelled (`init --chain` takes one limb)"]


# ---- tables


def _link(link: Any, names: dict[str, str]) -> dict[str, Any]:
    """Inertia about the centre of gravity, turned from the inertial frame into the link's axes."""
    table: dict[str, Any] = {"name": names[link.name], "mass": 0.0}
    if link.inertial is not None:
        origin = np.eye(4) if link.inertial.origin is None else np.asarray(link.inertial.origin, float)
        R = origin[:3, :3]
        J = product(R, link.inertial.inertia, R.T)
        J[np.abs(J) < DUST] = 0.0
        table["mass"] = float(link.inertial.mass)
        table["com"] = origin[:3, 3].tolist()
        table["inertia"] = [float(J[i, k]) for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return table


def _joint(joint: Any, names: dict[str, str], warnings: list[str]) -> dict[str, Any]:
    origin = np.eye(4) if joint.origin is None else np.asarray(joint.origin, float)
    table: dict[str, Any] = {
        "name": joint.name, "type": joint.type, "parent": names[joint.parent], "child": names[joint.child],
        "xyz": origin[:3, 3].tolist(), "rpy": roll_pitch_yaw(origin[:3, :3]),
    }
    if joint.type == "fixed":
        return table
    table["axis"] = [float(a) for a in joint.axis]
    if limits := _limits(joint, warnings):
        table["limits"] = limits
    if joint.mimic is not None:
        given = {"ratio": joint.mimic.multiplier, "offset": joint.mimic.offset}
        table["mimic"] = {"joint": joint.mimic.joint, **{k: float(v) for k, v in given.items() if v is not None}}
    if joint.dynamics is not None:
        given = {"viscous": joint.dynamics.damping, "coulomb": joint.dynamics.friction}
        table["friction"] = {key: float(value) for key, value in given.items() if value is not None}
    return table


def _limits(joint: Any, warnings: list[str]) -> dict[str, float]:
    """The limits that say something: an empty range, a velocity or effort of zero, 1e16 mean 'not given' in
    practice."""
    if joint.limit is None:
        return {}
    limits = {key: getattr(joint.limit, key) for key in ("lower", "upper", "velocity", "effort")}
    if joint.type == "continuous":
        limits["lower"] = limits["upper"] = None
    elif (limits["lower"] or 0.0) == (limits["upper"] or 0.0):
        warnings.append(f"joint.{joint.name}: its range is empty and taken as no limits")
        limits["lower"] = limits["upper"] = None
    else:  # one that is absent is zero
        limits |= {"lower": limits["lower"] or 0.0, "upper": limits["upper"] or 0.0}
    if limits["velocity"] == 0.0 or limits["effort"] == 0.0:
        limits |= {key: limits[key] or None for key in ("velocity", "effort")}
    return {key: float(value) for key, value in limits.items() if value is not None and abs(value) < NO_LIMIT}


def roll_pitch_yaw(R: NDArray[np.float64]) -> list[float]:
    """URDF's angles of a rotation matrix (3, 3); also where pitch is a right angle, as it often is."""
    yaw = math.atan2(R[1, 0], R[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)  # roll and pitch of what is left once yaw is undone
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return [roll, pitch, yaw]


def toml_key(name: str) -> str:
    """A name as a key of an inline table."""
    bare = all(c.isascii() and (c.isalnum() or c in "_-") for c in name)
    return name if bare else f'"{name}"'


def alone(path: Path) -> dict[str, Any]:
    """The tables of the mechanism file that says nothing beyond this URDF."""
    name = re.sub(r"[^A-Za-z0-9_-]", "-", path.stem)[:32]
    return {"name": name if re.match(TITLE_PATTERN, name) else f"_{name[:31]}", "urdf": path.name}


# ---- a mechanism file on top of a URDF


@dataclass(frozen=True)
class Merged:
    """The tables of both. given: keys like joint.elbow.axis that the URDF says."""

    data: dict[str, Any]
    given: frozenset[str]
    urdf: Path
    warnings: list[str]


FROM_URDF = {
    "link": ("mass", "com", "inertia", "rod"),
    "joint": ("type", "parent", "child", "xyz", "rpy", "axis"),
}


def merge(path: Path, data: dict[str, Any]) -> Merged:
    """A mechanism file's tables with the links and joints of the URDF it names; its own are matched by name."""
    name = data["urdf"]
    if not isinstance(name, str) or not name:
        raise BadInput(path, "urdf", shown(name), "must be the name of a URDF file, in quotes")
    urdf = path.parent / name
    lock = data.get("lock")
    tables = read(urdf, lock if isinstance(lock, dict) else ())
    merged = dict(data)
    given: set[str] = set()
    for kind, base in (("link", tables.links), ("joint", tables.joints)):
        given |= {f"{kind}.{table['name']}.{key}" for table in base for key in table}
        merged[kind] = _overlay(path, urdf, kind, base, data.get(kind, []), given)
    return Merged(merged, frozenset(given), urdf, tables.warnings)


def _overlay(path: Path, urdf: Path, kind: str, base: list[dict[str, Any]], extra: Any,
             given: set[str]) -> Any:
    """`base` with the keys of `extra` put over it; tables within (limits, friction) key by key."""
    if not isinstance(extra, list) or not all(isinstance(table, dict) for table in extra):
        return extra  # the schema says what is wrong with it
    result = {table["name"]: dict(table) for table in base}
    seen = set()
    for index, table in enumerate(extra):
        name = table.get("name")
        if not isinstance(name, str):
            raise BadInput(path, f"{kind}[{index}].name", shown(name), f"must name a {kind} of {urdf.name}")
        if name not in result:
            raise BadInput(path, f"{kind}[{index}].name", shown(name), f"no such {kind} in {urdf.name}",
                           hint(name, result, f"{kind}s"))
        if name in seen:
            raise BadInput(path, f"{kind}[{index}].name", shown(name), f"is already the name of another {kind}")
        seen.add(name)
        for key, value in table.items():
            if key in FROM_URDF[kind]:
                raise BadInput(path, f"{kind}.{name}.{key}", shown(value), f"is said by {urdf.name} already",
                               "change it there, or remove it here")
            before = result[name].get(key)
            both = isinstance(value, dict) and isinstance(before, dict)
            result[name][key] = before | value if both else value
            if key != "name":
                given -= {k for k in given if k == f"{kind}.{name}.{key}" and not both}
    return list(result.values())
