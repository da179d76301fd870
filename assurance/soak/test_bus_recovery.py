"""Test of the compiled driver: it restarts its controller after a dominant bus is released at any time."""

import re
from pathlib import Path

import pytest

from tests.firmware.app import load
from tests.firmware.driver_alone import files_of
from tests.support.bus_arm import described

CDEF = "uint32_t trial(bool off, uint32_t release, uint32_t most);"
PERIOD = 100_000  # time between two attempts of the driver, us
ENDS = 129 * 11 + 11  # time until bus-off ends, us


def driver(kind: str, hz: int):
    """Load the chip's sources with variables as registers. A compiler barrier replaces the memory barrier."""
    wanted, files = files_of(described(kind))
    wanted["ft_model.h"] = re.sub(r"(#define FT_TICK_HZ) \d+", rf"\1 {hz}", wanted["ft_model.h"])
    text = (Path(__file__).parent / "bus_recovery.c").read_text()
    for name in ("ft_buses", "ft_can"):
        wanted[f"{name}_c.h"] = files[f"{name}.c"].replace('"dmb"', '""')
        text = text.replace(f"{name}.c", f"{name}_c.h")
    return load(wanted | {"bus_recovery.c": text}, CDEF)[1]


@pytest.mark.parametrize("hz", [250, 500, 720, 1000, 2000, 5000])
@pytest.mark.parametrize("kind", ["damiao", "fd"])
def test_that_a_controller_is_back_whenever_the_bus_is_let_go(kind, hz):
    """The time of the release varies over a whole period between two attempts, in steps of 10 us. The controller is in
    bus-off, or has not started. According to the manuals a controller needs at most 129 sequences of 11 bits. The
    number doubles if an attempt begins during this time."""
    lib = driver(kind, hz)
    tick = 1_000_000 // hz
    most = 4 * tick + 2 * ENDS
    waited = [[lib.trial(off, PERIOD + at, 20 * PERIOD) for at in range(1, PERIOD + 4 * tick, 10)]
              for off in (True, False)]
    for times in waited:
        assert min(times) > 0 and max(times) <= most, (times.count(0), max(times))
