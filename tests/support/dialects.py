"""Replies of drives in the MIT mode, for each drive family."""

from importlib import import_module

from femtorque.codegen.drive import DriveType, family_of
from femtorque.codegen.drive.families import __name__ as FAMILIES
from femtorque.codegen.drive.family import State
from femtorque.codegen.drive.mit import Dialect


def dialect_of(drive: DriveType) -> Dialect:
    return import_module(f"{FAMILIES}.{family_of(drive).c}.frames").DIALECT


def reply(drive: DriveType, data: bytes) -> State:
    return dialect_of(drive).read(drive, data)


def answer(drive: DriveType, id: int, state: State, **beside: int) -> bytes:
    return dialect_of(drive).answer(drive, id, state, **beside)
