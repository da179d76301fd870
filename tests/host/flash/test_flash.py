"""Tests flashing: the ROM's protocol with faults, the programmers' output, and the identity afterwards."""

import os
import pty
import random
import re
import stat
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from serial.tools import list_ports

from femtorque import Board
from femtorque.codegen.board.chip import family
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.toolchain import platformio
from femtorque.hil.board import VirtualBoard
from femtorque.hil.chip.stm32.chip import unique
from femtorque.hil.plant.rigid import Plant
from femtorque.host.flash import flashing as flashing
from femtorque.host.flash.flashing import pages_of, write_by_rom
from femtorque.host.flash.rom_loader import RomLoader
from tests.support.boards import FILE, IMAGES, image
from tests.support.rom_fake import NACK, RomFake
from tests.support.rom_port import at_a_port

F4, G4 = family("stm32f4"), family("stm32g4")
IMAGE = random.Random(4).randbytes(18_731)


def onto(fake: RomFake, image: bytes = IMAGE) -> RomFake:
    write_by_rom(RomLoader(fake, "the port"), fake.chip, image)
    return fake


# ---------------------------------------------------------------- the boot loader in ROM


@pytest.mark.parametrize(("chip", "sectors"), [(F4, 2), (G4, 10)])
def test_image_is_erased_for_written_compared_and_started(chip, sectors):
    fake = onto(RomFake(chip))
    assert bytes(fake.flash[:len(IMAGE)]) == IMAGE and fake.running
    assert fake.log[0] == f"erase {sectors}" and fake.log[-1] == "go 0x0"
    assert fake.log[1] == "write 0x100 256" and fake.log[-2] == "write 0x0 256"  # the vector table last
    covered = sum(chip.sectors[:sectors])
    assert set(fake.flash[covered:covered + 1000]) == {0}  # bytes outside the image's sectors are not changed


def test_a_loader_in_the_middle_of_a_command_is_led_out_of_it():
    fake = RomFake(F4)
    fake.write(b"\x7f" + bytes([0x31, 0xCE]) + bytes([0x08, 0, 0, 0, 0x08]) + bytes([200, 1, 2, 3]))
    fake.read(100)
    assert bytes(onto(fake).flash[:len(IMAGE)]) == IMAGE


def test_echoing_line_and_noise_before_the_start_do_not_matter():
    fake = RomFake(G4, echo=True)
    fake.noise(b"\x00\xff\x79\x1f garbage")
    assert bytes(onto(fake).flash[:len(IMAGE)]) == IMAGE


@pytest.mark.parametrize("seed", range(12))
def test_noise_on_the_line_costs_time_or_is_told_but_never_passes(seed):
    """One call in two hundred flips a bit. The image then runs, or a message names the failure and nothing runs."""
    dice = random.Random(seed)

    def noisy(data: bytes) -> bytes:
        if data and dice.random() < 0.005:
            at = dice.randrange(len(data))
            return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1:]
        return data

    fake = RomFake(F4)
    fake.to_chip = fake.to_host = noisy
    try:
        onto(fake)
    except Refused as refused:
        assert not fake.running and "\n" not in str(refused)
        assert "flash it again" in str(refused) or fake.log == []
    else:
        assert fake.running and bytes(fake.flash[:len(IMAGE)]) == IMAGE


def test_some_noise_is_survived():
    """On this line one acknowledgement is lost, and one block arrives with a flipped bit."""
    calls = {"chip": 0, "host": 0}
    fake = RomFake(F4)

    def to_chip(data: bytes) -> bytes:
        calls["chip"] += 1
        return data[:9] + bytes([data[9] ^ 4]) + data[10:] if calls["chip"] > 40 and len(data) > 100 and not (
            calls.__setitem__("chip", -10_000)) else data

    def to_host(data: bytes) -> bytes:
        calls["host"] += 1
        return b"" if calls["host"] == 101 else data

    fake.to_chip, fake.to_host = to_chip, to_host
    assert bytes(onto(fake).flash[:len(IMAGE)]) == IMAGE and calls["chip"] < 0 and calls["host"] > 101


def refusing(fake: RomFake) -> None:
    fake._machine = None
    fake.write = lambda data: fake.noise(NACK) or len(data)


@pytest.mark.parametrize(("keys", "change", "words"), [
    ({"number": 0x419}, None,
     r"the chip is STM32F42x/43x \(0x419\), the image is for STM32F405.*nothing was wri"),
    ({"protected": True}, None, "its read-out protection is on"),
    ({}, lambda fake: setattr(fake, "to_chip", lambda data: b""),
     "no answer from the chip's boot loader; hold BOOT0 high"),
    ({}, refusing, "boot loader"), ({}, lambda fake: setattr(fake, "stuck_page", 1), "flash it again"),
], ids=["another chip", "protected", "silent", "refusing", "does not erase"])
def test_a_chip_that_cannot_be_flashed_is_refused_before_it_is_erased_and_never_started(keys, change, words):
    fake = RomFake(F4, **keys)
    if change:
        change(fake)
    with pytest.raises(Refused, match=words):
        onto(fake)
    assert not fake.running and (fake.log == [] or words == "flash it again")


def test_flash_that_forgets_is_found_by_comparing():
    fake = RomFake(F4)
    said = fake._say

    def forgetful(data: bytes) -> None:
        if fake.log and fake.log[-1].startswith("write 0x4000 "):
            fake.flash[0x4003] ^= 0x10
        said(data)

    fake._say = forgetful
    with pytest.raises(Refused, match="flash differs from the image at 0x08004003; .* holds no whole image"):
        onto(fake)
    assert not fake.running


def test_an_image_larger_than_flash_is_refused():
    with pytest.raises(Refused, match="the image has 600000 bytes and STM32G474 524288"):
        pages_of(G4, 600_000)


# ---------------------------------------------------------------- programmers


def tool(folder: Path, name: str, script: str) -> None:
    """Write a fake programmer with a real programmer's output."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho \"$0 $@\" >> {folder}/calls\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)


@pytest.fixture
def image_file(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    path = tmp_path / "firmware.bin"
    path.write_bytes(IMAGE)
    return path


OPENOCD = """case "$*" in
*mdw*) echo "0xe0042000: 10076413" ;;
*program*) echo "** Verified OK **" ;;
esac"""


def test_openocd_is_asked_for_the_chip_then_told_to_program_and_verify(tmp_path, image_file):
    tool(tmp_path, "openocd", OPENOCD)
    flashing._by_openocd(F4, image_file)
    asked, told, *_ = (tmp_path / "calls").read_text().splitlines()
    assert "target/stm32f4x.cfg" in asked and "init; mdw 0xe0042000; exit" in asked
    assert f"program {{{image_file}}} verify reset 0x08000000; exit" in told


SLEEPING = """case "$*" in
*connect_assert_srst*) ;;
*) echo "Error: init mode failed (unable to connect to the target)" >&2; exit 1 ;;
esac
"""


def test_a_chip_that_sleeps_is_got_hold_of_under_reset(tmp_path, image_file):
    """The message is openocd's for a chip with its debug port off."""
    tool(tmp_path, "openocd", SLEEPING + OPENOCD)
    flashing._by_openocd(F4, image_file)
    first, *others = (tmp_path / "calls").read_text().splitlines()
    assert "connect_assert_srst" not in first
    assert all("-c reset_config srst_only srst_nogate connect_assert_srst; init; reset halt; " in call
               for call in others)
    assert any("verify" in call for call in others)


REGISTERS = """case "$*" in
*"option_write 0 0x20 0x00000300 0x00000700"*|*"mmw 0x40023c14 0x0 0xc"*) touch {folder}/set ;;
*"mdw 0x1fff7"*) echo "0x1fff7a10: 44434241 48474645 4c4b4a49"; echo "0x1fff7590: 44434241 48474645 4c4b4a49"
   if test -e {folder}/set; then echo "0x40023c14: 0fffaae1"; echo "0x40022020: ffeffbaa"
   else echo "0x40023c14: 0fffaaed"; echo "0x40022020: ffeff8aa"; fi ;;
esac
"""


@pytest.mark.parametrize(("chip", "before", "after"),
                         [(F4, "off", "level 3 (2.75 to 2.88 V)"), (G4, "level 0 (1.7 V)", "level 3 (2.47 to 2.57 V)")])
def test_option_bytes_are_read_always_and_written_only_when_told(tmp_path, image_file, chip, before, after):
    script = REGISTERS.replace("{folder}", str(tmp_path)) + OPENOCD.replace("413", f"{chip.rom_id:03x}")
    tool(tmp_path, "openocd", script)
    seen = flashing._by_openocd(chip, image_file)
    assert (seen.unique, seen.brown_out) == (b"ABCDEFGHIJKL".hex(), before)
    assert not any(word in (tmp_path / "calls").read_text() for word in ("option_write", "mmw", "mww"))
    assert flashing._by_openocd(chip, image_file, bor=True).brown_out == after
    calls = (tmp_path / "calls").read_text()
    if chip is F4:
        assert ("mww 0x40023c08 0x08192a3b; mww 0x40023c08 0x4c5d6e7f; "
                "mmw 0x40023c14 0x0 0xc; mmw 0x40023c14 0x2 0x0") in calls


def test_a_level_that_does_not_take_is_told(tmp_path, image_file):
    tool(tmp_path, "openocd", REGISTERS.replace("{folder}", "/nowhere") + OPENOCD)
    with pytest.raises(Refused, match=r"brown-out level is off instead of level 3 \(2.75 to 2.88 V\)"):
        flashing._by_openocd(F4, image_file, bor=True)


# the output of pyocd 0.46.0; a pack that cannot be fetched is a warning there, with status 0
PYOCD = """case "$*" in
*"pack install"*) touch {folder}/pack ;;
*"list --targets"*) test -e {folder}/pack && echo "  stm32f405rgtx   STMicroelectronics   STM32F405RGTx   pack" ;;
*savemem*) eval "set -- $8"; cp {folder}/firmware.bin "$4" ;;
*"read32 0xe0042000"*) echo "e0042000:  10076413    |.d..|" ;;
*"read32 0x1fff7a10"*) echo "1fff7a10:  44434241 48474645 4c4b4a49    |ABCDEFGHIJKL|"
                       echo "40023c14:  0fffaaed    |....|" ;;
esac"""


def test_pyocd_gets_the_chips_pack_once_and_reads_the_image_back(tmp_path, image_file, monkeypatch):
    tool(tmp_path, "pyocd", PYOCD.format(folder=tmp_path))
    said = []
    for _ in range(2):
        seen = flashing._by_pyocd(F4, image_file, lambda done, total, what: said.append(what))
    assert (seen.unique, seen.brown_out) == (b"ABCDEFGHIJKL".hex(), "off")
    calls = (tmp_path / "calls").read_text()
    assert calls.count("pack install stm32f405rgtx") == calls.count("-M attach -c read32 0xe0042000") / 2 == 1
    assert f"load -W -t stm32f405rgtx -M halt -a 0x08000000 --format bin {image_file}" in calls
    assert said == ["fetching the CMSIS pack of stm32f405rgtx, once"]


@pytest.mark.parametrize(("old", "new", "message"), [
    ("touch {folder}/pack", "true", r"no CMSIS pack of stm32f405rgtx, .*`pyocd pack install stm32f405rgtx`.*openocd"),
    ('"e0042000', '"no probe', "no chip behind an ST-LINK, not under reset either"),
    ("6413", "6469", r"the chip is STM32G47x/48x \(0x469\), the image is for STM32F405.*nothing was written"),
    ("cp {folder}/firmware.bin", "true", "pyocd reads back another image.*flash it again"),
    ("*savemem", '"load "*) echo "Error: erase failed" >&2; exit 1 ;;\n*savemem', "pyocd did not flash the image"),
])
def test_what_goes_wrong_with_pyocd_is_told(tmp_path, image_file, old, new, message):
    assert old in PYOCD
    tool(tmp_path, "pyocd", PYOCD.replace(old, new).format(folder=tmp_path))
    with pytest.raises(Refused, match=message):
        flashing._by_pyocd(F4, image_file)


def test_pyocd_itself_understands_what_it_is_told(image_file):
    """Without an ST-LINK pyocd ends after it has read its command line."""
    for line in (flashing.pyocd("cortex_m", "under-reset", "read32 0xe0042000", "reset"),
                 flashing._loading("cortex_m", "halt", image_file)):
        _, said = flashing._run(line)
        assert re.search("No (connected debug probes|target device available)", said), said


def test_an_st_link_is_used_by_openocd_if_it_is_installed_and_by_pyocd_otherwise(tmp_path, image_file):
    assert flashing._tool_of("stlink") == "pyocd"
    tool(tmp_path, "openocd", OPENOCD)
    assert flashing._tool_of("stlink") == "openocd" and flashing._tool_of("pyocd") == "pyocd"


def test_only_an_st_link_writes_option_bytes(built):
    with pytest.raises(BadInput,
                       match="--bor cannot be done by --via dfu; use --via stlink|cannot be done by --via dfu"):
        flashing.flash(*built, "dfu", None, None, bor=True)


@pytest.mark.parametrize(("script", "message"), [
    ("echo 'Error: open failed' >&2; exit 1", "no chip behind an ST-LINK, not under reset either: Error: open failed"),
    (OPENOCD.replace("413", "469"),
     r"the chip is STM32G47x/48x \(0x469\), the image is for STM32F405.*nothing was written"),
    (OPENOCD.replace("** Verified OK **", "Error: stm32x device protected; exit"), "read-out protection is on"),
    (OPENOCD.replace("** Verified OK **", "** Verify Failed **"), "did not flash the image: .*Verify Failed"),
])
def test_what_goes_wrong_behind_an_st_link_is_told(tmp_path, image_file, script, message):
    tool(tmp_path, "openocd", script)
    with pytest.raises(Refused, match=message):
        flashing._by_openocd(F4, image_file)


LISTED = 'Found DFU: [0483:df11] alt=0, name="@Internal Flash  /0x08000000/04*016Kg,01*064Kg,07*128Kg"'
DFU = f"""case "$*" in
*" -l"*) echo '{LISTED}' ;;
*" -U "*) for last; do :; done; cp {{folder}}/flashed "$last" ;;
*leave*) ;;
*" -D "*) for last; do :; done; cp "$last" {{folder}}/flashed ;;
esac"""


def test_dfu_util_writes_and_what_it_reads_back_is_compared(tmp_path, image_file):
    tool(tmp_path, "dfu-util", DFU.replace("{folder}", str(tmp_path)))
    flashing._by_dfu(F4, image_file)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 4 and "-s 0x08000000:18731 -U" in calls[2] and ":leave" in calls[3]


@pytest.mark.parametrize(("old", "new", "message"), [
    (LISTED, "dfu-util: No DFU capable USB device available", "no STM32 in its USB boot loader"),
    ("07*128Kg", "03*128Kg", "has 512 KB of flash, STM32F405 has 1024 KB; nothing was written"),
    ('cp "$last" {folder}/flashed', "echo 'errVENDOR: status' >&2; exit 1", "its read-out protection may be on"),
    ('cp {folder}/flashed "$last"', 'echo rubbish > "$last"', "reads back is not the image"),
])
def test_what_goes_wrong_on_usb_is_told(tmp_path, image_file, old, new, message):
    assert old in DFU
    tool(tmp_path, "dfu-util", DFU.replace(old, new).replace("{folder}", str(tmp_path)))
    with pytest.raises(Refused, match=message):
        flashing._by_dfu(F4, image_file)


def test_a_missing_programmer_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(flashing.sys, "executable", str(tmp_path / "python"))
    for way, name, how in ((flashing._by_openocd, "openocd", "apt install openocd"),
                           (flashing._by_pyocd, "pyocd", "pip install 'pyocd>=0.46'"),
                           (flashing._by_dfu, "dfu-util", "apt install dfu-util")):
        with pytest.raises(Refused, match=f"{name} is not on PATH: {how}"):
            way(F4, tmp_path / "firmware.bin")


# ---------------------------------------------------------------- the whole way


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build for a board with its link on a UART of the boot loader in ROM."""
    file = tmp_path_factory.mktemp("flash") / "three_link.toml"
    file.write_text(FILE.read_text(encoding="utf-8").replace("f405rg-4", "nucleo-g474re-6"), encoding="utf-8")
    mechanism = load_mechanism(file)
    return mechanism, platformio.build_image(mechanism, IMAGES / "nucleo-g474re-6-flashed")


@contextmanager
def running(built, number):
    """Run the image on a virtual board, in real time from `start` on."""
    mechanism, result = built
    stop = threading.Event()
    with VirtualBoard(result.elf, mechanism, Plant(mechanism), number=number) as board:
        thread = threading.Thread(target=board.serve, kwargs={"until": stop.is_set}, daemon=True)

        def start(flash: bytes) -> str:
            assert flash[:len(board.image.flash)] == board.image.flash
            if not thread.is_alive():
                board.run(0.1)
                thread.start()
            return board.url

        board.start = start
        yield board
        stop.set()
        if thread.is_alive():
            thread.join()


@pytest.fixture
def board(built, patient):
    with running(built, 7) as board:
        yield board


def says(result) -> str:
    return (f"{result.image.stat().st_size} bytes written to STM32G474 and compared; the board reports digest "
            f"{result.digest[:16]}\nchip {unique(7).hex()}\nbrown-out reset level 0 (1.7 V); --via stlink --bor sets "
            "level 3 (2.47 to 2.57 V)\n")


def of_chip() -> RomFake:
    fake = RomFake(G4)
    fake.unique = unique(7)
    return fake


def test_a_running_board_is_sent_into_its_rom_flashed_there_and_says_who_it_is(built, board):
    """Old image, ROM and new image communicate through the same port. BOOT0 stays low."""
    mechanism, result = built
    with running(built, 7) as old:
        old.start(result.image.read_bytes())
        fake = of_chip()
        with at_a_port(fake, board.start, before=old) as port:
            done = flashing.flash(mechanism, result, "uart", port, port)
        assert old.chip.in_rom and old.outputs_safe()
    assert fake.log[-1] == "go 0x0" and done.after == result.digest and done.unique == unique(7).hex()


def test_an_armed_board_is_not_sent_into_its_rom(built, board):
    mechanism, result = built
    board.start(result.image.read_bytes())
    arm = Board.connect(board.url, mechanism)
    arm.home()
    arm.arm()
    with pytest.raises(Refused, match="the board refused LOADER: WRONG_STATE"):
        arm.session.command("LOADER")
    assert arm.state == "HOLD"
    arm.close(hold=True)
    with pytest.raises(Refused, match=r"its state is HOLD: the chip's reset would let the arm go; disarm it first"):
        flashing.flash(mechanism, result, "stlink", None, board.url)
    assert not board.chip.in_rom


def test_a_link_that_the_rom_does_not_hear_is_refused_with_the_pins_that_it_hears():
    mechanism, result = image("f405rg-4")
    with pytest.raises(Refused,
                       match=r"the boot loader of STM32F405 does not hear the link of f405rg-4 \(USART2 at PA2, "
                             r"PA3\), but "
                                      r"USART1 \(TX PA9, RX PA10\), USART3 \(TX PB10, RX PB11\).*--loader"):
        flashing.flash(mechanism, result, "uart", "socket://127.0.0.1:9", "socket://127.0.0.1:9")


def test_another_chip_that_carries_the_same_image_is_not_taken_for_the_one_that_was_flashed(built, board, monkeypatch):
    mechanism, result = built
    board.start(result.image.read_bytes())
    with pytest.raises(Refused,
                       match=f"was written to chip {unique(8).hex()}, but the board there is chip {unique(7).hex()}"):
        flashing._confirmed(board.url, result.digest, "", unique(8).hex())
    monkeypatch.setattr(list_ports, "comports", lambda: [SimpleNamespace(device=board.url, description="", vid=1)])
    with pytest.raises(Refused, match=f"no board reports digest .* from chip {unique(8).hex()}"):
        flashing._confirmed("auto", result.digest, "", unique(8).hex())
    assert flashing._confirmed(f"auto:{unique(7).hex()[:6]}", result.digest, "")["unique"] == unique(7).hex()


def test_what_is_flashed_by_uart_runs_and_says_who_it_is(built, board, here):
    """First the boot loader uses the port. After the program's start, the virtual board's link uses the same port."""
    mechanism, result = built
    with at_a_port(of_chip(), board.start) as port:
        done = here("flash", mechanism.source, "--via", "uart", "--port", port)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (0, says(result), 0)
        with pytest.raises(Refused, match="the board reports the one from before"):
            flashing._confirmed(port, "00" * 32, result.digest)


def test_what_is_flashed_by_st_link_says_who_it_is_at_a_port_that_nobody_named(built, board, here,
                                                                               monkeypatch, tmp_path):
    mechanism, result = built
    tool(tmp_path, "openocd", OPENOCD.replace("413", "469"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(list_ports, "comports", lambda: [SimpleNamespace(device=board.url, description="", vid=1)])
    board.start(result.image.read_bytes())
    done = here("flash", mechanism.source, "--port", "auto")
    assert (done.returncode, done.stdout, done.stderr) == (0, says(result), "")
    assert "firmware.bin} verify reset 0x08000000" in (tmp_path / "calls").read_text()


def test_a_line_without_parity_is_no_boot_loader(built, here):
    ours, theirs = pty.openpty()
    try:
        done = here("flash", built[0].source, "--via", "uart", "--port", os.ttyname(theirs))
        assert done.returncode == 2 and "cannot carry even parity" in done.stderr
    finally:
        os.close(ours)
        os.close(theirs)


def test_auto_names_who_answers_when_no_board_carries_what_was_flashed(monkeypatch):
    monkeypatch.setattr(list_ports, "comports",
                        lambda: [SimpleNamespace(device="socket://127.0.0.1:9", description="", vid=1)])
    with pytest.raises(Refused, match="no board reports digest abababababababab.*9: cannot be opened"):
        flashing._confirmed("auto", "ab" * 32, "")


def test_a_board_that_stays_silent_after_flashing_is_a_failure(built, monkeypatch):
    mechanism, result = built
    fake = RomFake(G4)
    monkeypatch.setattr(flashing, "_opened", lambda port, baud: fake)
    with pytest.raises(Refused, match="written and compared, but no board answers"):
        flashing.flash(mechanism, result, "uart", "loader", "socket://127.0.0.1:9")


@pytest.mark.parametrize("port", [None, "auto"])
def test_uart_needs_a_port_that_is_named(built, port):
    with pytest.raises(BadInput, match="must be a device for --via uart"):
        flashing.flash(*built, "uart", port, None)
