"""Writes an image by ST-LINK (openocd or pyocd), USB boot loader (dfu-util) or the ROM's boot loader over a UART. The
chip's type is checked, and the written bytes are read back and compared. If a step fails, the message names the present
content of the flash. Afterwards the board must report the image's configuration."""

import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import serial

from femtorque.codegen.board import Board, Chip, load_board
from femtorque.codegen.common import EXTRAS, BadInput, Refused
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.toolchain import BuildResult
from femtorque.host.flash.rom_loader import EXTENDED_ERASE, PIECE, RomLoader, part
from femtorque.host.link import DRIVEN, Link, Session, ask_port, is_auto, open_port, survey, wanted

Way = Literal["stlink", "pyocd", "dfu", "uart"]  # stlink: by openocd if it is installed, else by pyocd
Progress = Callable[[int, int, str], None]  # done, total, what

FLASH_START = 0x08000000
ROM_BAUD = 115_200
TOOL_S = 120  # time until a flash tool counts as hung, s
PACK_S = 900  # time until the download of a CMSIS pack counts as hung, s
# pyocd's target with the flash algorithm of each family, from ST's packs Keil.STM32F4xx_DFP and Keil.STM32G4xx_DFP
PYOCD_TARGETS = {"stm32f4": "stm32f405rgtx", "stm32g4": "stm32g474retx"}
HOW = {"openocd": "apt install openocd", "dfu-util": "apt install dfu-util",
       "pyocd": f"pip install '{EXTRAS['build']['pyocd']}'"}  # how a tool is installed
DFU_ID = "0483:df11"
IDCODE = 0xE0042000  # DBGMCU: the lower 12 bits identify the chip
UNDER_RESET = "reset_config srst_only srst_nogate connect_assert_srst"
ROM_START_S = 0.5  # time until the ROM's boot loader listens, s; a board resets after 0.1 s
USB_TRIES = 10  # number of waits of ROM_START_S until the host's USB system finds the boot loader


@dataclass(frozen=True)
class Flashed:
    """Result of flashing. before, after: digests that the board reported; '' if the board was not asked."""

    via: Way
    chip: str
    bytes_written: int
    before: str
    after: str
    unique: str = ""  # the chip's unique number; '' if unreadable
    brown_out: str = ""  # the present brown-out level; '' if unreadable
    advice: str = ""  # advice on the brown-out level


def flash(mechanism: Mechanism, built: BuildResult, via: Way, port: str | None, link: str | None, baud: int = ROM_BAUD,
          progress: Progress = lambda done, total, what: None, bor: bool = False) -> Flashed:
    """Write an image and ask for the board's identity. port: port of the boot loader (uart). link: the running board's
    port, at which the board is sent into its boot loader; "auto" to search all ports afterwards; None to ask no board.
    bor: true to set the brown-out level. Raises BadInput, Refused."""
    assert mechanism.board is not None
    board = load_board(mechanism.board.use)
    chip = board.chip
    image = built.image.read_bytes()
    if bor and via != "stlink":
        raise BadInput("command line", "--bor", None, f"cannot be done by --via {via}", "use --via stlink")
    if via == "uart":
        port = _checked_port(board, port, link)
    before = _running(link) if link and via != "uart" else None
    chip_is = Attached("", "")
    if via == "uart":
        assert port is not None
        with _started(port, baud, link) as device:
            chip_is = Attached(write_by_rom(device, chip, image, progress), "")
    elif via == "dfu":
        _by_dfu(chip, built.image, link)
    elif bor or _tool_of(via) == "openocd":
        chip_is = _by_openocd(chip, built.image, bor)
    else:
        chip_is = _by_pyocd(chip, built.image, progress)
    digest = before["digest"] if before else ""
    after = _confirmed(link, built.digest, digest, chip_is.unique) if link else None
    unique, level = (after["unique"], after["brown_out"]) if after else (chip_is.unique, chip_is.brown_out)
    out = chip.brown_out
    advice = f"; --via stlink --bor sets {out.levels[out.wanted]}" if level and level != out.levels[out.wanted] else ""
    return Flashed(via, chip.part, len(image), digest, after["digest"] if after else "", unique, level, advice)


# ---------------------------------------------------------------- into the boot loader


def enter_loader(link: str) -> bool:
    """Send the board at a port into its ROM's boot loader; False without an answer. Raises Refused if unsafe."""
    if is_auto(link):
        running = wanted(link, survey())
        if len(running) > 1:
            raise Refused(f"--port {link}: {len(running)} boards answer: {'; '.join(map(str, running))}; name the "
                          "port, or the chip by auto:ID")
        if not running:
            return False
        link = running[0].port
    try:
        port = Link(link)
    except BadInput:
        return False
    try:
        session = Session(port, listen_only=True)
        try:
            session.connect()
        except Refused:
            return False
        session.command("LOADER")
        return True
    finally:
        port.close()


def _checked_port(board: Board, port: str | None, link: str | None) -> str:
    """Return the port for the boot loader in ROM. Raises Refused if the boot loader cannot use the UART of the link."""
    if port is None or is_auto(port):
        raise BadInput("command line", "--port", port, "must be a device for --via uart",
                       "the UART that the chip's boot loader hears; it does not say who it is")
    if port == link and not board.loader_usart:
        where = ", ".join(f"{name} (TX {tx}, RX {rx})" for name, tx, rx in board.chip.rom.usarts)
        raise Refused(f"--via uart: the boot loader of {board.chip.part} does not hear the link of {board.name} "
                      f"({board.link.usart} at {board.link.tx.pin}, {board.link.rx.pin}), but {where}: wire an "
                      "adapter there and name it by --loader, or use --via stlink or dfu")
    return port


@contextmanager
def _started(port: str, baud: int, link: str | None) -> Iterator[RomLoader]:
    """Open the loader at a port. Ask the loader first: another byte would spoil its search for the baud rate."""
    device = _opened(port, baud)
    try:
        loader = RomLoader(device, port)
        if link and not loader.awake():
            device.close()
            if enter_loader(link):
                time.sleep(ROM_START_S)
            device = _opened(port, baud)
            loader = RomLoader(device, port)
        yield loader
    finally:
        device.close()


# ---------------------------------------------------------------- UART


def _opened(port: str, baud: int) -> Any:
    device: Any = open_port(port, baud)
    if not port.startswith(("socket://", "unix:")):
        try:
            device.parity = serial.PARITY_EVEN
        # the type of the exception depends on the operating system; a pseudo-terminal has no parity
        except Exception as error:
            device.close()
            raise BadInput(port, "port", None, f"cannot carry even parity ({error})",
                           "the boot loader talks 8E1") from error
    return device


def write_by_rom(loader: RomLoader, chip: Chip, image: bytes, progress: Progress = lambda done, total,
                 what: None) -> str:
    """Identify the chip, erase, write, compare, and start. Returns the chip's unique number, '' if unknown."""
    loader.start()
    known = loader.commands()
    number = loader.identify()
    if number != chip.rom_id:
        raise Refused(f"the chip is {part(number)}, the image is for {part(chip.rom_id)}; nothing was written")
    loader.read(FLASH_START, 4)  # a read-protected chip refuses this read before anything is erased
    try:
        unique = loader.read(chip.unique, 12).hex()
    except Refused:
        unique = ""
    image += b"\xff" * (-len(image) % 8)
    pages = pages_of(chip, len(image))
    progress(0, 1, f"erasing {len(pages)} sectors")
    pieces = [(FLASH_START + at, image[at:at + PIECE]) for at in range(0, len(image), PIECE)]
    try:
        loader.erase(pages, EXTENDED_ERASE in known)
        # the vector table is written last, so a partly written image cannot start
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
    return unique


def pages_of(chip: Chip, size: int) -> range:
    """Return the sectors that hold the first `size` bytes."""
    covered = 0
    for count, sector in enumerate(chip.sectors, 1):
        covered += sector
        if covered >= size:
            return range(count)
    raise Refused(f"the image has {size} bytes and {chip.part} {sum(chip.sectors)}")


# ---------------------------------------------------------------- ST-LINK and USB


def _tool(name: str) -> str:
    """Return a tool's path, on PATH or beside this Python."""
    found = shutil.which(name) or shutil.which(name, path=Path(sys.executable).parent)
    if found is None:
        raise Refused(f"{name} is not on PATH: {HOW[name]}")
    return found


def _tool_of(via: Way) -> str:
    """Return the tool for an ST-LINK. openocd needs no download, so it comes first."""
    return "openocd" if via == "stlink" and shutil.which("openocd") else "pyocd"


def _run(arguments: list[str], seconds: int = TOOL_S) -> tuple[int, str]:
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        tool = Path(arguments[0]).name
        raise Refused(f"{tool} did not end within {seconds} s; unplug the board, start again") from None
    return done.returncode, done.stdout + done.stderr


def openocd(chip: Chip, *commands: str, under_reset: bool = False) -> list[str]:
    """Return openocd's command line. under_reset: connect in reset, for a chip that sleeps or has no debug port."""
    target = {"stm32f4": "stm32f4x", "stm32g4": "stm32g4x"}[chip.name]
    before = (UNDER_RESET, "init", "reset halt") if under_reset else ("init",)
    script = "; ".join((*before, *commands, "exit"))
    return [_tool("openocd"), "-f", "interface/stlink.cfg", "-f", f"target/{target}.cfg", "-c", script]


@dataclass(frozen=True)
class Attached:
    """A chip's unique number and brown-out level; '' if unreadable."""

    unique: str
    brown_out: str


def _by_openocd(chip: Chip, image: Path, bor: bool = False) -> Attached:
    under_reset = _attach(chip, lambda under_reset: openocd(chip, f"mdw 0x{IDCODE:08x}", under_reset=under_reset))
    status, said = _run(openocd(chip, f"program {{{image}}} verify reset 0x{FLASH_START:08x}", under_reset=under_reset))
    if status or "Verified OK" not in said:
        protected = "; its read-out protection is on" if re.search("protect|RDP", said, re.I) else ""
        raise Refused(f"openocd did not flash the image{protected}: {_telling(said)}; "
                      "the board may hold no whole image")
    if bor:
        _set_brown_out(chip, under_reset)
    return _looked_at(chip, under_reset)


def _attach(chip: Chip, ask: Callable[[bool], list[str]]) -> bool:
    """Return True if the chip answers only in reset. ask: returns the command line that reads the device identifier.
    Raises Refused for another chip."""
    for under_reset in (False, True):
        status, said = _run(ask(under_reset))
        words = _words(said, IDCODE)
        if status or not words:
            continue
        if (number := words[0] & 0xFFF) != chip.rom_id:
            raise Refused(f"the chip is {part(number)}, the image is for {part(chip.rom_id)}; nothing was written")
        return under_reset
    raise Refused(f"no chip behind an ST-LINK, not under reset either: {_telling(said)}; is its NRST wired?")


def _words(said: str, address: int) -> list[int]:
    found = re.search(rf"{address:08x}:((?: +[0-9a-f]{{8}})+)", said)
    return [int(word, 16) for word in found[1].split()] if found else []


def _looked_at(chip: Chip, under_reset: bool) -> Attached:
    """Read a chip's data through an ST-LINK, then restart the program."""
    _, said = _run(openocd(chip, f"mdw 0x{chip.unique:08x} 3", f"mdw 0x{chip.brown_out.options:08x}", "reset run",
                           under_reset=under_reset))
    return _attached(chip, said)


def _attached(chip: Chip, said: str) -> Attached:
    """Return a chip's data from a tool's output."""
    options = chip.brown_out.options
    words, level = _words(said, chip.unique), _words(said, options)
    return Attached(struct.pack("<3I", *words).hex() if len(words) == 3 else "",
                    chip.brown_out.told(level[0]) if level else "")


def _set_brown_out(chip: Chip, under_reset: bool) -> None:
    """Write the safest brown-out level into the option bytes. All other option bits stay. Raises Refused."""
    out = chip.brown_out
    value = out.wanted << out.shift
    if chip.name == "stm32f4":  # RM0090 section 3.6.2: keys, value, start
        keys = out.options - 0x0C
        how = [f"mww 0x{keys:08x} 0x08192a3b", f"mww 0x{keys:08x} 0x4c5d6e7f",
               f"mmw 0x{out.options:08x} 0x{value:x} 0x{out.mask & ~value:x}", f"mmw 0x{out.options:08x} 0x2 0x0",
               "sleep 200"]
    else:  # openocd's own command unlocks the option bytes and reloads them
        how = [f"stm32l4x option_write 0 0x20 0x{value:08x} 0x{out.mask:08x}", "stm32l4x option_load 0"]
    # loading the option bytes resets the chip, which openocd may report as an error
    _run(openocd(chip, "reset halt", *how, under_reset=under_reset))
    level = _looked_at(chip, under_reset).brown_out
    if level != out.levels[out.wanted]:
        raise Refused(f"the image was written, but the brown-out level is {level or 'not readable'} instead of "
                      f"{out.levels[out.wanted]}")


def pyocd(target: str, mode: str, *commands: str) -> list[str]:
    """Return pyocd's command line for commands. mode: the state in which the chip is connected."""
    return [_tool("pyocd"), "commander", "-W", "-t", target, "-M", mode,
            *(word for command in commands for word in ("-c", command))]


def _by_pyocd(chip: Chip, image: Path, progress: Progress = lambda done, total, what: None) -> Attached:
    """Write an image by pyocd. The chip is identified first, by a target that needs no pack."""
    under_reset = _attach(chip, lambda under_reset: pyocd(
        "cortex_m", "under-reset" if under_reset else "attach", f"read32 0x{IDCODE:08x}"))
    target, mode = PYOCD_TARGETS[chip.name], "under-reset" if under_reset else "halt"
    _fetch_pack(target, progress)
    status, said = _run(_loading(target, mode, image))
    if status:
        raise Refused(f"pyocd did not flash the image: {_telling(said)}; the board may hold no whole image")
    with tempfile.TemporaryDirectory() as folder:
        back = Path(folder) / "back.bin"
        _, said = _run(pyocd(target, mode, f"savemem 0x{FLASH_START:08x} {image.stat().st_size} \"{back}\""))
        if not back.is_file() or back.read_bytes() != image.read_bytes():
            raise Refused(f"pyocd reads back another image: {_telling(said)}; flash it again")
    _, said = _run(pyocd("cortex_m", mode, f"read32 0x{chip.unique:08x} 12",
                         f"read32 0x{chip.brown_out.options:08x}", "reset"))
    return _attached(chip, said)


def _loading(target: str, mode: str, image: Path) -> list[str]:
    """Return pyocd's command line that writes an image."""
    return [_tool("pyocd"), "load", "-W", "-t", target, "-M", mode, "-a", f"0x{FLASH_START:08x}", "--format", "bin",
            str(image)]


def _fetch_pack(target: str, progress: Progress) -> None:
    """Install the CMSIS pack with the chip's flash algorithm, if it is missing. The download needs the network."""
    listed = [_tool("pyocd"), "list", "--targets", "-H", "-n", target]
    if target in _run(listed)[1]:
        return
    progress(0, 1, f"fetching the CMSIS pack of {target}, once")
    _, said = _run([_tool("pyocd"), "pack", "install", target], PACK_S)
    if target not in _run(listed)[1]:  # pyocd ends with status 0 even if nothing was installed
        raise Refused(f"no CMSIS pack of {target}, which pyocd needs once: {_telling(said)}; with a network, run "
                      f"`pyocd pack install {target}`; or {HOW['openocd']} and use --via stlink; nothing was written")


def _listed(tool: str) -> tuple[str, str]:
    """Return the flash layout that a USB boot loader reports ('' without a chip), and dfu-util's output."""
    _, said = _run([tool, "-d", DFU_ID, "-l"])
    found = re.search(r'alt=0.*name="@Internal Flash[^/]*/0x08000000/([^"]+)"', said)
    return found[1] if found else "", said


def _by_dfu(chip: Chip, image: Path, link: str | None = None) -> None:
    tool = _tool("dfu-util")
    layout, said = _listed(tool)
    if not layout and link and enter_loader(link):
        for _ in range(USB_TRIES):
            time.sleep(ROM_START_S)
            layout, said = _listed(tool)
            if layout:
                break
    if not layout:
        raise Refused(f"no STM32 in its USB boot loader: {_telling(said)}; hold BOOT0 high, reset, plug USB in")
    size = flash_of(layout)
    if size != chip.flash_bytes:
        raise Refused(f"the chip on USB has {size >> 10} KB of flash, {chip.part} has {chip.flash_bytes >> 10} KB; "
                      "nothing was written")
    length = image.stat().st_size
    status, said = _run([tool, "-d", DFU_ID, "-a", "0", "-s", f"0x{FLASH_START:08x}", "-D", str(image)])
    if status:
        protected = "; its read-out protection may be on" if "errVENDOR" in said or "errTARGET" in said else ""
        raise Refused(f"dfu-util did not write the image{protected}: {_telling(said)}; the board may hold no "
                      "whole image")
    with tempfile.TemporaryDirectory() as folder:
        back = Path(folder) / "back.bin"
        status, said = _run([tool, "-d", DFU_ID, "-a", "0", "-s", f"0x{FLASH_START:08x}:{length}", "-U", str(back)])
        if status or not back.is_file() or back.read_bytes()[:length] != image.read_bytes():
            raise Refused(f"what dfu-util reads back is not the image: {_telling(said)}; flash it again")
    _run([tool, "-d", DFU_ID, "-a", "0", "-s", f"0x{FLASH_START:08x}:leave", "-D", str(image)])


def flash_of(layout: str) -> int:
    """Return the bytes of a DFU memory layout, e.g. 04*016Kg,01*064Kg,07*128Kg."""
    return sum(int(n) * int(size) << (10 if unit == "K" else 20)
               for n, size, unit in re.findall(r"(\d+)\*(\d+)([KM])", layout))


def _telling(said: str) -> str:
    """Return the line of a tool's output that best explains a failure."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if re.search("error|fail|no |not |cannot|unable", line, re.I)]
    return (telling or lines or ["it said nothing"])[-1]


# ---------------------------------------------------------------- who is there now


def _running(link: str) -> dict[str, Any] | None:
    """Return the identity of the only board that answers. Raises Refused if the chip's reset would let its arm go."""
    found = wanted(link, survey()) if is_auto(link) else [ask_port(link)]
    if len(found) == 1 and found[0].state in (*DRIVEN, "HELD"):
        raise Refused(f"{found[0]}: its state is {found[0].state}: the chip's reset would let the arm go; disarm it "
                      "first")
    return found[0].identity if len(found) == 1 else None


def _identity(link: str) -> dict[str, Any] | None:
    return ask_port(link).identity


def _confirmed(link: str, digest: str, before: str, unique: str = "") -> dict[str, Any]:
    """Return the board's identity. unique: number of the flashed chip, or ''. Raises Refused for another digest."""
    if is_auto(link):
        return _anywhere(link, digest, unique)
    after = _identity(link)
    if after is None:
        raise Refused(f"{link}: the image was written and compared, but no board answers; BOOT0 low again? reset it, "
                      "then femtorque monitor")
    if unique and after["unique"] != unique:
        raise Refused(f"{link}: the image was written to chip {unique}, but the board there is chip {after['unique']}; "
                      "is this the port of the board that was flashed?")
    if after["digest"] == digest:
        return after
    old = "the one from before" if after["digest"] == before else "another one"
    raise Refused(f"{link}: the image was written, but the board reports {old}: digest {after['digest'][:16]}..., "
                  f"expected {digest[:16]}...; is this the port of the board that was flashed?")


def _anywhere(link: str, digest: str, unique: str) -> dict[str, Any]:
    """Find the board with this digest and chip number at any port."""
    answers = survey()
    found = [a for a in wanted(link, answers) if a.identity and a.identity["digest"] == digest
             and unique in ("", a.identity["unique"])]
    if len(found) > 1:
        raise Refused(f"--port {link}: the image was written and compared; which of these boards was it? "
                      f"{'; '.join(map(str, found))}; name the port, or the chip by auto:ID")
    if found and found[0].identity:
        return found[0].identity
    seen = "; ".join(map(str, answers)) or "no USB serial port is plugged in"
    raise Refused(f"--port {link}: the image was written and compared, but no board reports digest {digest[:16]}..."
                  f"{f' from chip {unique}' if unique else ''} ({seen}); is the link's cable plugged in, BOOT0 low "
                  "again?")
