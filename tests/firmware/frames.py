"""Frames of drive families in C, compiled alone: frames in memory that holds old bytes, and wires of servos."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cffi

from femtorque.codegen.drive import application
from femtorque.codegen.drive.can import Frame
from tests.firmware import app

NOTHING, STATE, SETTING, ECHO, BEAT = range(5)
RUN, SWITCH, SET, AIM = 1, 2, 4, 16  # of a frame to a servo; AIM: of an STS servo
LONG, REMOTE = 1 << 31, 1 << 30
HZ, SERVOS = 500, 6
ROW = ("typedef struct { uint32_t id, reply; float step, position, velocity, torque, kp, kd, share, scale, gear; } "
       "ft_drive_config;\n")
CONFIG = (f"#pragma once\n#include <stdint.h>\n{ROW}#define FT_WIRES 1\n#define FT_WIRE_MOST {SERVOS}u\n"
          "#define FT_SILENT_TICKS 5u\n#define FT_WATCHDOG_MS 20u\n#define FT_SERVO_LOOP 0\n")
CDEF = ROW + """
typedef struct { uint32_t id, size; uint8_t data[%d]; } ft_frame;
typedef struct { float position, velocity, kp, kd, torque, share, least, most, seen; } ft_drive_target;
typedef struct { uint32_t position; float velocity, torque; _Bool enabled, rests; uint8_t error, warmth, volts;
    uint32_t setting, value; } ft_drive_said;
"""
CALLS = """
void ft_{0}_enable(ft_frame *, const ft_drive_config *);
void ft_{0}_disable(ft_frame *, const ft_drive_config *, _Bool);
void ft_{0}_command(ft_frame *, const ft_drive_config *, const ft_drive_target *, float *);
void ft_{0}_poll(ft_frame *, const ft_drive_config *);
void ft_{0}_ask(ft_frame *, const ft_drive_config *, uint32_t, uint32_t);
void ft_{0}_write(ft_frame *, const ft_drive_config *, uint32_t, uint32_t, uint32_t);
void ft_{0}_wake(ft_frame *, const ft_drive_config *, uint32_t);
void ft_{0}_release(ft_frame *, const ft_drive_config *, uint32_t);
void ft_{0}_look(ft_frame *, uint32_t, _Bool);
int ft_{0}_hear(const ft_frame *, const ft_drive_config *, ft_drive_said *);
"""
WIRE_CALLS = """
void ft_{0}_pack(ft_{0} *, const ft_frame *, uint32_t);
void ft_{0}_came(ft_{0} *, uint32_t);
_Bool ft_{0}_next(ft_{0} *, ft_frame *);
"""
GOAL = "typedef struct { float scale, limit; uint16_t at, goal[2]; uint8_t strained; } ft_goal;\n"
STS_OUT, STS_IN = 32 + 7 * SERVOS, 32 + 7 * SERVOS + 16 * SERVOS + 16
STS = f"""
typedef struct {{
    uint8_t out[{STS_OUT}], in[{STS_IN}];
    uint32_t size;
    ft_frame answer[{SERVOS}];
    uint32_t answers, read;
    uint8_t number, width;
    uint32_t servos;
    uint8_t servo[{SERVOS}];
    _Bool on[{SERVOS}];
    uint16_t echoes, damaged;
}} ft_sts;
""" + WIRE_CALLS.format("sts")


class Port:
    """A port of a maker's client that keeps the sent bytes."""

    is_using = False

    def __init__(self) -> None:
        self.sent = b""

    def clearPort(self) -> None: ...

    def setPacketTimeout(self, size: int) -> None: ...

    def setPacketTimeoutMillis(self, time: float) -> None: ...

    def writePort(self, packet: bytes | list[int]) -> int:
        self.sent += bytes(packet)
        return len(packet)


def compiled(*modules: str, size: int = 8, cdef: str = "", loop: int = 0) -> tuple[cffi.FFI, Any]:
    """Compile modules of drive families, ft_<module>.c. size: bytes of the longest frame. cdef: declarations. loop: 1
    for servos that close their position loops."""
    own, names = application(), [f"ft_{module}.{end}" for module in ("goal", *modules) for end in "ch"]
    files = {name: own[name].read_text() for name in ("ft_frame.h", "ft_field.h", "ft_drive.h", *names)}
    files |= {"ft_config.h": CONFIG.replace("FT_SERVO_LOOP 0", f"FT_SERVO_LOOP {loop}"),
              "ft_model.h": f"#define FT_TICK_HZ {HZ}\n", "ft_frame_bytes.h": f"#define FT_FRAME_BYTES {size}u\n"}
    return app.load(files, CDEF % size + cdef + "".join(map(CALLS.format, modules)))


class Frames:
    """The next frame to a drive, and the last report of the drive."""

    def __init__(self, ffi: cffi.FFI, lib: Any) -> None:
        self.ffi, self.lib = ffi, lib
        self.frame, self.said = ffi.new("ft_frame *"), ffi.new("ft_drive_said *")
        self.spoil(self.frame)

    def spoil(self, what: Any) -> None:
        """Fill memory with old bytes."""
        self.ffi.buffer(what)[:] = b"\xa5" * len(self.ffi.buffer(what))

    def told(self, does: str, *what: Any) -> Frame:
        """Call ft_<does> and return its frame."""
        getattr(self.lib, f"ft_{does}")(self.frame, *what)
        return self.sent()

    def sent(self) -> Frame:
        f = self.frame
        assert f.size <= len(f.data), "a frame has a size"
        frame = Frame(f.id & ~(LONG | REMOTE), bytes(f.data)[:f.size], extended=bool(f.id & LONG),
                      remote=bool(f.id & REMOTE), fd=len(f.data) > 8)
        self.spoil(f)
        return frame

    def commanded(self, family: str, row: Any, target: dict[str, float], carried: float) -> tuple[Frame, float]:
        """Return the frame of a command, and the rounding error."""
        left = self.ffi.new("float *", carried)
        return self.told(f"{family}_command", row, self.ffi.new("ft_drive_target *", target), left), left[0]

    def heard(self, family: str, row: Any, id: int, data: bytes, size: int | None = None) -> tuple[int, Any]:
        """Return the kind of a received frame, and the report in it."""
        self.spoil(self.said)
        frame = self.ffi.new("ft_frame *", (id, len(data) if size is None else size, data[:len(self.frame.data)]))
        return getattr(self.lib, f"ft_{family}_hear")(frame, row, self.said), self.said


class ServoFrames(Frames):
    """The next frame to servo 5."""

    family = ""
    size = 4  # bytes of a frame

    def __init__(self, c: tuple[cffi.FFI, Any], **row: float) -> None:
        super().__init__(*c)
        self.row, self.left = self.ffi.new("ft_drive_config *", {"id": 5} | row), self.ffi.new("float *")

    def of(self, does: str, *what: Any) -> tuple[int, int, int, bytes]:
        """Return meaning, register, size and bytes of a frame."""
        self.spoil(self.frame)
        getattr(self.lib, f"ft_{self.family}_{does}")(self.frame, self.row, *what)
        return self.meant()

    def meant(self) -> tuple[int, int, int, bytes]:
        f = self.frame
        assert f.id & 0xFF == 5 and f.size == self.size and not any(f.data[self.size:8])
        return f.id >> 8 & 0xFF, f.id >> 16 & 0xFF, f.id >> 24, bytes(f.data)[:4]

    def output(self, **target: float) -> bytes:
        """Return the two bytes of a command's goal."""
        meant, number, size, data = self.of("command", self.ffi.new("ft_drive_target *", target), self.left)
        assert (meant, number, size, data[2:]) == (RUN, 0, 0, bytes(2))
        return data[:2]

    def hear(self, data: bytes, number: int, size: int, beside: int = 0, id: int = 5) -> int:
        return self.heard(self.family, self.row, id | beside << 8 | number << 16 | size << 24, data, size)[0]


@dataclass(frozen=True)
class Meant:
    """The message to a servo: meaning bits, a register, its size, the goal or setting, and the goal's register."""

    meant: int = 0
    number: int = 0
    size: int = 0
    data: bytes = b""
    goal: int = 102


class Wire:
    """A wire of servos whose numbers begin at 1."""

    kind = ""
    size, OUT = 4, 0  # bytes of a frame, and of the packets of a tick

    def __init__(self, c: tuple[cffi.FFI, Any]) -> None:
        self.ffi, self.lib = c
        self.state, self.frame = self.ffi.new(f"ft_{self.kind} *"), self.ffi.new("ft_frame *")

    def pack_each(self, each: Sequence[Meant]) -> bytes:
        """Return the packets of a tick with one message for each servo."""
        frames = self.ffi.new("ft_frame[]", len(each))
        for k, m in enumerate(each):
            frames[k].id, frames[k].size = k + 1 | m.meant << 8 | m.number << 16 | m.size << 24, self.size
            frames[k].data = (m.data.ljust(4, b"\0") + bytes([m.goal, 0, 0, 0]))[:8]
        getattr(self.lib, f"ft_{self.kind}_pack")(self.state, frames, len(each))
        return bytes(self.state.out)[:self.state.size]

    def came(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return number and bytes of every answer."""
        return [(id & 0xFF, parameters) for id, parameters in self.told(data)]

    def told(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return every answer with all bits that are reported with the number."""
        self.ffi.buffer(self.state)[self.OUT:self.OUT + len(data)] = data
        getattr(self.lib, f"ft_{self.kind}_came")(self.state, len(data))
        found = []
        while getattr(self.lib, f"ft_{self.kind}_next")(self.state, self.frame):
            found.append((self.frame.id, bytes(self.frame.data)[:self.frame.size]))
        return found
