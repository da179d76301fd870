"""Reader of the records of an MCAP log, with checked check sums and bounded memory.

Source: https://mcap.dev/spec. A record has a type (opcode), a length and a content. A chunk contains the CRC-32 of its
unpacked content. An attachment has a separate CRC-32. DataEnd contains the CRC-32 of all bytes before it. If a CRC is
0, there is no check sum. Records after DataEnd only repeat and index data, so the reader stops there."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from femtorque.codegen.common.errors import BadInput
from femtorque.codegen.common.files import check_size

MAGIC = b"\x89MCAP0\r\n"
HEAD = struct.Struct("<BQ")  # a record's type (opcode) and length
LARGEST_FILE = 2**30  # bytes
LARGEST_RECORD, LARGEST = 2**28, 2**31  # bytes of one record, and of all unpacked chunks


class Damaged(Exception):
    """An error: a damaged log. byte: position of the damage. why: short reason."""

    def __init__(self, byte: int, why: str) -> None:
        super().__init__(f"is damaged at byte {byte}: {why}")
        self.byte, self.why = byte, why


def records(path: Path) -> Iterator[tuple[Any, bool]]:
    """Yield every record up to DataEnd as an object of the package mcap, and True if a check sum protects the record.
    The reader unpacks chunks and yields the records in them. Raise Damaged for an impossible record, and if the log
    ends before DataEnd. Raise BadInput if the file is no MCAP file or too large."""
    from mcap.records import Attachment, Chunk, DataEnd, Message  # noqa: PLC0415 (0.1 s, and few need it)
    from mcap.stream_reader import breakup_chunk  # noqa: PLC0415

    size = check_size(path, LARGEST_FILE)
    try:
        file = path.open("rb")
    except OSError as error:
        raise BadInput(path, "file", None, f"cannot be read ({error.strerror})") from None
    with file:
        if file.read(len(MAGIC)) != MAGIC:
            raise BadInput(path, "file", None, "is not an MCAP file")
        at, sum_of_all, unpacked = len(MAGIC), zlib.crc32(MAGIC), 0
        while True:
            head = file.read(HEAD.size)
            if not head:
                raise Damaged(at, "it ends there, and was never closed")
            kind, length = HEAD.unpack(head.ljust(HEAD.size, b"\xff"))
            if length > size - at - HEAD.size:
                raise Damaged(at, "a record that goes beyond the end of the file")
            if length > LARGEST_RECORD:
                raise Damaged(at, f"a record of {length} bytes")
            content = file.read(length)
            inside: list[Any] = []
            try:
                record = _record(kind, content)
                if isinstance(record, Message) and unpacked:
                    raise ValueError("a message outside of the chunks")  # the index is damaged
                if isinstance(record, Chunk):
                    record = _plain(record)
                    inside = breakup_chunk(record, validate_crc=True)
            except Exception as error:  # damaged bytes raise various errors in mcap, lz4 and zstandard
                raise Damaged(at, str(error) or type(error).__name__) from None
            if isinstance(record, DataEnd):
                if record.data_section_crc not in (0, sum_of_all):
                    raise Damaged(at, "the check sum of all before it does not hold")
                return
            if isinstance(record, Chunk):
                unpacked += len(record.data)
                if unpacked > LARGEST:
                    raise BadInput(path, "file", None, f"unpacks to more than {LARGEST} bytes")
                yield from ((one, record.uncompressed_crc != 0) for one in inside)
            else:
                held = isinstance(record, Attachment) and content[-4:] in (bytes(4), zlib.crc32(content[:-4]).to_bytes(
                    4, "little"))
                yield record, held
            at, sum_of_all = at + HEAD.size + length, zlib.crc32(content, zlib.crc32(head, sum_of_all))


def _record(kind: int, content: bytes) -> Any:
    """Return the record that a content encodes, for records up to DataEnd. Raise ValueError, or errors of mcap."""
    from mcap.data_stream import ReadDataStream  # noqa: PLC0415
    from mcap.opcode import Opcode  # noqa: PLC0415
    from mcap.records import (  # noqa: PLC0415
        Attachment, Channel, Chunk, DataEnd, Header, Message, MessageIndex, Metadata, Schema)

    kinds: dict[int, Any] = {
        Opcode.HEADER: Header, Opcode.SCHEMA: Schema, Opcode.CHANNEL: Channel, Opcode.CHUNK: Chunk,
        Opcode.MESSAGE_INDEX: MessageIndex, Opcode.ATTACHMENT: Attachment, Opcode.METADATA: Metadata,
        Opcode.DATA_END: DataEnd}
    stream = ReadDataStream(BytesIO(content))
    if kind == Opcode.MESSAGE:
        return Message.read(stream, len(content))
    if kind not in kinds:
        raise ValueError(f"a record of the unknown kind {kind}")
    record = kinds[kind].read(stream)
    if stream.count != len(content):
        raise ValueError(f"{type(record).__name__} is longer than what it holds")
    return record


def _plain(chunk: Any) -> Any:
    """Return the unpacked content of a chunk. Raise ValueError, or errors of lz4 and zstandard."""
    size, data = chunk.uncompressed_size, chunk.data
    if size > LARGEST_RECORD:
        raise ValueError(f"a chunk that would unpack to {size} bytes")
    if chunk.compression == "zstd":
        import zstandard  # noqa: PLC0415

        data = zstandard.ZstdDecompressor().stream_reader(data).read(size + 1)
    elif chunk.compression == "lz4":
        import lz4.frame  # noqa: PLC0415

        data = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)
    elif chunk.compression:
        raise ValueError(f"a chunk compressed by {chunk.compression!r}")
    if len(data) != size:
        raise ValueError(f"a chunk of {size} bytes unpacks to others")
    return replace(chunk, compression="", data=data)
