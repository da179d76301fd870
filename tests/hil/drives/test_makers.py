"""The makers' numbers: each number has a source. The tests compare the firmware's numbers with the makers' numbers. The
firmware's tables share no module with the makers' numbers."""

import ast
from dataclasses import fields
from pathlib import Path

import pytest

from femtorque.codegen.board import load_board
from femtorque.codegen.board.fieldbus import bits
from femtorque.codegen.drive import DRIVES, FAMILIES, BitTiming as Bits
from femtorque.hil import drives
from femtorque.hil.bus import BitTiming, Frame, Wire
from femtorque.hil.clock import OwnClock
from femtorque.hil.drives import catalogue
from femtorque.hil.drives.maker import Said
from tests.hil.bus.test_wire import Talker

G4 = load_board("nucleo-g474re-6").chip.cans["FDCAN1"]
FD = sorted({drive.family for drive in DRIVES.values() if drive.fd})
# units of a mechanism file and the search for families; no parameter of a drive
SHARED = {"BadInput", "WIRES", "ServoSetting", "elsewhere", "host_compiler"}


def test_virtual_drives_take_no_number_from_the_generator():
    for path in Path(drives.__file__).parent.rglob("*.py"):
        found = {name.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                 if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("femtorque.codegen")
                 for name in node.names}
        assert found <= (SHARED if "families" not in path.parts or path.name == "__init__.py" else set()), path


@pytest.mark.parametrize("family", FAMILIES)
def test_every_number_of_a_family_has_a_source(family):
    said = [getattr(catalogue.MAKERS[family], field.name) for field in fields(catalogue.MAKERS[family])]
    assert all(s.source for s in said if isinstance(s, Said))


def node(bits: Bits) -> BitTiming:
    return BitTiming(bits.prescaler / G4.clock_hz, 1 + bits.before, bits.behind, bits.jump)


@pytest.mark.parametrize("family", FD)
def test_the_boards_bits_of_can_fd_and_the_drives_hear_each_other_either_way(family):
    first, second = FAMILIES[family].samples
    maker, clock = catalogue.MAKERS[family], OwnClock()
    own = node(bits(G4, 1_000_000, False, first)), node(bits(G4, 5_000_000, True, second))
    wire = Wire(clock)
    board, drive = (Talker(wire, True, *timing) for timing in (own, (maker.timing(1e6), maker.data_timing(5e6))))
    for sender in (board, drive):
        sender.send(Frame(5, bytes(16), fd=True, fast=True))
        clock.run(1e-3)
    assert len(board.got) == len(drive.got) == 1


def test_a_drive_as_it_comes_has_its_makers_numbers():
    for name in ("damiao-4310", "robstride-02", "mini-cheetah", "cubemars-ak80-9", "moteus-r4"):
        maker = catalogue.MAKERS[DRIVES[name].family]
        made = catalogue.make(name, Wire(OwnClock()), 1, None, catalogue.ranges(name), 1e6, None)
        made.power_up(0.0)
        assert (made.timeout, made.boot, made.maker) == (maker.limit.number, maker.boot.number, maker)
