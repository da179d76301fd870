"""The serial ports of this computer. No port is opened."""

from serial.tools import list_ports

from femtorque.codegen.common import printable


def candidates() -> list[tuple[str, str]]:
    """Return (device, the system's description) of every USB serial port."""
    return sorted((port.device, printable(port.description or ""))
                  for port in list_ports.comports() if port.vid is not None)
