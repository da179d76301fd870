"""Smoke test of an image on an emulator that shares no code with the virtual board. The image must start, identify
itself, accept knots in order, survive a fault and remember its reason. A failing case raises AssertionError."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulator import PATIENCE, Emulator, emulator

from femtorque.codegen.toolchain import stack_bound as stack
from femtorque.codegen.wire import messages
from femtorque.codegen.wire import Codec, FrameReader
from femtorque.codegen.wire.codec import text
from femtorque.codegen.wire import Command, Hello, Knot

USAGE_FAULT = 6  # exception number
UNDEFINED_INSTRUCTION = 1 << 16  # in CFSR
RAM_START = 0x20000000


class Board:
    """A host's end of the link. project: the folder that `femtorque.codegen.toolchain.platformio` assembled."""

    def __init__(self, machine: Emulator, project: Path) -> None:
        header = (project / "src" / "emitted" / "ft_digest.h").read_text(encoding="utf-8")
        model = (project / "src" / "emitted" / "ft_model.h").read_text(encoding="utf-8")
        self.machine, self.project = machine, project
        self.digest = bytes.fromhex(_found(r"SHA-256 ([0-9a-f]{64})", header))
        self.name = _found(r'#define FT_NAME "(.*)"', header)
        self.tag = int.from_bytes(self.digest[:2], "big")
        self.joints = int(_found(r"#define FT_JOINTS (\d+)", model))
        self._codec = Codec(self.joints)
        self._reader = FrameReader(self._codec)
        machine.link.settimeout(0.1)

    def send(self, message: Any, seq: int = 0) -> None:
        self.machine.link.sendall(self._codec.encode(message, self.tag, seq))

    def await_message(self, kind: str, wanted: Callable[[Any], bool] = lambda m: True, ask: Any = None) -> Any:
        """Return the next message of a kind that satisfies `wanted`. Repeat the request until then."""
        until, asked = time.monotonic() + PATIENCE, 0.0
        last = None
        while time.monotonic() < until:
            if ask is not None and time.monotonic() - asked > 0.3:
                self.send(ask)
                asked = time.monotonic()
            try:
                data = self.machine.link.recv(4096)
            except TimeoutError:
                continue
            for frame in self._reader.feed(data):
                if frame.message.NAME == kind:
                    last = frame.message
                    if wanted(last):
                        return last
        raise AssertionError(f"no {kind} as wanted within {PATIENCE:g} s; the last one was {last}")

    def identify(self) -> Any:
        """Ask for the identity. HELLO is repeated, since bytes before the USART is enabled are lost."""
        return self.await_message("IDENT", ask=Hello())


def _found(pattern: str, header: str) -> str:
    """Return the number of a macro in a generated header."""
    match = re.search(pattern, header)
    assert match is not None, pattern
    return match[1]


def boots_and_ticks(board: Board) -> None:
    board.identify()
    first = board.await_message("STATUS")
    board.await_message("STATUS", lambda s: s.tick > first.tick + 20)


def says_who_it_is(board: Board) -> None:
    ident = board.identify()
    assert bytes(ident.digest) == board.digest
    assert text(ident.name) == board.name
    assert (ident.protocol, ident.joints) == (messages.PROTOCOL, board.joints)
    assert ident.last_fault == messages.FAULTS["NONE"][0]


def stays_disarmed_with_outputs_off(board: Board) -> None:
    board.identify()
    status = board.await_message("STATUS")
    assert status.state == messages.STATES["DISARMED"][0]
    assert status.fault == messages.FAULTS["NONE"][0]
    assert not status.flags & messages.FLAGS["OUTPUTS"][0]


def takes_knots_in_order(board: Board) -> None:
    """Check that the board acknowledges ten knots at rest in order, and counts and drops a skipping knot."""
    board.identify()
    status = board.await_message("STATUS")
    position, zero = tuple(status.position), (0.0,) * board.joints
    first = status.ack
    for i in range(10):
        board.send(Knot(flags=messages.KNOT_START if i == 0 else 0, position=position, rate=zero,
                        acceleration=zero), seq=first + i)

        def acknowledged(status: Any, due: int = (first + i + 1) & 0xFFFF) -> bool:
            return bool(status.ack == due)

        board.await_message("STATUS", acknowledged)
    before = board.await_message("STATUS")
    board.send(Knot(position=position, rate=zero, acceleration=zero), seq=before.ack + 3)
    after = board.await_message("STATUS", lambda s: s.out_of_order > before.out_of_order)
    assert after.ack == before.ack
    assert after.buffered == 9  # segments between ten knots
    assert (after.bad_frames, after.wrong_tag) == (0, 0)


def refuses_what_the_state_forbids(board: Board) -> None:
    board.identify()
    board.send(Command(token=7, command=messages.COMMANDS["START"][0]))
    status = board.await_message("STATUS", lambda s: s.command_token == 7)
    assert status.refusal == messages.REFUSALS["WRONG_STATE"][0]


def remembers_a_fault_over_the_reset(board: Board) -> None:
    """Let the processor execute an undefined instruction. The outputs must be safe, and the board must keep the reason.
    After the reset the board must stay in FAULT until CLEAR."""
    board.identify()
    board.await_message("STATUS", lambda s: s.tick > 50)
    machine = board.machine
    machine.debugger.halt()
    machine.debugger.jump(machine.symbols["ft_provoke_fault"])
    machine.debugger.resume()
    status = board.await_message("STATUS", lambda s: s.state == messages.STATES["FAULT"][0], ask=Hello())
    assert status.fault == messages.FAULTS["HARD_FAULT"][0]
    # ft_keepsake: word, its check, crash check, exception, pc, lr, psr, cfsr
    _, _, _, exception, pc, _, _, cfsr = machine.words("ft_kept", 8)
    assert exception == USAGE_FAULT and cfsr & UNDEFINED_INSTRUCTION
    assert pc == machine.symbols["ft_provoke_fault"] & ~1
    board.send(Command(token=9, command=messages.COMMANDS["CLEAR"][0]))
    board.await_message("STATUS", lambda s: s.state == messages.STATES["DISARMED"][0])


MARK, MARK_WORDS = 0x57AC4E4D, 8  # ft_start.c


def needs_no_more_stack_than_its_bound(board: Board) -> None:
    """Check the deepest use of the stack. RAM starts as zeros here. The deepest use is the lowest word that is not
    zero, above the mark at RAM's end."""
    takes_knots_in_order(board)
    top = board.machine.symbols["ft_stack_top"]
    board.machine.symbols["ft_stack"] = RAM_START
    words = board.machine.words("ft_stack", (top - RAM_START) // 4)
    marked = sum(1 for word in words[:MARK_WORDS] if word == MARK)
    assert marked == MARK_WORDS, words[:MARK_WORDS]
    used = 4 * (len(words) - next(i for i, word in enumerate(words) if word and i >= MARK_WORDS))
    files = sorted((board.project / ".pio" / "build" / "emulator").rglob("*.ci"))
    graph = stack.one_of_each(stack.read_stack(files), board.machine.symbols)
    bound = stack.bound(graph).bytes
    assert 100 < used <= bound, (used, bound)


CASES = (boots_and_ticks, says_who_it_is, stays_disarmed_with_outputs_off, takes_knots_in_order,
         refuses_what_the_state_forbids, needs_no_more_stack_than_its_bound, remembers_a_fault_over_the_reset)


def run(case: Callable[[Board], None], elf: Path, project: Path) -> None:
    """Run one case on a freshly started emulator."""
    with emulator(elf) as machine:
        case(Board(machine, project))
