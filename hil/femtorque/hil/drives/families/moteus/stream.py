"""Diagnostic stream of a moteus (docs/protocol/diagnostic.md of mjbots/moteus): lines of text, and records that follow
a description in mjlib's format (telemetry/format.h): a type, then the fields of an object, each with flags, name,
aliases and type. A field whose type is missing is the last field."""

import struct

BOOLEAN, UNSIGNED, OBJECT, FIXED_ARRAY = 2, 4, 16, 19
_WIDTHS = {"B": 1, "I": 4, "Q": 8}

Field = tuple[str, str, tuple[int, ...]]  # name, format of `struct`, values; several values are an array


def described(fields: tuple[Field, ...]) -> bytes:
    """Return the description of a record."""
    out = bytes([OBJECT, 0])
    for name, form, values in fields:
        out += bytes([0, len(name)]) + name.encode() + bytes([0])
        out += bytes([FIXED_ARRAY, len(values)]) if len(values) > 1 else b""
        out += (bytes([BOOLEAN]) if form == "?" else bytes([UNSIGNED, _WIDTHS[form]])) + bytes([0])
    return out + bytes(5)


def packed(fields: tuple[Field, ...]) -> bytes:
    return b"".join(struct.pack(f"<{len(values)}{form}", *values) for _, form, values in fields)


class Stream:
    """The diagnostic stream of one drive. records: by name. settings: configured numbers by name."""

    def __init__(self, records: dict[str, tuple[Field, ...]], settings: dict[str, float]) -> None:
        self.records, self.settings = records, settings
        self._coming, self._going = b"", b""

    def take(self, data: bytes) -> None:
        *lines, self._coming = (self._coming + data).split(b"\n")
        for line in lines:
            self._going += self._answer(line.decode("latin1").split())

    def give(self, most: int) -> bytes:
        """Return at most `most` bytes that have not been read yet."""
        out, self._going = self._going[:most], self._going[most:]
        return out

    def _answer(self, words: list[str]) -> bytes:
        what, rest = " ".join(words[:2]), words[2:]
        if what in ("tel stop", "tel fmt", "conf write", "d stop"):
            return b"OK\r\n"
        if what in ("tel schema", "tel get") and rest and rest[0] in self.records:
            fields, said = self.records[rest[0]], "schema" if what == "tel schema" else "emit"
            blob = described(fields) if what == "tel schema" else packed(fields)
            return f"{said} {rest[0]}\r\n".encode() + struct.pack("<I", len(blob)) + blob
        if what == "conf enumerate":
            group = f"{rest[0]}." if rest else ""
            found = [f"{name} {value:g}\r\n" for name, value in self.settings.items() if name.startswith(group)]
            return ("".join(found) + "OK\r\n" if found else "ERR unknown group\r\n").encode()
        if what == "conf get" and rest and rest[0] in self.settings:
            return f"{self.settings[rest[0]]:g}\r\n".encode()
        if what == "conf set" and len(rest) == 2 and rest[0] in self.settings:
            self.settings[rest[0]] = float(rest[1])
            return b"OK\r\n"
        return b"ERR unknown command\r\n"
