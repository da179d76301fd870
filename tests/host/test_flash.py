"""Flashing: the boot loader's protocol against a fake of the ROM, with wrong chips, protection, echoes and noise; the
programmers' command lines and words; the identity afterwards."""

from __future__ import annotations

import os
import pty
import random
import stat
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from serial.tools import list_ports

from codegen import build
from codegen.chips import family
from codegen.errors import BadInput, Refused
from hil.board import VirtualBoard
from hil.plant import Plant
from host import flash as flashing
from host.flash import flash_of, pages_of, write_by_rom
from host.rom_loader import RomLoader
from tests.host.rom_fake import NACK, RomFake
from tests.host.rom_port import at_a_port

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
    assert set(fake.flash[covered:covered + 1000]) == {0}  # what the image does not need stays


def test_a_loader_that_is_in_touch_already_is_taken_as_it_is():
    fake = RomFake(F4)
    fake.write(b"\x7f")
    fake.read(1)
    assert bytes(onto(fake).flash[:len(IMAGE)]) == IMAGE


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
    """Bits flip in one call of two hundred, in both directions. Either the flash holds the image and it was started, or
    one line says what went wrong and that the board holds no whole image, and nothing runs."""
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
    """One acknowledgement is lost and one piece arrives with a flipped bit."""
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


def test_another_chip_is_refused_by_name_and_left_alone():
    fake = RomFake(F4, number=0x419)
    with pytest.raises(Refused, match=r"the chip is STM32F42x/43x \(0x419\), the image is for STM32F405.*nothing was wri"):
        onto(fake)
    assert fake.log == []


def test_read_out_protection_is_told_before_anything_is_erased():
    fake = RomFake(F4, protected=True)
    with pytest.raises(Refused, match="its read-out protection is on"):
        onto(fake)
    assert fake.log == [] and not fake.running


def test_a_silent_port_says_how_to_get_into_the_loader():
    fake = RomFake(F4)
    fake.to_chip = lambda data: b""
    with pytest.raises(Refused, match="no answer from the chip's boot loader; hold BOOT0 high"):
        onto(fake)


def test_flash_that_does_not_erase_is_told_and_not_started():
    fake = RomFake(F4)
    fake.stuck_page = 1
    with pytest.raises(Refused, match="flash it again"):
        onto(fake)
    assert not fake.running


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


def test_a_loader_that_refuses_everything_is_not_waited_for_without_end():
    fake = RomFake(F4)
    fake._machine = None
    fake.write = lambda data: fake.noise(NACK) or len(data)
    with pytest.raises(Refused):
        onto(fake)


def test_an_image_larger_than_flash_is_refused():
    with pytest.raises(Refused, match="the image has 600000 bytes and STM32G474 524288"):
        pages_of(G4, 600_000)


# ---------------------------------------------------------------- programmers


def tool(folder: Path, name: str, script: str) -> None:
    """A programmer that says what a real one says."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho \"$0 $@\" >> {folder}/calls\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)


@pytest.fixture
def image(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    path = tmp_path / "firmware.bin"
    path.write_bytes(IMAGE)
    return path


OPENOCD = """case "$*" in
*mdw*) echo "0xe0042000: 10076413" ;;
*program*) echo "** Verified OK **" ;;
esac"""


def test_openocd_is_asked_for_the_chip_then_told_to_program_and_verify(tmp_path, image):
    tool(tmp_path, "openocd", OPENOCD)
    flashing._by_openocd(F4, image)
    asked, told = (tmp_path / "calls").read_text().splitlines()
    assert "target/stm32f4x.cfg" in asked and "init; mdw 0xe0042000; exit" in asked
    assert f"program {{{image}}} verify reset 0x08000000; exit" in told


@pytest.mark.parametrize(("script", "message"), [
    ("echo 'Error: open failed' >&2; exit 1", "no chip behind an ST-LINK: Error: open failed"),
    (OPENOCD.replace("413", "469"), r"the chip is STM32G47x/48x \(0x469\), the image is for STM32F405.*nothing was written"),
    (OPENOCD.replace("** Verified OK **", "Error: stm32x device protected; exit"), "read-out protection is on"),
    (OPENOCD.replace("** Verified OK **", "** Verify Failed **"), "did not flash the image: .*Verify Failed"),
])
def test_what_goes_wrong_behind_an_st_link_is_told(tmp_path, image, script, message):
    tool(tmp_path, "openocd", script)
    with pytest.raises(Refused, match=message):
        flashing._by_openocd(F4, image)


LISTED = 'Found DFU: [0483:df11] alt=0, name="@Internal Flash  /0x08000000/04*016Kg,01*064Kg,07*128Kg"'
DFU = f"""case "$*" in
*" -l"*) echo '{LISTED}' ;;
*" -U "*) for last; do :; done; cp {{folder}}/flashed "$last" ;;
*leave*) ;;
*" -D "*) for last; do :; done; cp "$last" {{folder}}/flashed ;;
esac"""


def test_dfu_util_writes_and_what_it_reads_back_is_compared(tmp_path, image):
    tool(tmp_path, "dfu-util", DFU.replace("{folder}", str(tmp_path)))
    flashing._by_dfu(F4, image)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 4 and "-s 0x08000000:18731 -U" in calls[2] and ":leave" in calls[3]


@pytest.mark.parametrize(("old", "new", "message"), [
    (LISTED, "dfu-util: No DFU capable USB device available", "no STM32 in its USB boot loader"),
    ("07*128Kg", "03*128Kg", "has 512 KB of flash, STM32F405 has 1024 KB; nothing was written"),
    ('cp "$last" {folder}/flashed', "echo 'errVENDOR: status' >&2; exit 1", "its read-out protection may be on"),
    ('cp {folder}/flashed "$last"', 'echo rubbish > "$last"', "reads back is not the image"),
])
def test_what_goes_wrong_on_usb_is_told(tmp_path, image, old, new, message):
    assert old in DFU
    tool(tmp_path, "dfu-util", DFU.replace(old, new).replace("{folder}", str(tmp_path)))
    with pytest.raises(Refused, match=message):
        flashing._by_dfu(F4, image)


def test_dfu_layouts_are_added_up():
    assert flash_of("04*016Kg,01*064Kg,07*128Kg") == F4.flash_bytes and flash_of("256*02Kg") == G4.flash_bytes


def test_a_missing_programmer_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for way, package in ((flashing._by_openocd, "openocd"), (flashing._by_dfu, "dfu-util")):
        with pytest.raises(Refused, match=f"{package} is not on PATH: apt install {package}"):
            way(F4, tmp_path / "firmware.bin")


# ---------------------------------------------------------------- the whole way


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    from tests.hil import rig

    mechanism = rig.three_link()
    return mechanism, build.build(mechanism, rig.place())


@pytest.fixture
def board(built, patient):
    """The image on the virtual board, in real time from `start` on."""
    mechanism, result = built
    stop = threading.Event()
    with VirtualBoard(result.elf, mechanism, Plant(mechanism)) as board:
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


def says(result) -> str:
    return (f"{result.image.stat().st_size} bytes written to STM32F405 and compared; the board reports digest "
            f"{result.digest[:16]}\n")


def test_what_is_flashed_by_uart_runs_and_says_who_it_is(built, board, here):
    """The command as it is typed: one port is the chip's boot loader until it has started what it was given, and then the
    link of the virtual board."""
    mechanism, result = built
    with at_a_port(RomFake(F4), board.start) as port:
        done = here("flash", mechanism.source, "--via", "uart", "--port", port)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (0, says(result), 0)
        with pytest.raises(Refused, match="the board reports the one from before"):
            flashing._confirmed(port, "00" * 32, result.digest)


def test_what_is_flashed_by_st_link_says_who_it_is_at_a_port_that_nobody_named(built, board, here, monkeypatch, tmp_path):
    mechanism, result = built
    tool(tmp_path, "openocd", OPENOCD)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(list_ports, "comports", lambda: [SimpleNamespace(device=board.url, description="", vid=1)])
    board.start(result.image.read_bytes())
    done = here("flash", mechanism.source, "--port", "auto")
    assert (done.returncode, done.stdout, done.stderr) == (0, says(result), "")
    assert str(result.image) in (tmp_path / "calls").read_text()


def test_a_line_without_parity_is_no_boot_loader(built, here):
    ours, theirs = pty.openpty()
    try:
        done = here("flash", built[0].source, "--via", "uart", "--port", os.ttyname(theirs))
        assert done.returncode == 2 and "cannot carry even parity" in done.stderr
    finally:
        os.close(ours)
        os.close(theirs)


def test_auto_names_who_answers_when_no_board_carries_what_was_flashed(monkeypatch):
    monkeypatch.setattr(list_ports, "comports", lambda: [SimpleNamespace(device="socket://127.0.0.1:9", description="", vid=1)])
    with pytest.raises(Refused, match="no board reports digest abababababababab.*9: cannot be opened"):
        flashing._confirmed("auto", "ab" * 32, "")


def test_a_board_that_stays_silent_after_flashing_is_a_failure(built, monkeypatch):
    mechanism, result = built
    fake = RomFake(F4)
    monkeypatch.setattr(flashing, "_opened", lambda port, baud: fake)
    with pytest.raises(Refused, match="written and compared, but no board answers"):
        flashing.flash(mechanism, result, "uart", "loader", "socket://127.0.0.1:9")


@pytest.mark.parametrize("port", [None, "auto"])
def test_uart_needs_a_port_that_is_named(built, port):
    with pytest.raises(BadInput, match="must be a device for --via uart"):
        flashing.flash(*built, "uart", port, None)
