"""Length codes of the G4's CAN controllers, against python-can's table."""

from pathlib import Path

import pytest
from can.util import dlc2len, len2dlc

from tests.firmware.app import load
from tests.firmware.driver_alone import files_of
from tests.support.bus_arm import described

CDEF = """uint32_t sent(uint32_t size, const uint8_t *data, uint8_t *bytes);
uint32_t came(uint32_t control, const uint8_t *bytes, uint8_t *data);"""
FD, BRS = 1 << 21, 1 << 20
LENGTHS = (*range(9), 12, 16, 20, 24, 32, 48, 64)
BYTES = bytes(range(1, 65))


@pytest.fixture(scope="module", params=[8, 12, 24, 64])
def driver(request):
    """Return the CAN FD driver, compiled for frames of at most 8, 12, 24 or 64 bytes, and this maximum."""
    wanted, files = files_of(described("fd"))
    wanted |= {"ft_frame_bytes.h": f"#define FT_FRAME_BYTES {request.param}u\n", "ft_can_c.h": files["ft_can.c"],
               "frame_lengths.c": (Path(__file__).parent / "frame_lengths.c").read_text()}
    return *load(wanted, CDEF), request.param


def test_a_frame_goes_out_with_the_code_of_its_length_and_all_its_bytes(driver):
    ffi, lib, most = driver
    for size in (n for n in LENGTHS if n <= most):
        out = ffi.new("uint8_t[64]")
        assert lib.sent(size, BYTES[:most], out) == len2dlc(size) << 16 | FD | BRS
        assert bytes(out)[:size] == BYTES[:size]


def test_a_frame_of_a_length_that_has_no_code_goes_out_as_the_next_longer_one(driver):
    ffi, lib, most = driver
    for size in (n for n in range(9, most + 1) if n not in LENGTHS):
        assert lib.sent(size, BYTES[:most], ffi.new("uint8_t[64]")) >> 16 & 15 == len2dlc(size)


def test_a_frame_that_comes_has_the_length_of_its_code_and_as_many_bytes_as_there_is_room_for(driver):
    ffi, lib, most = driver
    for code in range(16):
        data = ffi.new("uint8_t[64]")
        size = lib.came(code << 16 | FD | BRS, BYTES, data)
        assert bytes(data) == BYTES[:most].ljust(64, b"\0")
        assert size == dlc2len(code) or most == 8 < dlc2len(code) and size > most  # else not from a drive


def test_a_classic_frame_has_8_bytes_at_most_whatever_its_code(driver):
    """ISO 11898-1: codes 9 to 15 mean 8 bytes. An image with short frames only ignores such codes."""
    ffi, lib, most = driver
    for code in range(16):
        size = lib.came(code << 16, BYTES, ffi.new("uint8_t[64]"))
        assert size == min(code, 8) or most == 8 < size
