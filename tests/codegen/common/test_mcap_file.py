"""Tests of complete, damaged, truncated and oversized MCAP files."""

import struct
import tracemalloc
import zlib

import pytest
import zstandard
from mcap.records import Message
from mcap.writer import CompressionType, Writer

from femtorque.codegen.common import mcap_file
from femtorque.codegen.common.errors import BadInput
from femtorque.codegen.common.mcap_file import MAGIC, Damaged, records


def written(path, compression=CompressionType.ZSTD, **keys):
    with path.open("wb") as file:
        writer = Writer(file, chunk_size=1000, compression=compression, **keys)
        writer.start()
        writer.add_metadata("about", {"a": "b"})
        channel = writer.register_channel("/x", "cdr", writer.register_schema("s", "ros2msg", b"int32 x"))
        for n in range(100):
            writer.add_message(channel, n, struct.pack("<I", n) * 8, n)
        writer.add_attachment(0, 0, "arm", "text/plain", b"an attachment")
        writer.finish()
    return path


def numbers(path):
    """Return the times of the messages before any damage, and the description of the damage."""
    come = []
    try:
        for record, held in records(path):
            if isinstance(record, Message) and held:
                come.append(record.log_time)
    except Damaged as damage:
        return come, str(damage)
    return come, ""


@pytest.mark.parametrize("compression", CompressionType)
def test_a_whole_file_gives_every_message(tmp_path, compression):
    assert numbers(written(tmp_path / "x.mcap", compression)) == (list(range(100)), "")


@pytest.mark.parametrize("compression", CompressionType)
def test_no_bit_of_the_data_can_be_another_unseen(tmp_path, compression):
    """Flip every bit of every eighth byte up to DataEnd, and every bit of the first two hundred bytes."""
    path = written(tmp_path / "x.mcap", compression, enable_data_crcs=True)
    data, other = path.read_bytes(), tmp_path / "other.mcap"
    end = data.index(b"\x0f" + struct.pack("<Q", 4))
    for at in {*range(200), *range(200, end, 8)}:
        for bit in range(8):
            other.write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:])
            try:
                come, damage = numbers(other)
            except BadInput:
                assert at < len(MAGIC)
                continue
            assert damage.startswith("is damaged at byte") and come == list(range(len(come))), (at, bit)


def test_a_file_that_ends_anywhere_gives_what_is_whole(tmp_path):
    path = written(tmp_path / "x.mcap")
    data, other = path.read_bytes(), tmp_path / "other.mcap"
    end, last = data.index(b"\x0f" + struct.pack("<Q", 4)), 0
    for size in range(len(MAGIC), end, 7):
        other.write_bytes(data[:size])
        come, damage = numbers(other)
        assert damage and come == list(range(len(come))) and len(come) >= last
        last = len(come)
    assert last == 100


def record(kind, content):
    return struct.pack("<BQ", kind, len(content)) + content


def chunk(data, compression, size, crc=None):
    name = compression.encode()
    return record(6, struct.pack("<QQQII", 0, 0, size, zlib.crc32(data) if crc is None else crc, len(name)) + name
                  + struct.pack("<Q", len(data)) + data)


@pytest.mark.parametrize("told", [2**40, 2**27, 100])
def test_what_would_unpack_to_more_than_it_may_is_not_unpacked(tmp_path, told):
    """A gigabyte of zeros is compressed to 30 kB. The file may declare any size."""
    bomb = zstandard.ZstdCompressor().compress(bytes(2**30))
    path = tmp_path / "bomb.mcap"
    path.write_bytes(MAGIC + chunk(bomb, "zstd", told))
    tracemalloc.start()
    try:
        assert "chunk" in numbers(path)[1]
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = written(tmp_path / "x.mcap")
    monkeypatch.setattr(mcap_file, "LARGEST_FILE", 1000)
    with pytest.raises(BadInput, match="is too large: more than 1000 bytes"):
        numbers(path)
    monkeypatch.undo()
    monkeypatch.setattr(mcap_file, "LARGEST", 3000)
    with pytest.raises(BadInput, match="unpacks to more than 3000 bytes"):
        numbers(path)


@pytest.mark.parametrize("content", [chunk(b"", "brotli", 0), record(5, b""), record(99, b""), record(4, b"x"),
                                     b"\x06" + struct.pack("<Q", 2**63), b"\x06\0"])
def test_records_that_cannot_be_are_damage(tmp_path, content):
    path = tmp_path / "x.mcap"
    path.write_bytes(MAGIC + content)
    assert numbers(path)[1].startswith("is damaged at byte 8: ")
