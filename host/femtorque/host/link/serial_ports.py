"""The serial ports that a computer has, without asking anybody at them."""

from serial.tools import list_ports

from femtorque.codegen.common import printable


def candidates() -> list[tuple[str, str]]:
    """(device, what the system calls it) of every USB serial port."""
    return sorted((port.device, printable(port.description or ""))
                  for port in list_ports.comports() if port.vid is not None)
