"""The drives of a mechanism on their buses, without a board, for other programs. The drives turn their joints.

A CAN bus has two serial adapters (femtorque.hil.bus.gateway): a terminal and a TCP port. A bus of servos has a terminal
and a TCP port for plain bytes. python-can opens an adapter with interface="slcan", channel="/dev/pts/N" or
channel="socket://127.0.0.1:PORT". Programs that read without waiting need the terminal: pyserial gives them single
bytes of a socket."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Bus, Mechanism
from femtorque.hil.board.buses import Buses, Plug, adapter_bits
from femtorque.hil.board.served_port import ServedPort
from femtorque.hil.board.terminal_port import TerminalPort
from femtorque.hil.bus import Adapter, Gateway, OneWire, Tap, Wire
from femtorque.hil.clock import OwnClock
from femtorque.hil.plant import Driven

PACE = 1e-3  # time between two reads of the ports, s
LONGEST = 0.05  # largest simulated time per step, s; on a slow computer the joints lag behind real time


class Bench:
    """Drives, buses and the arm, with a clock. plug: connects other nodes to the wire of a bus. seconds: time since
    power-on. The arm is held at its start until a drive is enabled for the first time.
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
        self._at, self._still, self._held = 0.0, np.zeros(len(mechanism.streamed)), True
        for drive in self.buses.all.values():
            drive.catch_up = self.catch_up

    @property
    def seconds(self) -> float:
        return self.clock.seconds

    def run(self, seconds: float) -> None:
        """Let a number of seconds pass."""
        self.clock.run(seconds)
        self.catch_up()

    def catch_up(self) -> None:
        """Move the joints to the present time."""
        if self.clock.seconds - self._at > 1e-9:
            since, self._at = self._at, self.clock.seconds
            self._held = self._held and not self.buses.driving
            if self._held:
                self.buses.idle(since, self._at)
            else:
                self.buses.move(since, self._at, self._still)


    def look(self) -> int:
        """Take what other programs have sent. Return the number of frames."""
        return 0

    def serve(self, until: Callable[[], bool]) -> None:
        """Run in real time until until() is true."""
        last = time.monotonic()
        while not until():
            time.sleep(PACE)
            self.look()
            now = time.monotonic()
            self.run(min(now - last, LONGEST))
            last = now


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

    def look(self) -> int:
        """Read the frames that programs have sent. Returns their number."""
        return sum(gateway.take(data) for port, gateway in self._gateways if (data := port.receive()))
