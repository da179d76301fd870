"""The serial ports and the CAN interfaces of this computer. No port is opened."""

from pathlib import Path

from serial.tools import list_ports

from femtorque.codegen.common import printable


def candidates() -> list[tuple[str, str]]:
    """Return (device, the system's description) of every USB serial port."""
    return sorted((port.device, printable(port.description or ""))
                  for port in list_ports.comports() if port.vid is not None)


CAN_INTERFACE = "280"  # ARPHRD_CAN of linux/if_arp.h, in /sys/class/net/*/type
FD_MTU = "72"  # bytes of CANFD_MTU, linux/can.h
ADAPTERS = {  # by the USB numbers of vendor and product: prefix for --bus or --wire, and what it is
    (0x2E88, 0x4603): ("--bus NAME=damiao:", "Damiao's USB-CAN"),
    (0x0483, 0x5740): ("--bus NAME=fdcanusb:", "mjbots' fdcanusb, or another chip of ST"),
    (0x1A86, 0x7523): ("--bus NAME=robstride:", "RobStride's USB-CAN, or another CH340"),
    (0x1A86, 0x55D3): ("--wire NAME=", "Waveshare's adapter for servos, or another CH343"),
    (0x0403, 0x6014): ("--wire NAME=", "ROBOTIS' U2D2, or another FT232H"),
    (0xAD50, 0x60C4): ("--bus NAME=slcan:", "CANable with firmware for slcan"),
    (0x16D0, 0x117E): ("--bus NAME=slcan:", "CANable 2 with firmware for slcan"),
}


def adapters() -> list[tuple[str, str]]:
    """Return (option of `femtorque board`, description) of every adapter for buses that is plugged in."""
    found = []
    for kind in sorted(Path("/sys/class/net").glob("*/type")):
        if kind.read_text(encoding="utf-8").strip() == CAN_INTERFACE:
            fd = (kind.parent / "mtu").read_text(encoding="utf-8").strip() == FD_MTU
            state = (kind.parent / "operstate").read_text(encoding="utf-8").strip()
            found.append((f"--bus NAME={kind.parent.name}", f"CAN{' FD' if fd else ''}, {state}"))
    for port in list_ports.comports():
        if (port.vid, port.pid) in ADAPTERS:
            prefix, what = ADAPTERS[port.vid, port.pid]
            found.append((f"{prefix}{port.device}", what))
    return found
