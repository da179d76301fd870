"""Writes the CRC-32 of the image into the image's last word after linking. memory.ld reserves this word."""

import struct
import zlib
from pathlib import Path

Import("env")  # noqa: F821 (SCons)

LOAD, UNSTAMPED = 1, b"\xff\xff\xff\xff"


def parts(elf):
    """Return (address in flash, offset in the file, size) of an ELF file's loaded parts (32 bits, little-endian)."""
    (at,) = struct.unpack_from("<I", elf, 28)
    size, count = struct.unpack_from("<HH", elf, 42)
    heads = [struct.unpack_from("<IIIII", elf, at + i * size) for i in range(count)]
    return sorted((physical, place, length) for kind, place, _, physical, length in heads if kind == LOAD and length)


def stamp(target, source, env):
    """Write the check word of the linked ELF file. Gaps are 0, as objcopy fills them."""
    path = Path(str(target[0]))
    elf = bytearray(path.read_bytes())
    image, start = bytearray(), None
    for address, place, length in parts(elf):
        start = address if start is None else start
        image += bytes(address - start - len(image)) + elf[place:place + length]
        last = place + length - 4
    if elf[last:last + 4] != UNSTAMPED:
        raise RuntimeError(f"{path}: its last word is not the one that memory.ld keeps for a check sum")
    elf[last:last + 4] = struct.pack("<I", zlib.crc32(image[:-4]))
    path.write_bytes(elf)


env.AddPostAction("$BUILD_DIR/${PROGNAME}.elf", stamp)  # noqa: F821
