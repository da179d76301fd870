"""Putting an image on a board: by ST-LINK (openocd), USB boot loader (dfu-util) or the boot loader in ROM over a UART;
then asking the board who it is now.

Whatever the way: the chip must be the image's, what was written is read back and compared, a step that fails says what
the board holds, and a board that does not come up as the image's configuration is a failure.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import serial

from codegen import board as boards
from codegen.built import BuildResult
from codegen.chips import Chip
from codegen.errors import BadInput, Refused
from codegen.mechanism import Mechanism
from host.ports import AUTO, survey
from host.rom_loader import EXTENDED_ERASE, PIECE, RomLoader, part

Way = Literal["stlink", "dfu", "uart"]
Progress = Callable[[int, int, str], None]  # done, total, what

FLASH_START = 0x08000000
ROM_BAUD = 115_200
TOOL_S = 120  # a programmer that takes longer hangs
DFU_ID = "0483:df11"
IDCODE = 0xE0042000  # DBGMCU: device identifier in the lower 12 bits


@dataclass(frozen=True)
class Flashed:
    """What was put where. before: the digest that the board reported first, '' where it could not be asked; after: the
    one it reports now, '' where it was not asked."""

    via: Way
    chip: str
    bytes_written: int
    before: str
    after: str


def flash(mechanism: Mechanism, built: BuildResult, via: Way, port: str | None, link: str | None,
          baud: int = ROM_BAUD, progress: Progress = lambda done, total, what: None) -> Flashed:
    """Write an image and ask the board who it is. port: of the boot loader (uart). link: the port of the running board,
    or "auto": any that carries the image afterwards; without one it is not asked. Raises BadInput, Refused."""
    assert mechanism.board is not None
    chip = boards.load(mechanism.board.use).chip
    image = built.image.read_bytes()
    if via == "uart" and port in (None, AUTO):
        raise BadInput("command line", "--port", port, "must be a device for --via uart",
                       "the UART that the chip's boot loader hears; it does not say who it is")
    before = _identity(link) if link not in (None, AUTO) and via != "uart" else ""
    if via == "uart":
        assert port is not None
        with _opened(port, baud) as device:
            write_by_rom(RomLoader(device, port), chip, image, progress)
    elif via == "stlink":
        _by_openocd(chip, built.image)
    else:
        _by_dfu(chip, built.image)
    after = _confirmed(link, built.digest, before) if link else ""
    return Flashed(via, chip.part, len(image), before, after)


# ---------------------------------------------------------------- UART


def _opened(port: str, baud: int) -> Any:
    from host.link import open_port

    device: Any = open_port(port, baud)
    if not port.startswith("socket://"):
        try:
            device.parity = serial.PARITY_EVEN
        except Exception as error:  # each system has its own; a pseudo-terminal, for one, knows no parity
            device.close()
            raise BadInput(port, "port", None, f"cannot carry even parity ({error})", "the boot loader talks 8E1") from error
    return device


def write_by_rom(loader: RomLoader, chip: Chip, image: bytes, progress: Progress = lambda done, total, what: None) -> None:
    """Identify, erase what is needed, write, compare, start."""
    loader.start()
    known = loader.commands()
    number = loader.identify()
    if number != chip.rom_id:
        raise Refused(f"the chip is {part(number)}, the image is for {part(chip.rom_id)}; nothing was written")
    loader.read(FLASH_START, 4)  # a protected chip says so here, before anything is erased
    image += b"\xff" * (-len(image) % 8)
    pages = pages_of(chip, len(image))
    progress(0, 1, f"erasing {len(pages)} sectors")
    pieces = [(FLASH_START + at, image[at:at + PIECE]) for at in range(0, len(image), PIECE)]
    try:
        loader.erase(pages, EXTENDED_ERASE in known)
        # the vector table comes last: an image that was not written to its end does not start
        for i, (address, data) in enumerate((*pieces[1:], pieces[0])):
            progress(i, 2 * len(pieces), "writing")
            loader.write(address, data)
        for i, (address, data) in enumerate(pieces):
            progress(len(pieces) + i, 2 * len(pieces), "comparing")
            if (found := loader.read(address, len(data))) != data:
                at = next(address + k for k, (a, b) in enumerate(zip(found, data, strict=True)) if a != b)
                raise Refused(f"flash differs from the image at 0x{at:08X}")
    except Refused as refused:
        raise Refused(f"{refused}; the board holds no whole image now: flash it again") from refused
    loader.go(FLASH_START)


def pages_of(chip: Chip, size: int) -> range:
    """The sectors that hold the first `size` bytes."""
    covered = 0
    for count, sector in enumerate(chip.sectors, 1):
        covered += sector
        if covered >= size:
            return range(count)
    raise Refused(f"the image has {size} bytes and {chip.part} {sum(chip.sectors)}")


# ---------------------------------------------------------------- ST-LINK and USB


def _tool(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Refused(f"{name} is not on PATH: apt install {package}")
    return found


def _run(arguments: list[str]) -> tuple[int, str]:
    """Exit status and everything a tool said."""
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=TOOL_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Refused(f"{Path(arguments[0]).name} did not end within {TOOL_S} s; unplug the board, start again") from None
    return done.returncode, done.stdout + done.stderr


def openocd(chip: Chip, *commands: str) -> list[str]:
    """The command line of one openocd session."""
    target = {"stm32f4": "stm32f4x", "stm32g4": "stm32g4x"}[chip.name]
    script = "; ".join((*commands, "exit"))
    return [_tool("openocd", "openocd"), "-f", "interface/stlink.cfg", "-f", f"target/{target}.cfg", "-c", script]


def _by_openocd(chip: Chip, image: Path) -> None:
    status, said = _run(openocd(chip, "init", f"mdw 0x{IDCODE:08x}"))
    found = re.search(rf"0x{IDCODE:08x}: ([0-9a-f]{{8}})", said)
    if status or not found:
        raise Refused(f"no chip behind an ST-LINK: {_telling(said)}")
    number = int(found[1], 16) & 0xFFF
    if number != chip.rom_id:
        raise Refused(f"the chip is {part(number)}, the image is for {part(chip.rom_id)}; nothing was written")
    status, said = _run(openocd(chip, f"program {{{image}}} verify reset 0x{FLASH_START:08x}"))
    if status or "Verified OK" not in said:
        protected = "; its read-out protection is on" if re.search("protect|RDP", said, re.I) else ""
        raise Refused(f"openocd did not flash the image{protected}: {_telling(said)}; the board may hold no whole image")


def _by_dfu(chip: Chip, image: Path) -> None:
    tool = _tool("dfu-util", "dfu-util")
    _, said = _run([tool, "-d", DFU_ID, "-l"])
    found = re.search(r'alt=0.*name="@Internal Flash[^/]*/0x08000000/([^"]+)"', said)
    if not found:
        raise Refused(f"no STM32 in its USB boot loader: {_telling(said)}; hold BOOT0 high, reset, plug USB in")
    size = flash_of(found[1])
    if size != chip.flash_bytes:
        raise Refused(f"the chip on USB has {size >> 10} KB of flash, {chip.part} has {chip.flash_bytes >> 10} KB; nothing "
                      "was written")
    length = image.stat().st_size
    status, said = _run([tool, "-d", DFU_ID, "-a", "0", "-s", f"0x{FLASH_START:08x}", "-D", str(image)])
    if status:
        protected = "; its read-out protection may be on" if "errVENDOR" in said or "errTARGET" in said else ""
        raise Refused(f"dfu-util did not write the image{protected}: {_telling(said)}; the board may hold no whole image")
    with tempfile.TemporaryDirectory() as folder:
        back = Path(folder) / "back.bin"
        status, said = _run([tool, "-d", DFU_ID, "-a", "0", "-s", f"0x{FLASH_START:08x}:{length}", "-U", str(back)])
        if status or not back.is_file() or back.read_bytes()[:length] != image.read_bytes():
            raise Refused(f"what dfu-util reads back is not the image: {_telling(said)}; flash it again")
    _run([tool, "-d", DFU_ID, "-a", "0", "-s", f"0x{FLASH_START:08x}:leave", "-D", str(image)])


def flash_of(layout: str) -> int:
    """Bytes of a DFU memory layout such as 04*016Kg,01*064Kg,07*128Kg."""
    return sum(int(n) * int(size) << (10 if unit == "K" else 20)
               for n, size, unit in re.findall(r"(\d+)\*(\d+)([KM])", layout))


def _telling(said: str) -> str:
    """The line of a tool's output that says most."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if re.search("error|fail|no |not |cannot|unable", line, re.I)]
    return (telling or lines or ["it said nothing"])[-1]


# ---------------------------------------------------------------- who is there now


def _identity(link: str) -> str:
    """The digest that a running board reports, '' if none answers."""
    from host.link import Link
    from host.session import Session

    try:
        port = Link(link)
    except BadInput:
        return ""
    try:
        session = Session(port, listen_only=True)
        session.connect()
        return bytes(session.ident.digest).hex()
    except Refused:
        return ""
    finally:
        port.close()


def _confirmed(link: str, wanted: str, before: str) -> str:
    """The digest that the board reports now. Raises Refused unless it is the image's."""
    if link == AUTO:
        return _anywhere(wanted)
    after = _identity(link)
    if after == wanted:
        return after
    if not after:
        raise Refused(f"{link}: the image was written and compared, but no board answers; BOOT0 low again? reset it, then "
                      "femtorque monitor")
    old = "the one from before" if after == before else "another one"
    raise Refused(f"{link}: the image was written, but the board reports {old}: digest {after[:16]}..., expected "
                  f"{wanted[:16]}...; is this the port of the board that was flashed?")


def _anywhere(wanted: str) -> str:
    """The same of a board at any port."""
    answers = survey()
    if any(answer.identity and answer.identity["digest"] == wanted for answer in answers):
        return wanted
    seen = "; ".join(map(str, answers)) or "no USB serial port is plugged in"
    raise Refused(f"--port auto: the image was written and compared, but no board reports digest {wanted[:16]}... ({seen}); "
                  "is the link's cable plugged in, BOOT0 low again?")
