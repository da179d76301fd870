"""The whole control application on this computer, over a chip made of variables (fake_chip.c)."""

import dataclasses
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.board import reader as boards
from femtorque.codegen.common import kept, key_of, program
from femtorque.codegen.drive import WIRES, application
from femtorque.codegen.emit import sources as emit
from femtorque.codegen.mechanism import Mechanism, Safety, canonical, load_mechanism
from femtorque.codegen.motion import Knots
from femtorque.codegen.toolchain import host_compiler
from femtorque.codegen.toolchain.platformio import unused
from femtorque.codegen.wire import (
    About, Codec, Command, FrameReader, Home, Ident, Knot, Poll, Status, messages, to_wire)

HERE = Path(__file__).resolve().parent
THREE_LINK = HERE.parent.parent / "mechanisms" / "three_link.toml"


Patch = Mapping[str, Callable[[str], str]]  # file name -> function that changes the file's text before compilation

CDEF = """
typedef struct {{
    uint32_t errors, reset_cause, remembered;
    uint32_t estop, dropped, outputs, deaf;
    uint32_t safe, fed, cycles;
    uint32_t driver_fault, index;
    uint32_t not_ready, looked, rounds, driver_status, brake, servo_supply;
    uint32_t current_fault, current_joint, current_off;
    float bus_voltage, temperature;
    float duty[{J}];
    int32_t counts[{J}];
    struct {{
        uint8_t unique[12];
        uint32_t options, resets, exception, pc, lr, psr, cfsr, hfsr, address;
    }} history;
    uint32_t no_loader, left, supply_low, stack_left, shown;
    uint8_t code[5000];
}} fake_chip_t;
fake_chip_t *fake_chip(void);
uint32_t fake_feed(const uint8_t *bytes, uint32_t size);
uint32_t fake_take(uint8_t *bytes);
void fake_run(uint32_t ticks, uint32_t following, void *record);
void fake_state(uint32_t state);
void fake_event(uint32_t event);
uint32_t fake_state_now(void);
void fake_tick_number(uint32_t tick);
void fake_poison(uint32_t joint, float value);
void fake_shift(uint32_t joint, int32_t wire);
void ft_app_start(uint32_t errors);
void ft_app_tick(void);
void ft_app_idle(void);
void ft_app_missed(void);
"""


def three_link() -> Mechanism:
    """Return the three-link arm in a vertical plane, with weight. Without a host the arm coasts."""
    return dataclasses.replace(load_mechanism(THREE_LINK), gravity=np.array([0.0, -9.81, 0.0]),
                               safety=Safety(host="coast"))


def changed(**what: Any) -> Mechanism:
    """Return the three-link arm with the same change made to every joint."""
    mechanism = three_link()
    joints = []
    for joint in mechanism.joints:
        parts = {}
        for name, values in what.items():
            part = getattr(joint, name)
            parts[name] = dataclasses.replace(part, **values) if isinstance(values, dict) else values
        joints.append(dataclasses.replace(joint, **parts))
    return dataclasses.replace(mechanism, joints=tuple(joints))


BUS_CDEF = """
typedef struct { uint32_t id, size; uint8_t data[8]; } ft_frame;
uint32_t fake_bus_sent(uint32_t bus, ft_frame *frames);
void fake_bus_bring(uint32_t bus, const ft_frame *frame);
void fake_bus_off(uint32_t bus, uint32_t off);
"""

WIRE_CDEF = """
uint32_t fake_wire_sent(uint32_t wire, uint8_t *bytes);
void fake_wire_bring(uint32_t wire, const uint8_t *bytes, uint32_t size, uint32_t alone);
"""

_emitted: dict[tuple[str, bool], dict[str, str]] = {}


def sources(mechanism: Mechanism, patches: Patch | None = None, feedforward: bool = True) -> dict[str, str]:
    """Return {name: text} of an application and the fake chip. Raise ValueError if a patch has no effect."""
    key = (canonical(mechanism), feedforward)
    if key not in _emitted:
        board = boards.load_board(mechanism.board.use) if mechanism.board else None
        _emitted[key] = emit.sources(mechanism, board, feedforward)
    files = {name: text for name, text in _emitted[key].items() if name != "ft_board.h"}
    left_out = {Path(name).name for name in unused(mechanism)}
    own = (path for name, path in application().items() if name not in left_out)
    for path in [*own, HERE / "fake_chip.c", HERE / "fake_chip.h"]:
        files[path.name] = path.read_text()
    for name, patch in (patches or {}).items():
        files[name] = patched(files[name], name, patch)
    return files


def patched(text: str, name: str, patch: Callable[[str], str]) -> str:
    """Return a patched text. Raise ValueError if the patch changes nothing: a test may expect AssertionError."""
    new = patch(text)
    if new == text:
        raise ValueError(f"the patch of {name} does not apply")
    return new


def replace(old: str, new: str) -> Callable[[str], str]:
    """Return a patch that replaces a text everywhere."""
    return lambda text: text.replace(old, new)


class App:
    """One board with its own memory. Time passes only in `run`. own: C files of a test. cdef: their functions."""

    def __init__(self, mechanism: Mechanism | None = None, patches: Patch | None = None, feedforward: bool = True,
                 errors: int = 0, reset_cause: int = 0, remembered: int = 0, flipped: int | None = None,
                 own: Iterable[Path] = (), cdef: str = "") -> None:
        self.mechanism = mechanism or three_link()
        self.joints = self.mechanism.streamed
        self.J = len(self.joints)
        files = sources(self.mechanism, patches, feedforward) | {path.name: path.read_text() for path in own}
        wires = any(bus.kind in WIRES for bus in self.mechanism.buses)
        self.ffi, self.lib = load(files, CDEF.format(J=self.J) + BUS_CDEF * bool(self.mechanism.buses)
                                  + WIRE_CDEF * wires + cdef)
        text = files["ft_digest.h"]
        self.tag = int(text.split("#define FT_TAG 0x")[1][:4], 16)
        self.codec = Codec(self.J)
        self.reader = FrameReader(self.codec)
        self.chip = self.lib.fake_chip()
        self.chip.bus_voltage = self.mechanism.board.bus_voltage if self.mechanism.board else 1.0
        self.chip.temperature = 25.0
        self.chip.errors, self.chip.reset_cause, self.chip.remembered = errors, reset_cause, remembered
        if flipped is not None:  # a byte of the image
            self.chip.code[flipped] ^= 1
        self.token = 0
        self.trace: list[NDArray[Any]] = []  # telemetry of every tick so far
        self.limits = 0  # bits of LIMITS seen so far
        self.status: Any = None
        self.ident: Any = None
        self.about: Any = None
        self.record_type = np.dtype([
            (name, kind, (self.J,)) for name, kind in (
                ("torque_ff", "f4"), ("torque", "f4"), ("duty", "f4"), ("rate", "f4"), ("target_rate", "f4"),
                ("position", "i4"), ("target", "i4"))
        ] + [("tick", "u4")])
        self.lib.ft_app_start(errors)

    # -- bytes

    def feed(self, data: bytes) -> None:
        assert self.lib.fake_feed(data, len(data)) == len(data)

    def send(self, message: Any, seq: int = 0, tag: int | None = None) -> None:
        self.feed(self.codec.encode(message, self.tag if tag is None else tag, seq))

    def take(self) -> list[Any]:
        """Return the messages that the board has sent. Keep the last STATUS and IDENT."""
        buffer = bytearray(65536)
        n = self.lib.fake_take(self.ffi.from_buffer(buffer))
        frames = list(self.reader.feed(bytes(buffer[:n])))
        for frame in frames:
            assert frame.tag == self.tag
            if isinstance(frame.message, Status):
                self.status = frame.message
                self.limits |= frame.message.limits
            elif isinstance(frame.message, Ident):
                self.ident = frame.message
            elif isinstance(frame.message, About):
                self.about = frame.message
        return [frame.message for frame in frames]

    # -- time

    def run(self, ticks: int, *, alive: bool = True, follow: bool = True) -> NDArray[Any]:
        """Let ticks pass. Return their telemetry. alive: the host keeps sending. follow: joints reach targets at
        once."""
        record = np.zeros(ticks, self.record_type)
        for start in range(0, ticks, 20):
            n = min(20, ticks - start)
            if alive:
                self.send(Poll())
            self.lib.fake_run(n, follow, self.ffi.from_buffer(record[start:start + n]))
            self.take()
        given, law = np.array(list(self.chip.duty)), record["duty"][-1] if self.chip.outputs else np.zeros(self.J)
        braked = not given.any() and self.lib.fake_state_now() == messages.STATES["FAULT"][0]
        assert braked or np.array_equal(given, law), "the chip has been given other duties than the law's"
        self.trace.append(record)
        return record

    def see(self) -> Any:
        """Return a STATUS of the present state. Fewer ticks pass than in a STATUS period."""
        self.status = None
        self.run(11)
        return self.status

    # -- commands

    def command(self, name: str | int) -> str:
        """Send a command. Return the name of the refusal, or NONE if the board accepted the command."""
        number = messages.COMMANDS[name][0] if isinstance(name, str) else name
        return self._tokened(Command(self._next(), number))

    def post(self, name: str) -> None:
        """Send a command without waiting for its execution."""
        self.send(Command(self._next(), messages.COMMANDS[name][0]))

    def home(self, positions: Any = None) -> str:
        start = [j.start for j in self.joints] if positions is None else positions
        return self._tokened(Home(self._next(), to_wire(start, self.joints).tolist()))

    def ask(self, message: Any) -> str:
        """Send a message with a token. Return the name of the refusal, or NONE if the board accepted the message."""
        self.token = message.token
        return self._tokened(message)

    def _next(self) -> int:
        self.token = self.token % 255 + 1
        return self.token

    def _tokened(self, message: Any) -> str:
        self.send(message)
        status = self.see()
        assert status.command_token == message.token
        return self.name(messages.REFUSALS, status.refusal)

    def ready(self) -> None:
        """Home the joints and bring the board to HOLD."""
        assert self.home() == "NONE"
        assert self.command("ARM") == "NONE"
        assert self.state == "HOLD"

    # -- knots

    def stream(self, knots: Knots, first: int | None = None, end: bool = True, start: bool = True,
               most: int | None = None) -> int:
        """Send knots unchanged from the wanted sequence number on. Return how many were sent."""
        seq = self.see().ack if first is None else first
        count = len(knots) if most is None else min(most, len(knots))
        for i in range(count):
            flags = (messages.KNOT_START if start and i == 0 else 0)
            flags |= messages.KNOT_END if end and i == len(knots) - 1 else 0
            flags |= 0 if knots.mode is None else int(knots.mode[i]) << messages.KNOT_MODE
            self.send(Knot(flags, knots.position[i].tolist(), knots.rate[i].tolist(),
                           knots.acceleration[i].tolist()), seq=seq + i)
            if i % 16 == 15:
                self.lib.ft_app_idle()
        for _ in range(4):
            self.lib.ft_app_idle()
        return count

    def start(self, knots: Knots, **how: Any) -> None:
        """Send a motion as in `stream`, and start it."""
        self.stream(knots, **how)
        assert self.command("START") == "NONE"

    # -- names

    @staticmethod
    def name(table: dict[str, Any], number: int) -> str:
        return next(n for n, row in table.items() if row[0] == number)

    @property
    def state(self) -> str:
        return self.name(messages.STATES, self.see().state)

    @property
    def fault(self) -> tuple[str, int]:
        status = self.see()
        return self.name(messages.FAULTS, status.fault), status.fault_joint

    @property
    def flags(self) -> set[str]:
        status = self.see()
        return {n for n, row in messages.FLAGS.items() if status.flags & row[0]}


def in_hold(mechanism: Mechanism | None = None, **how: Any) -> App:
    """Return a board that is homed and holds its joints."""
    app = App(mechanism, **how)
    app.ready()
    return app


_folder = tempfile.TemporaryDirectory(prefix="femtorque-test-")
_count = 0
_libraries: dict[str, Path] = {}  # in the cache, by the hash of all source files


INCLUDE = re.compile(r'^#include "(\w+\.[ch])"', re.MULTILINE)


def included(name: str, files: dict[str, str]) -> set[str]:
    """Return the names of a file and of all files that it includes."""
    found, front = {name}, [name]
    while front:
        new = {n for n in INCLUDE.findall(files[front.pop()]) if n in files} - found
        found |= new
        front += new
    return found


def library(files: dict[str, str], precision: host_compiler.Precision = "single") -> Path:
    """Compile C files into a cached shared library from reused object files. The compiler does not optimise, because
    most code is compiled more often than it runs; the numbers would be the same."""
    options = ("-O0", "-ffunction-sections", *host_compiler.ARITHMETIC, *host_compiler.WARNINGS,
               *host_compiler.precision_flags(precision), "-fPIC")
    objects = [compiled(name, files, options) for name in sorted(files) if name.endswith(".c")]

    def link(entry: Path) -> None:
        command = [host_compiler.compiler(), "-shared", "-Wl,--gc-sections", *objects]
        subprocess.run([*command, "-o", entry / host_compiler.LIBRARY], check=True)

    return kept(key_of("linked", *(o.parent.name for o in objects)), link) / host_compiler.LIBRARY


def compiled(name: str, files: dict[str, str], options: tuple[str, ...]) -> Path:
    """Return the object of one C file, cached under the hash of all files that it includes."""
    parts = {n: files[n] for n in sorted(included(name, files))}

    def make(entry: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for n, text in parts.items():
                (Path(folder) / n).write_text(text)
            subprocess.run([host_compiler.compiler(), *options, "-c", name, "-o", entry / "it.o"],
                           cwd=folder, check=True)

    key = key_of(program(host_compiler.compiler()), *options, name, *(x for item in parts.items() for x in item))
    return kept(key, make) / "it.o"


def load(files: dict[str, str], cdef: str, precision: host_compiler.Precision = "single") -> tuple[cffi.FFI, Any]:
    """Return a fresh copy of the compiled library, with its own variables."""
    global _count
    key = key_of(precision, *(part for item in sorted(files.items()) for part in item))
    if key not in _libraries:
        _libraries[key] = library(files, precision)
    path = _libraries[key]
    _count += 1
    own = Path(_folder.name) / f"{_count}.so"
    shutil.copy(path, own)
    ffi = cffi.FFI()
    ffi.cdef(cdef)
    return ffi, ffi.dlopen(str(own))
