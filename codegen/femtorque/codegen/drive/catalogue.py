"""Catalogue of all drive types in the folders of the families.

Published tables disagree (`note`), and the ranges are settings of a drive. A mechanism file may override every range.
Before arming, the board compares these ranges with the drive's settings. An inertia of 0 means that the rotor inertia
is not published."""

import pkgutil
from importlib import import_module

from femtorque.codegen.drive import families
from femtorque.codegen.drive.family import DriveType, Family

FAMILIES: dict[str, Family] = {family.name: family for family in (
    import_module(f"{families.__name__}.{name}").FAMILY
    for name in sorted(found.name for found in pkgutil.iter_modules(families.__path__) if found.ispkg))}
DRIVES = {drive.name: drive for family in FAMILIES.values() for drive in family.types}
CATALOGUE = tuple(drive for drive in DRIVES.values() if drive.servo is None)
SERVOS = tuple(drive for drive in DRIVES.values() if drive.servo is not None)
WIRES = {family.wire.kind: family for family in FAMILIES.values() if family.wire is not None}  # half duplex, by kind


def family_of(drive: DriveType) -> Family:
    """Return the descriptor of a drive's family."""
    return FAMILIES[drive.family]
