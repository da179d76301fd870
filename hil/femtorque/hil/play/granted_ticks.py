"""The serial line to a board with the pil image, whose control ticks the host starts by a message each. The host
repeats SENSE until the tick's DRIVE and STATUS have arrived, so a bad line does not change the results."""

from collections.abc import Callable
from typing import Any

from femtorque.codegen.common import Refused
from femtorque.codegen.wire import BadFrame, Codec, Drive, Sense, Status
from femtorque.hil.board import Disturbance
from femtorque.host.link import Clock, Device

POLL = 2e-4  # time between two reads of a silent line, s
REPEAT = 0.01  # time without an answer after which a SENSE is sent again, s
LOST = 2.0  # time without an answer after which the board counts as disconnected, s; its outputs are then off


class GrantedTicks:
    """A line to a board with the pil image. incoming, outgoing: disturbances, but of SENSE and DRIVE."""

    def __init__(self, device: Device, joints: int, tag: int, wall: Clock) -> None:
        self.name = getattr(device, "name", type(device).__name__)
        self.incoming, self.outgoing = Disturbance(seed=1), Disturbance(seed=2)
        self.listeners: list[Callable[[bytes], None]] = []  # called with all bytes from the board
        self.repeated = 0  # SENSE messages sent again
        self._device, self._wall = device, wall
        self._codec, self._tag = Codec(joints), tag
        self._tick = 0  # number of the board's next tick, which the board's answer corrects
        self._drive: Any = None  # the last DRIVE message; below, the last STATUS message
        self._status: Status | None = None
        self._rest = b""  # bytes of a frame from the board that is not complete yet
        self._written, self._to_board, self._to_host = bytearray(), bytearray(), bytearray()

    def close(self) -> None:
        self._device.close()

    # -- the host's side ----------------------------------------------------

    def read(self, size: int) -> bytes:
        data = bytes(self._to_host[:size])
        del self._to_host[:size]
        return data

    def write(self, data: bytes) -> int:
        """Delay the bytes by a tick. A board does the same: its main loop reads the line after each tick."""
        self._written += data
        return len(data)

    # -- the board's side ---------------------------------------------------

    def grant(self, counts: list[int]) -> tuple[Any, Any]:
        """Let the board run a tick with these counts, and return its DRIVE and STATUS. Raises Refused without them."""
        drive, status = self._answers(counts)
        self._tick = (drive.tick + 1) & 0xFFFFFFFF
        self._to_board, self._written = self._written, bytearray()
        return drive, status

    def _answers(self, counts: list[int]) -> tuple[Any, Any]:
        self._drive = self._status = None
        began = asked = self._ask(counts)
        while True:
            self._listen()
            drive, status, now = self._drive, self._status, self._wall.now()
            if drive is not None and drive.tick == self._tick and status is not None and status.tick == self._tick:
                return drive, status
            elsewhere = drive is not None and drive.tick not in (self._tick, (self._tick - 1) & 0xFFFFFFFF)
            if elsewhere:  # true at the start, and after a reset of the board
                self._tick, self._drive = (drive.tick + 1) & 0xFFFFFFFF, None
            if elsewhere or now - asked >= REPEAT:
                self.repeated += 1
                asked = self._ask(counts)
            if now - began >= LOST:
                raise Refused(f"{self.name}: the board has answered no SENSE for {LOST:g} s; check cable and power")
            self._wall.sleep(POLL)

    def _ask(self, counts: list[int]) -> float:
        """Send the waiting bytes of the host, then SENSE. Return the time."""
        data = self.incoming(bytes(self._to_board)) + self._codec.encode(Sense(self._tick, counts), self._tag)
        self._to_board.clear()
        try:
            self._device.write(data)
        except OSError as error:
            raise self._broken(error) from error
        return self._wall.now()

    def _listen(self) -> None:
        """Extract the frames for the plant, and pass on all other bytes, whether they are valid or not."""
        try:
            data = self._device.read(65536)
        except OSError as error:
            raise self._broken(error) from error
        for listener in self.listeners if data else ():
            listener(data)
        *frames, self._rest = (self._rest + data).split(b"\0")
        for stuffed in filter(None, frames):
            message = self._decoded(stuffed)
            if isinstance(message, Drive):
                self._drive = message
                continue
            if isinstance(message, Status):
                self._status = message
            self._to_host += self.outgoing(stuffed + b"\0")

    def _broken(self, error: OSError) -> Refused:
        return Refused(f"{self.name}: the link broke ({error}); check cable and power, then start again")

    def _decoded(self, stuffed: bytes) -> Any:
        try:
            frame = self._codec.decode(stuffed)
        except BadFrame:
            return None
        return frame.message if frame.tag == self._tag else None
