"""A bus that something holds dominant, and lets go of at any moment: the compiled driver has its controller back. And
what it reads of that controller's counts of errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from femtorque.codegen.board.reader import load as load_board
from femtorque.codegen.common.firmware import FIRMWARE
from femtorque.codegen.drive.sources import application
from femtorque.codegen.emit import sources as emit
from tests.firmware.app import load
from tests.support.bus_arm import described

CDEF = "uint32_t trial(bool off, uint32_t release, uint32_t most); uint32_t counted(uint32_t, uint32_t);"
PERIOD = 100_000  # us, in which the driver tries once
ENDS = 129 * 11 + 11  # us that it takes once it is let


def driver(kind: str, hz: int):
    """The chip's own files on variables in place of registers. The instruction that orders stores on the chip is the
    compiler's barrier here."""
    mechanism = described(kind)
    board = load_board(mechanism.board.use)
    files = {name: path.read_text() for name, path in application().items()} | emit.sources(mechanism, board)
    for folder in board.chip.folders:
        files |= {path.name: path.read_text() for path in (FIRMWARE / "chip" / folder).glob("*.[ch]")}
    wanted = {name: text for name, text in files.items() if name.endswith(".h")}
    wanted["ft_model.h"] = re.sub(r"(#define FT_TICK_HZ) \d+", rf"\1 {hz}", wanted["ft_model.h"])
    text = (Path(__file__).parent / "bus_recovery.c").read_text()
    for name in ("ft_buses", "ft_can"):
        wanted[f"{name}_c.h"] = files[f"{name}.c"].replace('"dmb"', '""')
        text = text.replace(f"{name}.c", f"{name}_c.h")
    return load(wanted | {"bus_recovery.c": text}, CDEF)[1]


@pytest.mark.parametrize("hz", [250, 500, 720, 1000, 2000, 5000])
@pytest.mark.parametrize("kind", ["damiao", "fd"])
def test_that_a_controller_is_back_whenever_the_bus_is_let_go(kind, hz):
    """Over a whole period in which it tries once, in steps of 10 us, with the controller off and with one that has not
    begun. By the manuals it needs 129 sequences of 11 bits at most, and once more where a try begins meanwhile."""
    lib = driver(kind, hz)
    tick = 1_000_000 // hz
    most = 4 * tick + 2 * ENDS
    waited = [[lib.trial(off, PERIOD + at, 20 * PERIOD) for at in range(1, PERIOD + 4 * tick, 10)]
              for off in (True, False)]
    for times in waited:
        assert min(times) > 0 and max(times) <= most, (times.count(0), max(times))


@pytest.mark.parametrize(("kind", "most"), [("damiao", 255), ("fd", 128)])
def test_that_errors_in_sending_and_in_receiving_are_read_each_from_its_own_count(kind, most):
    lib = driver(kind, 1000)
    for sending in range(256):
        for receiving in range(most + 1):
            assert lib.counted(sending, receiving) == sending | receiving << 8
