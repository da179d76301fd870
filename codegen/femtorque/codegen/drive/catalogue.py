"""Drives that people buy, as their families' folders have them.

The field's tables disagree (`note`), and the ranges are settings of the drive: a file may override each of them, and
what is flashed has to be held against the drive before it is armed. A rotor of which nothing is published has an
inertia of 0: not known.
"""

import pkgutil
from importlib import import_module

from femtorque.codegen.drive import families
from femtorque.codegen.drive.family import DriveType, Family


def _found() -> dict[str, Family]:
    names = sorted(found.name for found in pkgutil.iter_modules(families.__path__) if found.ispkg)
    own = [import_module(f"{families.__name__}.{name}").FAMILY for name in names]
    return {family.name: family for family in own}


FAMILIES = _found()
DRIVES = {drive.name: drive for family in FAMILIES.values() for drive in family.types}
CATALOGUE = tuple(drive for drive in DRIVES.values() if drive.servo is None)
SERVOS = tuple(drive for drive in DRIVES.values() if drive.servo is not None)
WIRES = {family.wire.kind: family for family in FAMILIES.values() if family.wire is not None}  # half duplex, by kind
LEFT_OUT = {start: why for family in FAMILIES.values() for start, why in family.left_out.items()}


def family_of(drive: DriveType) -> Family:
    """The descriptor of a drive's family."""
    return FAMILIES[drive.family]


def left_out(name: str) -> str:
    """The reason why a type is not in the catalogue; empty where there is none but that nobody has added it."""
    return next((why for start, why in LEFT_OUT.items() if name.startswith(start)), "")
