"""The image's memcpy, memmove, memset and memcmp against Python's, at every alignment."""

import ctypes
import subprocess

import pytest
from hypothesis import given, settings, strategies as st

from femtorque.codegen.common import FIRMWARE

SOURCE = FIRMWARE / "chip" / "stm32" / "ft_memory.c"
SIZE = 96

place = st.integers(0, SIZE // 2)
count = st.integers(0, SIZE // 2)
content = st.binary(min_size=SIZE, max_size=SIZE)


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    target = tmp_path_factory.mktemp("memory") / "memory.so"
    renamed = [f"-D{name}=own_{name}" for name in ("memcpy", "memmove", "memset", "memcmp")]
    subprocess.run(["gcc", "-std=c99", "-O2", "-shared", "-fPIC", *renamed, SOURCE, "-o", target], check=True)
    loaded = ctypes.CDLL(str(target))
    for name in ("own_memcpy", "own_memmove", "own_memset"):
        getattr(loaded, name).restype = ctypes.c_void_p
    return loaded


class Buffer:
    """Memory at a known address that is a multiple of 8."""

    def __init__(self, data: bytes) -> None:
        self._room = ctypes.create_string_buffer(SIZE + 8)
        self.address = (ctypes.addressof(self._room) + 7) // 8 * 8
        ctypes.memmove(self.address, data, SIZE)

    def at(self, offset: int) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.address + offset)

    @property
    def data(self) -> bytes:
        return ctypes.string_at(self.address, SIZE)


@settings(max_examples=300, deadline=None)
@given(content, content, place, place, count)
def test_memcpy(library, old, new, to, start, size):
    target, source = Buffer(old), Buffer(new)
    assert library.own_memcpy(target.at(to), source.at(start), ctypes.c_size_t(size)) == target.at(to).value
    assert target.data == old[:to] + new[start : start + size] + old[to + size :]
    assert source.data == new


@settings(max_examples=300, deadline=None)
@given(content, place, place, count)
def test_memmove_within_one_buffer(library, old, to, start, size):
    buffer = Buffer(old)
    assert library.own_memmove(buffer.at(to), buffer.at(start), ctypes.c_size_t(size)) == buffer.at(to).value
    assert buffer.data == old[:to] + old[start : start + size] + old[to + size :]


@settings(max_examples=300, deadline=None)
@given(content, place, count, st.integers(-1, 511))
def test_memset(library, old, to, size, value):
    buffer = Buffer(old)
    assert library.own_memset(buffer.at(to), value, ctypes.c_size_t(size)) == buffer.at(to).value
    assert buffer.data == old[:to] + bytes([value % 256]) * size + old[to + size :]


@settings(max_examples=300, deadline=None)
@given(content, st.integers(0, SIZE - 1), st.integers(0, 255), count)
def test_memcmp(library, data, where, byte, size):
    other = data[:where] + bytes([byte]) + data[where + 1 :]
    left, right = Buffer(data), Buffer(other)
    order = library.own_memcmp(left.at(0), right.at(0), ctypes.c_size_t(size))
    a, b = data[:size], other[:size]
    assert (order > 0) - (order < 0) == (a > b) - (a < b)
