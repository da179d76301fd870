"""Conversion of URDF links and joints to tables of a mechanism file. Before the conversion, the reader checks numbers,
inertias, types of joints and the single root. Every name becomes a valid name. Visuals are ignored. The root link is
the ground.
"""

from __future__ import annotations

import math
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from femtorque.codegen.common import BadInput, hint, product, read_text, rotation_rpy, shown
from femtorque.codegen.mechanism.description import BASE
from femtorque.codegen.mechanism.schema import NAME_PATTERN, TITLE_PATTERN

LARGEST_FILE = 2**26  # bytes
HEAD = 10_000  # characters of comments before <?xml
MOST = 1000  # links, joints
LIMBS = 3  # minimum number of limbs of a floating trunk; two limbs may be arms on a bench
DUST = 1e-20  # inertia that counts as 0, kg m^2; exporters write smaller numbers instead of 0
TYPES = ("revolute", "continuous", "prismatic", "fixed")
FREE = ("floating", "planar")  # types that are taken as fixed
TAGS = ("link", "joint", "inertial", "origin", "mass", "inertia", "parent", "child", "axis", "limit", "dynamics",
        "mimic")
OTHERS = {"sdf": "SDF", "mujoco": "MJCF", "mujocoinclude": "MJCF"}  # formats by their root elements
NO_LIMIT = 1e9
LONGEST = 60  # letters of a new name, with room for a number up to 64
TURN = 6.3  # rad; exporters write a whole turn with few digits
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


@dataclass(frozen=True)
class Tables:
    """The `[[link]]` and `[[joint]]` tables in the document's order, the document's name, and warnings about omitted
    data."""

    name: str
    links: list[dict[str, Any]]
    joints: list[dict[str, Any]]
    warnings: list[str]
    root: str = BASE  # the document's name for the ground link
    called: dict[str, str] = field(default_factory=dict)  # the document's names of renamed joints, by new name


def read_urdf(path: Path, locked: Collection[str] = ()) -> Tables:
    """Return the tables for a URDF file. locked: names of joints that do not move. Raise BadInput."""
    warnings: list[str] = []
    document = _parse(path, warnings)
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
    masses = {str(link.get("name")): _mass(link) for link in document.findall("link")}
    names = names_here([*masses], root)
    joints = valid_names("joint", [str(joint.get("name")) for joint in document.findall("joint")])
    renamed = [*joints.items(), *((old, new) for old, new in names.items() if old != root and (
        old != BASE or masses[old]))]
    if said := [f"{old!r} is called {new!r} here" for old, new in renamed if old != new]:
        warnings.append(f"{path.name}: {_several(said, 3)}")
    warnings += _omitted(document, joints)
    warnings += _floating(path, document, masses, root, [old for old, new in joints.items() if new in locked])
    links = [_link(link, names) for link in document.findall("link") if link.get("name") != root]
    return Tables(str(document.get("name")), links, [_joint(j, names, joints) for j in document.findall("joint")],
                  warnings, root, {new: old for old, new in joints.items() if new != old})


def names_here(links: Sequence[str], root: str) -> dict[str, str]:
    """Return a map from the URDF's link names to names in a mechanism file, where the ground is 'base'."""
    return valid_names("link", [name for name in links if name != root], (BASE,)) | {root: BASE}


def valid_names(kind: str, names: Sequence[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Return a map from the URDF's names to valid names that also differ in C. Valid names stay. taken: other names."""
    near = {name: _valid(kind, name, number) for number, name in enumerate(names, 1)}
    used, found = {*taken}, dict[str, str]()
    for name in sorted(names, key=lambda name: near[name] != name):
        new, count = near[name], 1
        while re.sub(r"[-./]", "_", new) in used:
            count += 1
            new = f"{near[name]}_{count}"
        used.add(re.sub(r"[-./]", "_", new))
        found[name] = new
    return {name: found[name] for name in names}


def _valid(kind: str, name: str, number: int) -> str:
    """Return the nearest name that a mechanism file accepts. number: of the link or joint, counted from 1."""
    if name == BASE:
        return f"{BASE}_frame" if kind == "link" else name
    column = kind == "joint" and (name in ("t", "mode") or name.endswith((".vel", ".acc")))
    if re.fullmatch(NAME_PATTERN, name) and not column:
        return name
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", plain).strip("_")
    return (plain if plain[:1].isalpha() and not column else f"{kind}_{plain or number}")[:LONGEST]


def links_here(path: Path) -> dict[str, str]:
    """Return the result of names_here for a file that has already been checked."""
    document = _parse(path, [])
    return names_here([str(link.get("name")) for link in document.findall("link")], _root(path, document))


def _several(said: Sequence[str], most: int) -> str:
    """Return the first texts, and the number of the other texts."""
    return ", ".join(said[:most]) + (f", and {len(said) - most} more" if len(said) > most else "")


def _omitted(document: ET.Element, names: dict[str, str]) -> list[str]:
    """Return warnings about data that are ignored or improbable, one line for each kind."""
    found: dict[str, list[str]] = {}
    for joint in document.findall("joint"):
        key = f"joint.{names[str(joint.get('name'))]}"
        limit = _child(joint, "limit")
        if joint.get("type") in FREE:
            found.setdefault("has several degrees of freedom and is taken as fixed", []).append(key)
        elif joint.get("type") != "fixed":
            for name in ("velocity", "effort"):
                if float(limit.get(name, "nan")) <= 0.0:
                    found.setdefault("is not above 0 and taken as no limit", []).append(f"{key}.limit.{name}")
            if joint.get("type") != "continuous" and joint.find("limit") is not None and _empty(limit):
                found.setdefault("its range is empty and taken as no limits", []).append(key)
        if joint.find("safety_controller") is not None:
            found.setdefault("<safety_controller> is ignored: write its soft limits as the joint's limits", []).append(
                key)
    for element in document:
        rpy = _child(_child(element, "inertial") if element.tag == "link" else element, "origin").get("rpy", "")
        if any(abs(float(x)) > TURN for x in rpy.split()):
            found.setdefault("is more than a turn: angles are in rad, and 90 degrees are 1.5708", []).append(
                f"{element.tag} {element.get('name')!r}, rpy = {rpy!r}")
    return [f"{_several(where, 3)}: {what}" for what, where in found.items()]


def _empty(limit: ET.Element) -> bool:
    return float(limit.get("lower", 0.0)) == float(limit.get("upper", 0.0))


# ---- the XML, before anything fills it in


def document_of(path: Path, warnings: list[str]) -> ET.Element:
    """Return the root element of a URDF. Append warnings about corrected text and tags. Raise BadInput."""
    text = read_text(path, LARGEST_FILE, ".urdf")
    if not text.strip():
        raise BadInput(path, "file", None, "is empty")
    head, declaration, rest = text.partition("<?xml")
    if declaration and head and len(head) < HEAD and not re.sub("<!--.*?-->", "", head, flags=re.DOTALL).strip():
        warnings.append(f"{path.name}: other programs refuse it: delete all that stands before <?xml")
        text = declaration + rest
    try:
        document = ET.fromstring(text.encode())
    except ET.ParseError as error:
        line = error.position[0]
        if "unbound prefix" in str(error) and "xacro" in text:
            _fail_xacro(path, f"line {line}")
        remedy = ("close every tag, and write &amp; for &" if text.lstrip().startswith("<")
                  else "take the robot's URDF: it begins with <")
        raise BadInput(path, f"line {line}", None, f"is not XML: {str(error).split(':')[0]}", remedy) from None
    if document.tag in OTHERS:
        raise BadInput(path, f"<{document.tag}>", None, f"is {OTHERS[document.tag]}, and URDF is read",
                       "take the robot's URDF, or convert the file into URDF")
    if document.tag != "robot":
        raise BadInput(path, "root element", shown(document.tag), "must be <robot>")
    document.attrib.setdefault("name", path.stem)
    wrong = [element for element in document.iter() if isinstance(element.tag, str)
             and element.tag not in TAGS and element.tag.lower() in TAGS]
    if wrong:
        tags = [f"<{tag}> is read as <{tag.lower()}>" for tag in dict.fromkeys(element.tag for element in wrong)]
        warnings.append(f"{path.name}: {_several(tags, 3)}; other programs ignore a tag in capitals")
    for element in wrong:
        element.tag = element.tag.lower()
    return document


def _fail_xacro(path: Path, key: str, value: str | None = None) -> NoReturn:
    plain = f"{path.with_suffix('').stem}.urdf"
    raise BadInput(path, key, value and shown(value), "holds xacro, which is not URDF yet",
                   f"run: xacro {path.name} -o {plain if plain != path.name else f'{path.stem}_plain.urdf'}")


def _parse(path: Path, warnings: list[str]) -> ET.Element:
    """Return the root element, with mass and motion alone."""
    document = document_of(path, warnings)
    for element in document.iter():
        if isinstance(element.tag, str) and "xacro" in element.tag:
            _fail_xacro(path, f"<xacro:{element.tag.split('}')[-1]}>")
    for element in [*document]:
        if element.tag not in ("link", "joint"):
            document.remove(element)
        for part in [*element]:
            if element.tag == "link" and part.tag != "inertial":
                element.remove(part)
    for element in document.iter():
        for key, value in element.attrib.items():
            if "${" in value or "$(" in value:
                _fail_xacro(path, f"<{element.tag} {key}>", value)
    return document


def _check_names(path: Path, document: ET.Element) -> None:
    for kind in ("link", "joint"):
        seen = set()
        for index, element in enumerate(document.findall(kind)):
            name = element.get("name")
            if not name:
                raise BadInput(path, f"{kind}[{index}].name", None, "is required")
            if name in seen:
                raise BadInput(path, f"{kind}.{name}", None, f"is there twice: every {kind} needs a name of its own")
            seen.add(name)


def _child(element: ET.Element, tag: str) -> ET.Element:
    found = element.find(tag)
    return ET.Element(tag) if found is None else found


def _numbers(path: Path, key: str, text: str | None, count: int, largest: float = 1e9) -> None:
    """Raise BadInput unless `text` is None or contains `count` numbers of magnitude up to `largest`."""
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
    """Check that a body has a mass and all six moments of inertia, as the format requires. A link without an inertial
    has no mass: it is only a frame."""
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
    if kind not in (*TYPES, *FREE):
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
    for attribute in ("multiplier", "offset"):
        _numbers(path, f"{key}.mimic.{attribute}", _child(joint, "mimic").get(attribute), 1)


def _root(path: Path, document: ET.Element) -> str:
    """Return the only link that is not the child of a joint."""
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


def _floating(path: Path, document: ET.Element, masses: dict[str, float], root: str,
              locked: Collection[str]) -> list[str]:
    """Return a warning if the trunk of several limbs is the ground, because the base of a legged robot usually floats.
    If the user has locked all limbs but one, there is no warning.
    """
    joints = [_Edge.of(joint) for joint in document.findall("joint")]
    hanging: dict[str, list[_Edge]] = {}
    for joint in joints:
        hanging.setdefault(joint.parent, []).append(joint)

    def below(link: str, along: Collection[str]) -> list[_Edge]:
        """Return all joints that a link carries, along joints of these types."""
        found, waiting = dict[str, _Edge](), [link]
        while waiting:
            for joint in hanging.get(waiting.pop(), ()):
                if joint.type in along and joint.name not in found:
                    found[joint.name] = joint
                    waiting.append(joint.child)
        return [*found.values()]

    ground, limbs, moving = {root, *(j.child for j in below(root, ("fixed",)))}, 0, 0
    trunk = sum(mass for name, mass in masses.items() if name in ground)
    for joint in joints:
        if joint.type == "fixed" or joint.parent not in ground:
            continue
        limb = [j for j in below(joint.child, TYPES) if j.type != "fixed"]
        moving += any(j.name not in locked for j in (joint, *limb))
        limbs += len(limb) > 0
    if limbs < LIMBS or trunk <= 0.0 or moving <= 1:
        return []
    return [f"{path.name}: {limbs} limbs hang on link {root!r} and what is fixed to it ({trunk:.4g} kg), which is the "
            f"ground here: its mass is in no torque; no floating base is modelled (`init --chain` takes one limb)"]


@dataclass(frozen=True)
class _Edge:
    """A joint, and the names of the two links that it connects."""

    name: str
    type: str
    parent: str
    child: str

    @staticmethod
    def of(joint: ET.Element) -> _Edge:
        kind, parent, child = (str(x) for x in (
            joint.get("type"), _child(joint, "parent").get("link"), _child(joint, "child").get("link")))
        return _Edge(str(joint.get("name")), "fixed" if kind in FREE else kind, parent, child)


# ---- tables


def _three(element: ET.Element, attribute: str, default: str = "0 0 0") -> list[float]:
    return [float(x) for x in element.get(attribute, default).split()]


def _mass(link: ET.Element) -> float:
    return float(_child(_child(link, "inertial"), "mass").get("value", 0.0))


def _link(link: ET.Element, names: dict[str, str]) -> dict[str, Any]:
    """Return the table for a URDF link. The inertia is rotated from the inertial frame to the link's axes."""
    table: dict[str, Any] = {"name": names[str(link.get("name"))], "mass": _mass(link)}
    if (inertial := link.find("inertial")) is not None:
        origin, inertia = _child(inertial, "origin"), _child(inertial, "inertia")
        xx, yy, zz, xy, xz, yz = (float(inertia.get(moment, 0.0)) for moment in MOMENTS)
        R = rotation_rpy(np.array(_three(origin, "rpy")))
        J = product(R, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), R.T)
        J[np.abs(J) < DUST] = 0.0
        table["com"] = _three(origin, "xyz")
        table["inertia"] = [float(J[i, k]) for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return table


def _joint(joint: ET.Element, names: dict[str, str], joints: dict[str, str]) -> dict[str, Any]:
    """Return the table for a URDF joint. names, joints: new names of links and of joints."""
    edge, origin = _Edge.of(joint), _child(joint, "origin")
    table: dict[str, Any] = {
        "name": joints[edge.name], "type": edge.type, "parent": names[edge.parent], "child": names[edge.child],
        "xyz": _three(origin, "xyz"), "rpy": _three(origin, "rpy"),
    }
    if edge.type == "fixed":
        return table
    table["axis"] = _three(_child(joint, "axis"), "xyz", "1 0 0")
    if limits := _limits(joint):
        table["limits"] = limits
    if (mimic := joint.find("mimic")) is not None:
        leader = mimic.get("joint")
        table["mimic"] = {"joint": joints.get(str(leader), leader), "ratio": float(mimic.get("multiplier", 1.0)),
                          "offset": float(mimic.get("offset", 0.0))}
    if (dynamics := joint.find("dynamics")) is not None:
        given = {"viscous": dynamics.get("damping"), "coulomb": dynamics.get("friction")}
        table["friction"] = {key: float(value) for key, value in given.items() if value is not None}
    return table


def _limits(joint: ET.Element) -> dict[str, float]:
    """Return the limits of a joint. In real files, an empty range, a velocity or effort up to zero, and 1e16 mean
    'not given'.
    """
    if (limit := joint.find("limit")) is None:
        return {}
    limits = {key: float(limit.get(key, "nan")) for key in ("lower", "upper", "velocity", "effort")}
    lower, upper, velocity, effort = (None if math.isnan(value) else value for value in limits.values())
    if joint.get("type") == "continuous":
        lower = upper = None
    elif _empty(limit):
        lower = upper = None
    else:  # an absent limit is zero
        lower, upper = lower or 0.0, upper or 0.0
    said = {"lower": lower, "upper": upper} | {
        key: value for key, value in (("velocity", velocity), ("effort", effort)) if (value or 0.0) > 0.0}
    return {key: value for key, value in said.items() if value is not None and abs(value) < NO_LIMIT}


def toml_key(name: str) -> str:
    """Return a name as a TOML key, with quotes if necessary."""
    bare = all(c.isascii() and (c.isalnum() or c in "_-") for c in name)
    return name if bare else f'"{name}"'


def alone(path: Path) -> dict[str, Any]:
    """Return the tables that a mechanism file would have if it only named this URDF."""
    name = re.sub(r"[^A-Za-z0-9_-]", "-", path.stem)[:32]
    return {"name": name if re.match(TITLE_PATTERN, name) else f"_{name[:31]}", "urdf": path.name}


# ---- a mechanism file on top of a URDF


@dataclass(frozen=True)
class Merged:
    """The merged tables of both files."""

    data: dict[str, Any]
    given: frozenset[str]  # keys that the URDF gives, as joint.elbow.axis
    urdf: Path
    warnings: list[str]
    called: dict[str, str]  # names of renamed joints in the URDF, by new name


FROM_URDF = {
    "link": ("rod",),
    "joint": ("type", "parent", "child", "xyz", "rpy", "axis"),
}


def merge(path: Path, data: dict[str, Any]) -> Merged:
    """Return a mechanism file's tables, merged by name with the links and joints of its URDF."""
    name = data["urdf"]
    if not isinstance(name, str) or not name:
        raise BadInput(path, "urdf", shown(name), "must be the name of a URDF file, in quotes")
    urdf = path.parent / name
    lock = data.get("lock")
    tables = read_urdf(urdf, lock if isinstance(lock, dict) else ())
    merged = dict(data)
    given: set[str] = set()
    for kind, base in (("link", tables.links), ("joint", tables.joints)):
        given |= {f"{kind}.{table['name']}.{key}" for table in base for key in table}
        merged[kind] = _overlay(path, urdf, kind, base, data.get(kind, []), given)
    return Merged(merged, frozenset(given), urdf, tables.warnings, tables.called)


def _overlay(path: Path, urdf: Path, kind: str, base: list[dict[str, Any]], extra: Any,
             given: set[str]) -> Any:
    """Return a copy of `base` with the keys of `extra`, which override equal keys. The merge of inner tables (limits,
    friction) goes key by key."""
    if not isinstance(extra, list) or not all(isinstance(table, dict) for table in extra):
        return extra  # the schema refuses it
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
            if key == "limits" and result[name].get("type") == "continuous" and isinstance(value, dict) and {
                    "lower", "upper"} & value.keys():
                result[name]["type"] = "revolute"
            before = result[name].get(key)
            both = isinstance(value, dict) and isinstance(before, dict)
            result[name][key] = before | value if both else value
            if key != "name":
                given -= {k for k in given if k == f"{kind}.{name}.{key}" and not both}
    return list(result.values())
