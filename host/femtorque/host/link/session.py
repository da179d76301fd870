"""Communication with one board: its identity, commands and answers. One thread pumps: it receives frames, sends knots,
repeats unacknowledged commands, and polls the board. Every wait is bounded. If a wait fails, Refused is raised with a
remedy."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Refused
from femtorque.codegen.wire import (
    COUNTED, About, Command, Data, Drives, Felt, Followed, Hello, Home, Ident, Poll, Status, WithToken, beyond, explain,
    fault_name, fault_words, from_wire, messages, state_name, to_wire)
from femtorque.codegen.wire.codec import text
from femtorque.host.link import drives
from femtorque.host.link.about import brown_out, crash, history
from femtorque.host.link.configuration import Configuration
from femtorque.host.link.link import Link

PERIOD = 0.002  # time between two checks while the host waits, s
# refusals that end once servos have started up; s between two requests
NOT_UP, AGAIN = ("DRIVE_SILENT", "DRIVE_SETTING"), 0.05
BRAKE_SLACK = 0.01  # time that the board adds to the brakes' release time, s
REPEAT = 0.02  # time after which an unacknowledged command is sent again, s
# time without a message to the board until a POLL is sent, s; the board declares the host lost after twenty lost POLLs
KEEPALIVE = 0.005
ANSWER = 1.0  # time until a board must acknowledge a command, s
HELLO_REPEAT, HELLO_TIMEOUT = 0.1, 2.0  # s
STOPPING = 10.0  # time until any stopped motion is at rest, s
LEFT = "the board does as [safety] says"
DRIVEN = ("HOLD", "TRACK", "HOMING", "FLOAT", "JOG", "PROBE", "FOLLOW")  # states in which the outputs are on
SILENCE = 1.0  # time without a valid frame until the board counts as disconnected, s

_RESET = {number: name for name, number in messages.RESETS.items()}


def mode_name(session: Session) -> str:
    """Return the mode's name, or its number if the name is unknown. Empty if the mechanism has a single mode."""
    number, modes = session.status.mode, session.configuration.modes
    if number >= len(modes):
        return str(number) if number else ""
    return modes[number] if len(modes) > 1 else ""


def _on(now: Sequence[int], last: Sequence[int]) -> tuple[int, ...]:
    """Return encoded positions that are continuous with the last positions, across turns."""
    half = COUNTED // 2
    return tuple(b + (a - b + half) % COUNTED - half for a, b in zip(now, last, strict=True))


class Sending(Protocol):
    """Interface of a sender: in every round it sends as many messages as the line takes."""

    def send(self) -> None: ...
    def take(self, status: Status) -> None: ...


class Faulted(Refused):
    """A fault of the board that ended the action. joint: the first joint with the fault, or empty."""

    def __init__(self, line: str, fault: str, joint: str = "") -> None:
        super().__init__(line)
        self.fault, self.joint = fault, joint


class Session:
    """Communication with one board. Call `connect` first.

    listen_only: send nothing after HELLO, so an armed board does not mistake this session for its host. listeners,
    felt_listeners: called with every STATUS and every FELT."""

    def __init__(self, link: Link, expected: Configuration | None = None, listen_only: bool = False) -> None:
        self.link = link
        self.clock = link.clock
        self.expected = expected  # configuration that the board must have; None to accept any board and only read
        self.listen_only = listen_only
        self.configuration: Configuration  # set by `connect`, unless a configuration is expected
        self.about: About | None = None
        self.drives: Drives | None = None  # the last DRIVES; None: no drive on a bus
        self.drives_kept: deque[Drives] = deque(maxlen=drives.KEPT)  # since the last reset
        self.felt: Felt | None = None  # the last FELT; None before the first, or without [feel]
        self.followed: Followed | None = None  # the last FOLLOWED since FOLLOW was requested; None before the first
        self.lock = threading.RLock()  # several threads use the line while targets are sent live
        self.sender: Sending | None = None
        self.listeners: list[Callable[[Status], None]] = []
        self.felt_listeners: list[Callable[[Felt], None]] = []
        self.on_data: Callable[[Data], None] | None = None  # called with the data of a recording
        self._listened = True
        self.flight = 0.0  # time from HELLO to IDENT, s
        self.other_tag = 0  # frames of another configuration
        self._ident: Ident | None = None
        self._status: Status | None = None
        self._pending: WithToken | None = None  # command that the board has not acknowledged yet
        self._pending_at = 0.0
        self._token = 0
        self._heard_from = self.clock.now()  # the host counts silence from this time until the first frame
        if expected is not None:
            self.configuration = expected
            link.configure(len(expected.joints), expected.tag)

    @property
    def ident(self) -> Ident:
        """The board's last IDENT, known after `connect`."""
        assert self._ident is not None
        return self._ident

    @property
    def status(self) -> Status:
        """The board's last STATUS, known after `connect`."""
        assert self._status is not None
        return self._status

    @status.setter
    def status(self, status: Status) -> None:
        self._status = status

    # -- identity -----------------------------------------------------------------------------------------------------

    def connect(self) -> Configuration:
        """Ask for the identity, compare digests, and wait for a STATUS. Raises Refused with the remedy."""
        self._hello()
        if self.ident.protocol != messages.PROTOCOL:
            raise Refused(
                f"{self.link.port}: the board speaks protocol {self.ident.protocol}, this host {messages.PROTOCOL}; "
                "build and flash the image with this version")
        reported = Configuration.reported(self.ident)
        if self.expected is None:
            self.configuration = reported
            self.link.configure(self.ident.joints, reported.tag)
        elif bytes(self.ident.digest) != self.expected.digest:
            raise Refused(self._another_configuration(self.expected, reported))
        self._heard_from = self.clock.now()
        self.wait(lambda: self._status is not None, SILENCE, "sent no STATUS")
        self._token = self.status.command_token
        return self.configuration

    def _hello(self) -> None:
        """Send HELLO until IDENT and ABOUT arrive. Stop early if an IDENT shows another protocol version."""
        self._ident = self.about = None
        asked_at, deadline = -np.inf, self.clock.now() + HELLO_TIMEOUT
        before = self.link.bytes_received
        while True:
            self._receive()
            now = self.clock.now()
            if self._ident is not None and (self.about is not None or self._ident.protocol != messages.PROTOCOL):
                self.flight = now - asked_at
                return
            if now >= deadline:
                break
            if now - asked_at >= HELLO_REPEAT:
                self.link.send(Hello())
                asked_at = now
            self.clock.sleep(PERIOD)
        if self.link.bytes_received == before:
            cause = "silent; " + ("such a board serves one host at a time: is another one connected to it?"
                                  if self.link.port.startswith(("socket:", "unix:"))
                                  else "check power, cable and that this is the right port")
        else:
            cause = "sending bytes that are no frames; check the baud rate and that femtorque firmware is flashed"
        raise Refused(f"{self.link.port}: no answer to HELLO in {HELLO_TIMEOUT:g} s, the line is {cause}")

    def _another_configuration(self, here: Configuration, there: Configuration) -> str:
        file, serves = here.source or here.name, self.virtual and not here.pil
        return (f"{self.link.port}: the board carries another configuration: {there.name} on {there.board}, digest "
                f"{there.digest.hex()[:16]}, while {file} is {here.name} on {here.board}, digest "
                f"{here.digest.hex()[:16]}; {f'start `femtorque hil serve {file}`' if serves else here.mend}")

    # -- pumping ------------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Do one round. Raises Refused if the board is silent for too long or was reset, or if the link broke."""
        with self.lock:
            self._round()

    def _round(self) -> None:
        self._receive()
        now = self.clock.now()
        heard = max(self.link.heard_at or -np.inf, self._heard_from)
        if now - heard > SILENCE:
            raise Refused(f"{self.link.port}: the board has been silent for {now - heard:.1f} s; check cable and power")
        if self._pending is not None and now - self._pending_at >= REPEAT:
            self._send_pending()
        if self.sender is not None:
            self.sender.send()
        if not self.listen_only and now - self.link.sent_at >= KEEPALIVE:
            self.link.send(Poll())

    def _receive(self) -> None:
        for frame in self.link.receive():
            if isinstance(frame.message, Ident):
                self._ident = frame.message
            elif isinstance(frame.message, About):
                self.about = frame.message
            elif frame.tag != self.link.tag:
                self.other_tag += 1
            elif isinstance(frame.message, Status):
                self._take(frame.message)
            elif isinstance(frame.message, Drives):
                self._take_drives(frame.message)
            elif isinstance(frame.message, Felt):
                self._take_felt(frame.message)
            elif isinstance(frame.message, Followed):
                self.followed = frame.message
            elif isinstance(frame.message, Data) and self.on_data is not None:
                self.on_data(frame.message)

    def _counted(self, status: Status) -> Status:
        """Return a STATUS with multi-turn positions, which stay continuous when the board's count wraps."""
        last = self._status
        if last is None or isinstance(self._pending, Home) or not len(last.position):
            return status
        position, target = _on(status.position, last.position), _on(status.target, last.target)
        if (position, target) == (status.position, status.target):
            return status
        return replace(status, position=position, target=target)

    def _take(self, status: Status) -> None:
        status = self._counted(status)
        before, self._status = self._status, status
        if before is not None and (status.tick - before.tick) & 0xFFFFFFFF > 0x7FFFFFFF:
            self._report_reset()
        if self._pending is not None and status.command_token == self._pending.token:
            self._pending = None
        if self.sender is not None:
            self.sender.take(status)
        for listener in self.listeners if self._listened else ():
            listener(status)

    def _take_felt(self, felt: Felt) -> None:
        self.felt = felt
        for listener in self.felt_listeners if self._listened else ():
            listener(felt)

    def _take_drives(self, report: Drives) -> None:
        if self.drives_kept and (report.tick - self.drives_kept[-1].tick) & 0xFFFFFFFF > 0x7FFFFFFF:
            self.drives_kept.clear()
        self.drives = report
        self.drives_kept.append(report)

    def hear_of_drives(self, count: int = 1) -> Drives:
        """Wait for several DRIVES messages, and return the last message."""
        for _ in range(count):
            self.drives = None
            self.wait(lambda: self.drives is not None, SILENCE, "did not report its drives")
        assert self.drives is not None
        return self.drives

    def _report_reset(self) -> None:
        """Ask the board why it was reset, and raise Refused with the reason."""
        self.sender, self._pending = None, None
        self._hello()
        cause = _RESET.get(self.ident.reset_cause, f"number {self.ident.reset_cause}")
        fault = self.ident.last_fault
        latched = f", latched before it: {explain(messages.FAULTS, fault)}" if fault else ""
        if fault == messages.FAULTS["HARD_FAULT"][0]:
            latched += f" ({crash(self.about)})"
        raise Refused(f"{self.link.port}: the board was reset (cause {cause}){latched}; {self.describe()}; "
                      "home and start again")

    def wait(self, until: Callable[[], bool], seconds: float, otherwise: str) -> None:
        """Pump until a condition holds. At the time-out raise Refused: `the board <otherwise> in <seconds> s`."""
        deadline = self.clock.now() + seconds
        while True:
            self.pump()
            if until():
                return
            if self.clock.now() >= deadline:
                raise Refused(f"{self.link.port}: the board {otherwise} in {seconds:g} s; {self.describe()}")
            self.clock.sleep(PERIOD)

    @property
    def virtual(self) -> bool:
        """True if the chip's unique number is that of a simulated chip (femtorque.hil.chip.stm32.chip.unique)."""
        return self.about is not None and bytes(self.about.unique).endswith(b"VIRTUAL")

    @contextmanager
    def hearing(self, listener: Callable[[Status], None], felt: Callable[[Felt], None] = lambda _: None
                ) -> Iterator[None]:
        """Call the listeners with every STATUS and FELT until the context ends."""
        self.listeners.append(listener)
        self.felt_listeners.append(felt)
        try:
            yield
        finally:
            self.listeners.remove(listener)
            self.felt_listeners.remove(felt)

    # -- commands -----------------------------------------------------------------------------------------------------

    def post(self, command: str) -> None:
        """Send a command of messages.COMMANDS without waiting. `pump` repeats the command until its acknowledgement."""
        self._post(Command(self._next_token(), messages.COMMANDS[command][0]))

    @property
    def posted(self) -> bool:
        """True while a command is not acknowledged."""
        return self._pending is not None

    def command(self, command: str) -> None:
        """Send a command and wait for its acknowledgement. Raises Refused with the board's reason."""
        self.post(command)
        self._acknowledged(command)

    def home(self, positions: ArrayLike) -> None:
        """Set the joints' present positions, (J,) rad or m, while the board is DISARMED. Raises BadInput, Refused."""
        wire = to_wire(positions, self.configuration.joints, "home", "position").tolist()
        self._post(Home(self._next_token(), wire))
        self._acknowledged("HOME")

    def ask(self, message: WithToken, name: str) -> None:
        """Send a message with a new token and wait for its acknowledgement. Raises Refused."""
        self._post(replace(message, token=self._next_token()))
        self._acknowledged(name)

    def tell(self, message: WithToken) -> None:
        """Send a message once, without waiting for an acknowledgement."""
        self.link.send(replace(message, token=self._next_token()))

    def arm(self) -> None:
        """Arm the board (DISARMED or HELD -> HOLD, brakes open). Repeat while servos on a serial bus start up."""
        self._until_up(self.configuration.supply_s, lambda: self.command("ARM"))
        self._reach("ARM", "HOLD")
        open_at = self.clock.now() + self.configuration.brake_s + BRAKE_SLACK if self.configuration.brake_s else 0.0
        while self.clock.now() < open_at:
            self.pump()
            self.clock.sleep(PERIOD)

    def _until_up(self, seconds: float, ask: Callable[[], None]) -> None:
        """Repeat a request while drives are silent or not set up, for at most `seconds`."""
        deadline = self.clock.now() + seconds
        while True:
            try:
                return ask()
            except Refused as refusal:
                if self.clock.now() >= deadline or not any(name in str(refusal) for name in NOT_UP):
                    raise
            until = self.clock.now() + AGAIN
            while self.clock.now() < until:
                self.pump()
                self.clock.sleep(PERIOD)

    def start(self) -> None:
        """Play the buffered knots: HOLD -> TRACK."""
        self.command("START")

    def stop(self) -> None:
        """Slow down along the path until the arm is at rest: TRACK -> HOLD."""
        self.command("STOP")

    def resume(self) -> None:
        """Continue the motion after a stop on the path: HOLD -> TRACK."""
        self.command("RESUME")

    def flush(self) -> None:
        self.sender = None
        self.command("FLUSH")

    def disarm(self) -> None:
        self.sender = None
        self.command("DISARM")
        self._reach("DISARM", "DISARMED", "FAULT", "ESTOP")

    def leave(self) -> str:
        """After an error in the host, stop the arm and hold every joint that was moving or held. This method calls no
        listener and raises no error. Returns the arm's state in words. Empty if the outputs were off or if this session
        is read-only."""
        self._listened = False
        self.on_data = self.sender = None
        if self.listen_only or not self.in_state(*DRIVEN):
            return ""
        try:
            self.pump()
            self.rest()
        except Exception as error:
            return f"{LEFT} without a host ({error})"
        return f"the arm is held; {LEFT} once it misses its host" if self.in_state("HOLD") else self.describe()

    def rest(self) -> None:
        """Stop any motion on its path, and wait until the joints are held or the outputs are off. Raises Refused."""
        if self.in_state(*DRIVEN) and not self.in_state("HOLD"):
            self.post("STOP")
            self.wait(lambda: not self.in_state(*DRIVEN) or self.in_state("HOLD"), STOPPING, "did not stop")

    def clear(self) -> None:
        """Clear a fault: FAULT or ESTOP -> DISARMED."""
        self.command("CLEAR")
        self._reach("CLEAR", "DISARMED")

    def close(self) -> None:
        self.link.close()

    def _next_token(self) -> int:
        self._token = self._token % 255 + 1
        return self._token

    def _post(self, message: WithToken) -> None:
        self._pending = message
        self._send_pending()

    def _send_pending(self) -> None:
        if self._pending is not None:
            self.link.send(self._pending)
        self._pending_at = self.clock.now()

    def _acknowledged(self, name: str) -> None:
        self.wait(lambda: self._pending is None, ANSWER, f"did not acknowledge {name}")
        self.refusal(name)

    def refusal(self, name: str) -> None:
        """Raise Refused if the last command was refused."""
        if self.status.refusal:
            why = explain(messages.REFUSALS, self.status.refusal, self.joint(self.status.refusal_joint))
            j = self.status.refusal_joint
            report = drives.unarmed(self.drives, self.configuration.joints, j)
            if self.status.refusal == messages.REFUSALS["OUTSIDE_LIMITS"][0]:
                limits = self.configuration.joints[j].limits
                report = f"{self.joint(j)} is at {self.positions()[j]:.4f} {self.unit(j)}, its limits are " \
                         f"{limits.lower:g} .. {limits.upper:g}{'; restart `hil serve`' * self.virtual}"
            raise Refused(f"{self.link.port}: the board refused {name}: {why}{f' ({report})' if report else ''}; "
                          f"{self.describe()}")

    def _reach(self, command: str, *states: str) -> None:
        self.wait(lambda: self.in_state(*states), ANSWER, f"took {command} but did not reach {states[0]}")

    # -- what the board says ------------------------------------------------------------------------------------------

    def joint(self, index: int) -> str:
        """Return the name of a joint in STATUS. Empty for the number 255, which means no joint."""
        joints = self.configuration.joints
        return joints[index].name if index < len(joints) else ""

    def unit(self, index: int) -> str:
        return "m" if self.configuration.joints[index].type == "prismatic" else "rad"

    def positions(self) -> NDArray[np.float64]:
        """Return measured positions (J,), rad or m, with whole turns."""
        return from_wire(self.status.position, self.configuration.joints)

    def held(self) -> NDArray[np.float64]:
        """Return the positions at which the joints are held (J,), rad or m, over several turns."""
        return from_wire(self.status.target, self.configuration.joints)

    def difference(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Return a - b (..., J), for positions as encoded in messages, in rad or m."""
        return beyond(a, b) * self.configuration.units

    def tracking_error(self) -> NDArray[np.float64]:
        """Return the target at the time of the last measurement minus the measured position, (J,), rad or m."""
        gone = np.multiply(self.status.target_rate, self.configuration.ages or 0.0)
        return self.difference(self.status.target, self.status.position) - gone

    def in_state(self, *states: str) -> bool:
        return state_name(self.status) in states

    def describe(self) -> str:
        """Return the last STATUS in a few words."""
        s = self._status
        if s is None:
            return "no STATUS has come"
        words = f"its state is {state_name(s)}"
        if s.fault:
            words += f", fault {fault_words(s, self.joint(s.fault_joint))}"
        return words

    def faulted(self) -> None:
        """Raise Faulted if the board is in FAULT or ESTOP."""
        if self.in_state("FAULT"):
            joint = self.joint(self.status.fault_joint)
            why = fault_words(self.status, joint).removesuffix(", then clear")
            if report := drives.words(self.drives, self.configuration.joints, self.status.fault_joint):
                why += f" ({report})"
            raise Faulted(f"{self.link.port}: fault {why}; then clear", fault_name(self.status.fault), joint)
        if self.in_state("ESTOP"):
            raise Faulted(f"{self.link.port}: the e-stop dropped the outputs; release it, then clear", "ESTOP")

    def identity(self) -> dict[str, Any]:
        """Return IDENT and ABOUT in plain words, for JSON and logs."""
        i, about = self.ident, self.about
        assert about is not None
        return {
            "name": text(i.name), "board": text(i.board), "digest": bytes(i.digest).hex(), "protocol": i.protocol,
            "joints": i.joints, "rate_hz": i.rate_hz, "knot_hz": i.knot_hz, "ring": i.ring,
            "reset_cause": _RESET.get(i.reset_cause, str(i.reset_cause)),
            "last_fault": fault_name(i.last_fault), **history(about),
            "brown_out": brown_out(text(i.board), about.options)}
