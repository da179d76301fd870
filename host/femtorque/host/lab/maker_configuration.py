"""Compares the drives' configurations with a mechanism file. The board's bus cannot read these settings, so the maker's
tool prints them.

Settings that follow from the mechanism file are compared by value. For a setting that
the owner may choose freely, the file holds a mark: a check sum of three characters. A mark shows that the setting was
changed later, but does not show the old value.
"""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from femtorque.codegen.common import BadInput, read_text
from femtorque.codegen.control import fitted
from femtorque.codegen.drive import Configuration, Configured, Fitted, family_of
from femtorque.codegen.mechanism import Drive, Joint, Mechanism
from femtorque.host.lab.bringup import Finding

SIGNS = 3  # number of characters of a mark; on average one of 262144 changes is missed


@dataclass(frozen=True)
class Compared:
    """Result of the comparison for one joint's drive: its problems, and the marks of the owner's settings."""

    joint: str
    problems: tuple[str, ...]
    marks: str = ""


def configured_tools(mechanism: Mechanism) -> list[str]:
    """Return the commands that print the drives' configurations, one per family."""
    ids: dict[str, list[int]] = {}
    for _, drive, own in _drives(mechanism):
        ids.setdefault(own.tool, []).append(drive.id)
    return [tool.format(ids=",".join(map(str, sorted(numbers)))) for tool, numbers in ids.items()]


def compare_configured(mechanism: Mechanism, file: Path) -> list[Compared]:
    """Compare the tools' output in a file, for one or several drives, with the mechanism file. Raises BadInput for a
    mechanism without drives of these families, or if two drives have the same number."""
    printed, found, taken = list(_each(read_text(file))), [], dict[tuple[str, int], str]()
    for joint, drive, own in _drives(mechanism):
        other = taken.setdefault((own.tool, drive.id), joint.name)
        if other != joint.name:
            raise BadInput(file, own.number, drive.id, f"is the number of two drives, of {other!r} and {joint.name!r}: "
                           "it is unclear which one is meant", "give each another number")
        lines = [one for one in printed if one.get(own.number, "").strip() == str(drive.id)]
        if len(lines) == 1:
            found.append(_compared(joint, drive, own, lines[0]))
        else:
            found.append(Compared(joint.name, (f"{file} has {'more than one' if lines else 'none'} with {own.number} "
                                               f"{drive.id}",)))
    if not found:
        raise BadInput("command line", "--settings", str(file), "it has no settings for any drive of this mechanism")
    return found


def configured_held(findings: list[Finding], compared: list[Compared], mechanism: Mechanism) -> list[Finding]:
    """Add to the findings the marks that the file does not have yet."""
    marks = {one.joint: one.marks for one in compared}
    new = {joint.name for joint, drive, _ in _drives(mechanism) if not drive.configured}
    return [replace(f, values={**f.values, "drive": {**f.values.get("drive", {}), "configured": marks[f.joint]}})
            if f.joint in new and marks.get(f.joint) else f for f in findings]


def _drives(mechanism: Mechanism) -> Iterator[tuple[Joint, Drive, Configuration]]:
    for joint in mechanism.streamed:
        own = None if joint.drive is None else family_of(joint.drive.type).configuration
        if joint.drive is not None and own is not None:
            yield joint, joint.drive, own


def _each(text: str) -> Iterator[dict[str, str]]:
    """Yield the values by name, drive by drive. If a name occurs again, the values of the next drive begin."""
    lines: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        if not value:
            continue
        if name in lines:
            yield lines
            lines = {}
        lines[name] = value.strip()
    yield lines


def _compared(joint: Joint, drive: Drive, own: Configuration, lines: dict[str, str]) -> Compared:
    problems, facts = [], fitted(joint, drive)
    for rule in own.rules:
        if rule.name not in lines:
            problems += [] if rule.newer else [f"it has no {rule.name}: its firmware may be another"]
        elif not _right(rule, facts, lines[rule.name]):
            problems.append(f"its {rule.name} is {lines[rule.name]}, and must be {rule.words(facts)}")
    marks = []
    for name in own.own:
        whole = [f"{key} {value}\n" for key, value in lines.items() if key == name or key.startswith(f"{name}.")]
        if not whole:
            problems.append(f"it has no {name}: its firmware may be another")
        marks.append(_mark("".join(whole)))
    if drive.configured and len(drive.configured) != SIGNS * len(marks):
        problems.append("drive.configured is from another version of femtorque: remove it from the file")
    elif drive.configured:
        was = [drive.configured[k:k + SIGNS] for k in range(0, len(drive.configured), SIGNS)]
        problems += [f"its {name} has changed since the file recorded it: if that is intended, remove drive.configured "
                     "from the file" for name, old, new in zip(own.own, was, marks, strict=True) if old != new]
    return Compared(joint.name, tuple(problems), "" if problems else "".join(marks))


def _right(rule: Configured, facts: Fitted, value: str) -> bool:
    try:
        return rule.right(facts, float(value))
    except ValueError:
        return False


def _mark(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()[:SIGNS]
