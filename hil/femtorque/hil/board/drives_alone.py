"""The drives of a mechanism on their buses, without a board, for other programs. The drives turn their joints.

A CAN bus has two serial adapters (femtorque.hil.bus.gateway): a terminal and a TCP port. A bus of servos has a terminal
and a TCP port for plain bytes. python-can opens an adapter with interface="slcan", channel="/dev/pts/N" or
channel="socket://127.0.0.1:PORT". Programs that read without waiting need the terminal: pyserial gives them single
bytes of a socket."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Bus, Mechanism
from femtorque.hil.board.buses import Buses, Plug, adapter_bits
from femtorque.hil.board.coupled import library
from femtorque.hil.board.served_port import ServedPort
from femtorque.hil.board.terminal_port import TerminalPort
from femtorque.hil.bus import Adapter, Gateway, OneWire, Tap, Wire
from femtorque.hil.clock import OwnClock
from femtorque.hil.plant import Driven

PACE = 1e-3  # largest time between two steps while no program sends, s
AHEAD = 5e-3  # largest time by which answers come earlier than on a real bus, s
PRIORITY = 50  # of SCHED_FIFO; a PC's board has 60
LONGEST = 0.05  # largest simulated time per step, s; on a slow computer the joints lag behind real time


class Bench:
    """Drives, buses and the arm, with a clock. plug: connects other nodes to the wire of a bus. seconds: time since
    power-on. The arm is held at its start until the first drive or servo acts. An enabled drive with zero gains and
    zero torque does not act. C moves the joints (bus_steps.c).
    """

    def __init__(self, mechanism: Mechanism, plant: Driven, plug: Plug) -> None:
        file = mechanism.source or mechanism.name
        if not any(joint.drive for joint in mechanism.streamed):
            raise BadInput(file, "bus", None, "no joint has a drive on a bus")
        if mechanism.board is None:
            raise BadInput(file, "board", None, "tells the drives' supply, and is missing")
        self.mechanism, self.clock, self.plant = mechanism, OwnClock(), plant
        self._by_name = {bus.name: bus for bus in mechanism.buses}
        supply = mechanism.board.bus_voltage
        self.buses = Buses(lambda: self.clock, mechanism, [(joint, None) for joint in mechanism.streamed], plant,
                           lambda: supply, plug)
        self._ffi, self._lib = library()
        self._parts, self._still = self.clock.parts, np.zeros(len(mechanism.streamed))
        failed = {"onerror": self._parts.refuse}
        self._calls = {"pass": self._ffi.callback("void(void)", self._move, **failed),
                       "stuck": self._ffi.callback("void(void)", self._stuck, **failed)}
        self.state = self._ffi.new("bench *", {
            "clock": self._ffi.cast("parts *", _address(self._parts.ffi, self._parts.state)), "held": True,
            "still": self._ffi.from_buffer("double[]", self._still), **self._calls})
        bring_up, of = (_address(self._ffi, at) for at in (self._lib.bench_bring_up, self.state))
        for one in self.buses.all.values():
            one.catch_up_in_c(self.catch_up, bring_up, of)
            one.on_change = self._changed
        self.buses.on_change = self._changed
        self._changed()

    @property
    def seconds(self) -> float:
        return self.clock.seconds

    def run(self, seconds: float) -> None:
        """Let a number of seconds pass."""
        self.clock.run(seconds)
        self.catch_up()

    def catch_up(self) -> None:
        """Move the joints to the present time."""
        self._lib.bench_bring_up(self.state)
        self._parts.check()

    def _changed(self) -> None:
        """Let Python make the next move, because a supply or a direction has changed."""
        self._parts.state.stale = True

    def _move(self) -> None:
        """Move the joints in Python."""
        state, self._parts.state.stale = self.state, False
        since, state.at = state.at, self.clock.seconds
        state.held = state.held and self.buses.limp
        if state.held:
            self.buses.idle(since, state.at)
        else:
            self.buses.move(since, state.at, self._still)
        state.line = self.buses.steps.line or self._ffi.NULL

    def _stuck(self) -> None:
        assert self.buses.steps.plant is not None
        raise self.buses.steps.plant.refusal()

    def wait(self) -> None:
        """Wait for other programs, but not long."""
        time.sleep(PACE)

    def look(self) -> int:
        """Take the frames of other programs. Return their number."""
        return 0

    def answer(self, most: float = AHEAD) -> None:
        """Let time pass until all frames are sent and answered, or for `most` seconds at most."""
        self.clock.settle(most)
        self.run(0.0)

    def serve(self, until: Callable[[], bool]) -> None:
        """Run in real time until until() is true. After each burst of frames, time runs ahead until all are answered.
        """
        start = time.monotonic() - self.seconds
        while not until():
            self.wait()
            late = time.monotonic() - start - self.seconds
            start += max(late - LONGEST, 0.0)
            self.run(min(max(late, 0.0), LONGEST))
            if self.look() and -late < AHEAD:
                self.answer(AHEAD + min(late, 0.0))


class DrivesAlone(Bench):
    """urls, terminals: the buses' addresses by name. port: TCP port of the first bus, 0 for any; later buses use the
    next ports."""

    def __init__(self, mechanism: Mechanism, plant: Driven, port: int = 0) -> None:
        self.ports: dict[str, tuple[ServedPort, TerminalPort]] = {}
        self._gateways: list[tuple[ServedPort | TerminalPort, Gateway | Tap]] = []
        self._port = port
        super().__init__(mechanism, plant, self._plug)

    def __enter__(self) -> DrivesAlone:
        return self

    def __exit__(self, *how: object) -> None:
        for port, _ in self._gateways:
            port.close()

    @property
    def urls(self) -> dict[str, str]:
        return {name: port.url for name, (port, _) in self.ports.items()}

    @property
    def terminals(self) -> dict[str, str]:
        return {name: terminal.url for name, (_, terminal) in self.ports.items()}

    def _plug(self, name: str, wire: Wire | OneWire) -> None:
        """Put both ports on a wire."""
        number = self._port + len(self.ports) if self._port else 0
        ports = self.ports[name] = ServedPort(number, framed=False), TerminalPort()
        self._gateways += [(port, self._gateway(self._by_name[name], wire, port.send)) for port in ports]

    def _gateway(self, bus: Bus, wire: Wire | OneWire, send: Callable[[bytes], None]) -> Gateway | Tap:
        if isinstance(wire, OneWire):
            return Tap(wire, send)
        return Gateway(Adapter(wire, *adapter_bits(self.mechanism, bus)), send)

    def run(self, seconds: float) -> None:
        super().run(seconds)
        for _, gateway in self._gateways:
            gateway.flush()

    def look(self) -> int:
        """Read the frames that programs have sent. Returns their number."""
        return sum(gateway.take(data) for port, gateway in self._gateways if (data := port.receive()))

    def wait(self) -> None:
        select.select([port for port, _ in self._gateways], [], [], PACE)

    def serve(self, until: Callable[[], bool]) -> None:
        """Run in real time until until() is true. Ask the system for SCHED_FIFO, with less priority than a PC's board.
        """
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        super().serve(until)


def _address(ffi: Any, pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))
