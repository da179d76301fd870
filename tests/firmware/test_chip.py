"""The chip folders on the virtual chip, below small applications: timing of duties and directions, missed deadlines,
e-stop, failing crystals, faults, watchdog, link. Each test runs on both families, and without break inputs or
repetition counters."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from unicorn.arm_const import UC_ARM_REG_SP

from femtorque.codegen.board import channels, reader as boards
from femtorque.codegen.common import kept, key_of, program
from femtorque.codegen.drive import application
from femtorque.codegen.emit import board_header
from femtorque.codegen.mechanism import Safety
from femtorque.codegen.mechanism.description import Brake
from femtorque.hil.chip import FIRST_IRQ, Image, family as chips
from femtorque.hil.chip.stm32.chip import unique
from femtorque.hil.chip.stm32.serial import FE
from tests.support.boards import three_link
from tests.support.suite import ROOT

CHIP = ROOT / "firmware" / "chip"
GCC = ["arm-none-eabi-gcc", "-std=c99", "-O2", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16",
       "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"]
BOARDS = ("f405rg-4", "nucleo-g474re-6", "f405rg-6")
BREAK_FILTER = 0.3e-6  # time of 48 clocks of 170 MHz, and of the remaining part of an instruction, s

APPLICATION = """
#include "ft_app.h"
#include "ft_chip.h"
uint32_t errors, ticks, missed, starts, cause, remembered;
int32_t place[3];
"""
QUIET = """
void ft_app_missed(void) { missed++; }
void ft_app_idle(void) { ft_chip_feed_watchdog(); ft_chip_wait(); }
"""
START = """
void ft_app_start(uint32_t e) { errors = e; cause = ft_chip_reset_cause(); remembered = ft_chip_remembered(); }
"""
ECHO = """
void ft_app_missed(void) { missed++; }
void ft_app_idle(void)
{
    static uint8_t bytes[64];
    size_t size = ft_chip_receive(bytes, sizeof bytes);
    while (size && !ft_chip_send(bytes, size)) { uint8_t none; (void)ft_chip_receive(&none, 0); }
    ft_chip_feed_watchdog();
}
"""


# only mechanisms with drives on buses use these files
OF_BUSES = {"ft_buses.c", "ft_can.c", "ft_wires.c", "ft_half_duplex.c"}


@cache
def headers() -> dict[str, str]:
    """Return {name: text}: the portable application's headers, and the emitted header of frames."""
    own = {name: path.read_text(encoding="utf-8") for name, path in application().items() if name.endswith(".h")}
    return own | {"ft_frame_bytes.h": "#define FT_FRAME_BYTES 8u\n"}


@cache
def compiled(root: Path, folders: tuple[str, ...], board: str) -> list[Path]:
    """Return the objects of the chip folders for one ft_board.h."""
    parts = {path.name: path.read_text(encoding="utf-8") for name in folders for path in (root / name).glob("*.[ch]")}
    given = headers() | {name: text for name, text in parts.items() if name.endswith(".h")} | {"ft_board.h": board}
    return [made(given | {name: parts[name]}, "-c", name) for name in sorted(parts)
            if name.endswith(".c") and name not in OF_BUSES]


def made(files: dict[str, str], *arguments: str | Path) -> Path:
    """Return the objects of files {name: text}. Equal sets share one, so one changed file costs little."""
    def make(entry: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (Path(folder) / name).write_text(text, encoding="utf-8")
            subprocess.run([*GCC, *arguments, "-o", entry / "made"], check=True, cwd=folder)

    texts = (part for name in sorted(files) for part in (name, files[name]))
    return kept(key_of(program(str(shutil.which(GCC[0]))), *GCC, *map(str, arguments), *texts), make) / "made"


class Machine:
    """The chip folders with an application on the virtual chip. On the board, three joints are wired as in
    three_link."""

    def __init__(self, folder: Path, application: str, name: str = "f405rg-4", rate_hz: int = 1000,
                 pwm_hz: int = 20_000,
                 crystal: bool = True, drive: str = "voltage", motor: dict[str, float] | None = None) -> None:
        mechanism = three_link(name, folder)
        joints = tuple(replace(j, motor=replace(j.motor, drive=drive, **motor or {})) if j.motor else j
                       for j in mechanism.joints)
        self.mechanism = replace(mechanism, control=replace(mechanism.control, rate_hz=rate_hz), joints=joints,
                                 board=replace(mechanism.board, pwm_hz=pwm_hz))
        self.board = boards.load_board(name)
        header = board_header.render(self.mechanism, self.board)["ft_board.h"]
        folders = self.board.chip.folders
        script = (CHIP / folders[-1] / "memory.ld").read_text(encoding="utf-8")
        elf = made(headers() | {"app.c": APPLICATION + application, "memory.ld": script}, "app.c",
                   *compiled(CHIP, folders, header), "-nostartfiles", "-nostdlib", "-Tmemory.ld", "-lgcc")
        model = chips.chip_model(self.board.chip)
        self.image = Image.load(elf, model.REGIONS[0].start, model.REGIONS[0].size)
        self.chip = model(self.image.flash, self.board.hse_hz if crystal else None)
        self.channels = [c for _, c in channels.served(self.mechanism, self.board)]
        self.timer = self.chip.timers[self.channels[0].pwm.timer]
        self.usart = self.chip.usarts[self.board.link.usart]
        self.tick_cycles = self.board.chip.sysclk_hz // rate_hz
        self.estop(False)

    def estop(self, pressed: bool) -> None:
        for loop in self.board.outputs.estop:
            self.port(loop.pin).drive(int(loop.pin[2:]), not pressed)
            if loop.timer:
                self.chip.timers[loop.timer].set_break(pressed)

    def port(self, pin: str):  # noqa: ANN201
        return self.chip.gpio[pin[1]]

    def run(self, seconds: float) -> Machine:
        self.chip.run(self.chip.seconds + seconds)
        return self

    def __getitem__(self, symbol: str) -> int:
        name, _, index = symbol.partition("+")
        address = self.image.symbol(name).address + 4 * int(index or 0)
        return int.from_bytes(self.chip.core.memory(address, 4), "little", signed=name == "place")

    def poke(self, symbol: str, value: int) -> None:
        self.chip.core.load(self.image.symbol(symbol).address, value.to_bytes(4, "little"))

    @property
    def drivers_on(self) -> bool:
        enable = self.board.outputs.enable
        return self.port(enable).driven(int(enable[2:]))

    @property
    def outputs(self) -> tuple[float, ...]:
        """Return the signed duties of the three joints at the pins, to three digits. A count is 1/4200 or less."""
        return tuple(round((-1 if self.port(c.direction).driven(int(c.direction[2:])) else 1)
                           * self.chip.timers[c.pwm.timer].duty(c.pwm.output), 3) for c in self.channels)


@pytest.fixture
def machine_of(tmp_path):
    return lambda application, **options: Machine(tmp_path, application, **options)


@pytest.fixture(params=BOARDS)
def machine(tmp_path, request):
    return lambda application, **options: Machine(tmp_path, application, **{"name": request.param, **options})


# ---------------------------------------------------------------- duties

# Joint 0 changes the sign and size of its duty in each tick. The duty of joint 1 follows another pattern. Joint 2 stays
# at rest.
PATTERN = START + QUIET + """
void ft_app_tick(void)
{
    if (ticks == 1) ft_chip_outputs(true);
    float duty[] = { ticks % 2 ? -0.25f : 0.75f, ticks % 3 ? 0.5f : -0.125f, 0.0f };
    ft_chip_duties(duty);
    ticks++;
}
"""


def test_duty_of_a_tick_is_held_over_the_next_whole_tick(machine):
    board = machine(PATTERN).run(0.02)
    assert (board["errors"], board["missed"]) == (0, 0) and board.drivers_on
    for _ in range(12):
        done = board["ticks"]
        while board["ticks"] == done:
            board.run(20e-6)
        board.run(0.4e-3)  # inside the interval in which the previous tick's duty is held
        k = done - 1
        assert board.outputs == (-0.25 if k % 2 else 0.75, 0.5 if k % 3 else -0.125, 0.0)


def test_direction_switches_within_the_low_time_around_the_update(machine):
    """The direction pin changes at most 100 cycles after the new magnitude takes effect. On boards where every PWM
    period has an update, the sign changes at most 2.5 us before the update."""
    board = machine(PATTERN).run(0.02)
    events = board.chip.core.events
    updates: list[int] = []
    switches: list[int] = []
    board.timer.on_update = lambda: updates.append(events.now)
    board.port(board.channels[0].direction).hear(0xFFFF, lambda: switches.append(events.now))
    board.run(0.05)
    assert len(updates) >= 49 and len(switches) >= 49
    if board.board.tick_preload:
        delays = [min(s - u for u in updates if u <= s) for s in switches if s > updates[0]]
        assert max(delays) <= 100, max(delays)
    else:
        leads = [min(u - s for u in updates if u >= s) for s in switches if s < updates[-1]]
        assert max(leads) <= 2.5e-6 * 168e6 and min(leads) > 100, leads


def test_updates_and_ticks_keep_their_distance(machine):
    """Timer and tick use the same clock, so the time from update to tick does not drift."""
    board = machine(PATTERN).run(0.02)
    pairs: list[int] = []
    updates: list[int] = []
    board.timer.on_update = lambda: updates.append(board.chip.core.events.now)
    board.chip.core.scs.systick.hear(lambda: pairs.append(board.chip.core.events.now - updates[-1]))
    board.run(0.3)
    tick = board.tick_cycles // (1 if board.board.tick_preload else board.mechanism.board.pwm_hz // 1000)
    assert len(updates) >= 299
    jitter = 1 if board.board.tick_preload else 30  # the model may see an update late, at the end of a block
    assert max(abs(b - a - tick) for a, b in zip(updates, updates[1:], strict=False)) <= jitter
    assert len(pairs) >= 299 and max(pairs) - min(pairs) <= 2


def test_an_interrupt_that_comes_as_the_ticks_start_does_not_put_them_off(machine):
    """The link's interrupt comes at each update until SysTick runs, which starts only while the counter runs."""
    def distance(disturbed: bool) -> int:
        board = machine(PATTERN)
        core, updates, found = board.chip.core, [], []

        def disturb() -> None:
            if not core.scs.systick.interrupt:
                core.nvic.pend(FIRST_IRQ + board.board.chip.usarts[board.board.link.usart].interrupt)
                core.events.attend()

        if disturbed:
            board.timer.on_update = disturb
        board.run(0.01)
        board.timer.on_update = lambda: updates.append(core.events.now)
        core.scs.systick.hear(lambda: found.append(core.events.now - updates[-1]))
        board.run(0.01)
        assert len(found) >= 9
        return found[-1]

    assert abs(distance(True) - distance(False)) <= 10


def test_all_timers_are_updated_within_twenty_cycles_of_each_other(machine):
    board = machine(PATTERN).run(0.02)
    names = sorted({c.pwm.timer for c in board.board.channels} & {c.pwm.timer for c in board.channels})
    updates: dict[str, list[int]] = {name: [] for name in names}
    for name in names:
        board.chip.timers[name].on_update = lambda name=name: updates[name].append(board.chip.core.events.now)
    board.run(0.01)
    first = updates[names[0]]
    for name in names[1:]:
        assert all(min(abs(u - v) for v in first) <= 20 for u in updates[name][1:-1]), name


@pytest.mark.parametrize("busy", [1.12, 0.9997, 0.99], ids=["late", "nearly", "in time"])
def test_a_tick_that_is_late_leaves_neutral_behind(machine, busy):
    """A late tick, even by a few cycles, leaves neutral for one tick and is reported as missed, because only some of
    its duties could be written. A tick that ends just in time outputs its duties."""
    board = machine(START + QUIET + """
    uint32_t busy;
    void ft_app_tick(void)
    {
        uint32_t since = ft_chip_cycles();
        if (ticks == 1) ft_chip_outputs(true);
        ft_chip_duties((const float[]){ 0.5f, 0.0f, 0.0f });
        if (ticks == 20) while (ft_chip_cycles() - since < busy) { }
        ticks++;
    }
    """).run(0.01)  # memory holds random bytes before the start
    board.poke("busy", round(busy * board.tick_cycles))
    while board["ticks"] < 20:
        board.run(20e-6)
    held = []
    for _ in range(30):
        board.run(0.1e-3)
        held.append(board.outputs[0])
    missed = busy != 0.99
    assert board["missed"] == missed
    assert held.count(0.0) == (10 if missed else 0)  # neutral lasts one tick
    assert held[-1] == 0.5 and held[0] == 0.5


ASKED = START + QUIET + """
float asked[3];
void ft_app_tick(void)
{
    if (ticks++ == 1) ft_chip_outputs(true);
    ft_chip_duties(asked);
}
"""


@pytest.mark.parametrize("name, drive, per_count", [
    ("f405rg-4", "voltage", 1.0), ("nucleo-g474re-6", "voltage", 1.0), ("f405rg-6", "voltage", 1.0),
    ("f405rg-6", "antiphase", 2.0)])
def test_a_duty_becomes_the_nearest_compare_value(machine_of, name, drive, per_count):
    """Tests both sides of half a count, both signs. Around neutral at half a period a count changes twice as much."""
    board = machine_of(ASKED, name=name, drive=drive).run(0.02)
    joint = board.channels[0].pwm
    centred, halves = board.timer.value["CR1"] & 3 << 5, per_count == 2.0
    top = board.timer.value["ARR"] + (0 if centred else 1)
    for count in (1, 7, top // 3, top // 2 - 1):
        for beside in (-0.49, -0.1, 0.1, 0.49):
            for sign in (1.0, -1.0):
                share = sign * (count + beside) * per_count / top
                board.poke("asked", struct.unpack("<I", struct.pack("<f", share))[0])
                board.run(3e-3)
                high = board.timer.duty(joint.output) * top
                assert high == pytest.approx(top // 2 + sign * count if halves else count, abs=1e-6), (share, top)


# ---------------------------------------------------------------- outputs and e-stop


ARMED = START + QUIET + """
uint32_t arm, seen, enabled;
void ft_app_tick(void)
{
    if (arm) { ft_chip_outputs(arm == 1); arm = 0; }
    seen = ft_chip_estop(); enabled = ft_chip_outputs_enabled();
    ft_chip_duties((const float[]){ 0.5f, 0.0f, 0.0f });
    ticks++;
}
"""


def test_bridges_that_wake_up_get_neutral_until_then_and_their_fault_line_means_nothing(machine):
    """wake_us of these boards is 2000 us, and a tick takes 1 ms. The outputs are neutral for 2 to 3 ms after enable."""
    looks = ARMED.replace("arm, ", "arm, fault, ").replace("ticks++;", "ticks++; fault = ft_chip_driver_fault();")
    board = machine(looks).run(0.01)
    line = board.board.outputs.fault
    board.port(line).drive(int(line[2:]), False)  # low all the time
    board.run(0.002)
    assert not board["fault"]
    board.poke("arm", 1)
    while not board.drivers_on:
        board.run(1e-5)
    for _ in range(200):
        assert board.outputs == (0.0, 0.0, 0.0) and not board["fault"]
        board.run(1e-5)
    board.run(0.0021)
    assert board.outputs[0] == 0.5 and board["fault"]
    board.poke("arm", 2)
    board.run(0.002)
    assert board.outputs[0] == 0.0 and not board["fault"]
    board.poke("arm", 1)
    board.run(0.0015)
    assert board.drivers_on and board.outputs[0] == 0.0 and not board["fault"]


def test_holding_brakes_open_once_the_bridges_are_awake(machine, monkeypatch):
    unbraked = three_link
    monkeypatch.setattr("tests.firmware.test_chip.three_link", lambda name, folder: replace(
        unbraked(name, folder), safety=Safety(brake=Brake(release_s=0.03, engage_s=0.06))))
    board = machine(ARMED.replace("ft_chip_outputs(arm == 1);", "ft_chip_outputs(arm == 1); ft_chip_brake(arm == 1);"))
    pin = board.board.brake.pin
    board.run(0.01).poke("arm", 1)
    while not board.drivers_on:
        board.run(1e-5)
    for _ in range(200):
        assert not board.port(pin).driven(int(pin[2:]))
        board.run(1e-5)
    board.run(0.0011)
    assert board.port(pin).driven(int(pin[2:]))
    board.poke("arm", 2)
    board.run(0.0011)
    assert not board.port(pin).driven(int(pin[2:]))


def test_estop_drops_the_outputs_and_they_do_not_come_back(machine):
    board = machine(ARMED).run(0.01)
    board.poke("arm", 1)
    board.run(0.005)
    board.estop(True)
    if board.board.chip.name == "stm32g4":
        board.run(BREAK_FILTER)
    if not board.board.outputs.gated:  # otherwise the e-stop loop itself has cut the drivers' enable
        assert board.outputs == (0.0, 0.0, 0.0)  # only during the filter's time could an instruction run
    board.run(0.002)
    assert board["seen"] and not board["enabled"]
    board.poke("arm", 1)
    board.run(0.002)
    assert board.outputs == (0.0, 0.0, 0.0)  # not while the e-stop is pressed
    board.estop(False)
    board.run(0.005)
    assert not board["seen"] and board.outputs == (0.0, 0.0, 0.0)  # not without a new ARM
    board.poke("arm", 1)
    board.run(0.005)
    assert board.outputs[0] == 0.5


@pytest.mark.parametrize("share, drops", [(0.9, False), (1.1, True)])
def test_a_glitch_on_the_break_input_drops_nothing_where_the_chip_can_filter_it(machine_of, share, drops):
    """The filter needs six equal samples at 170 MHz / 8."""
    board = machine_of(ARMED, name="nucleo-g474re-6").run(0.01)
    board.poke("arm", 1)
    board.run(0.005)
    for timer in ("TIM1", "TIM15"):
        board.chip.timers[timer].set_break(True)
    board.run(share * 48 / 170e6)
    for timer in ("TIM1", "TIM15"):
        board.chip.timers[timer].set_break(False)
    board.run(0.005)
    assert (board.outputs == (0.0, 0.0, 0.0)) == drops


# ---------------------------------------------------------------- clocks


def test_dead_crystal_leaves_link_and_tick_working_and_outputs_off(machine):
    board = machine(START + ECHO + """
    void ft_app_tick(void) { ticks++; ft_chip_outputs(true); ft_chip_duties((const float[]){ 0.5f, 0.0f, 0.0f }); }
    """, crystal=False).run(1.0)
    assert board["errors"] == 1  # FT_CHIP_CLOCK
    assert board.chip.rcc.hclk == 16_000_000
    before = board["ticks"]
    board.usart.line_in(b"still here")
    board.run(0.1)
    assert board.usart.line_out() == b"still here"
    assert board["ticks"] - before == pytest.approx(100, abs=1)
    assert not board.drivers_on and board.outputs == (0.0, 0.0, 0.0)
    assert board.chip.resets == ["power"]  # each wait ends before the watchdog resets the chip


def test_crystal_that_stops_drops_the_outputs_and_restarts_into_the_clock_fault(machine):
    board = machine(ARMED).run(0.01)
    board.poke("arm", 1)
    board.run(0.005)
    assert board.outputs[0] == 0.5
    board.chip.rcc.fail_hse()
    if board.board.outputs.gated:
        board.run(50e-6)  # on a board without a break input, the interrupt switches the outputs off
    assert board.outputs == (0.0, 0.0, 0.0)
    board.run(1.0)
    assert board.chip.resets == ["power", "software"]
    assert board["errors"] == 1 and board["ft_kept+3"] == 2  # the fault is CLOCK, without a crash; exception 2 is the
                                                             # NMI
    assert not board.drivers_on


# ---------------------------------------------------------------- faults

CRASHING = START + QUIET + """
uint32_t crash;
void ft_app_tick(void)
{
    if (ticks++ == 1) { ft_chip_outputs(true); ft_chip_remember(42); }
    ft_chip_duties((const float[]){ 0.5f, 0.0f, 0.0f });
    switch (crash) {
    case 1: __asm__ volatile("udf #0"); break;
    case 2: *(volatile uint32_t *)0x30000000u = 1; break;
    case 3: ((void (*)(void))0x40000001u)(); break;
    case 4: __asm__ volatile("sub sp, sp, #0x8000; push {r0}" ::: "memory"); break;
    }
}
"""
UNDEFINED, BUS, JUMP, STACK = range(1, 5)


@pytest.mark.parametrize(("crash", "exceptions"), [
    (UNDEFINED, {6}), (BUS, {5}), (JUMP, {3, 4, 5})], ids=["undefined", "bus", "jump"])
def test_a_fault_makes_outputs_safe_first_then_resets_and_is_remembered(machine, crash, exceptions):
    board = machine(CRASHING).run(0.02)
    assert board.drivers_on and board.outputs[0] == 0.5
    safe_at: list[tuple[bool, float]] = []
    board.chip.core.request_reset, request = (
        lambda: (safe_at.append((board.drivers_on, board.outputs[0])), request()), board.chip.core.request_reset)
    board.poke("crash", crash)
    board.run(0.02)
    assert safe_at == [(False, 0.0)]  # at the request of the reset, the outputs were already safe
    assert board.chip.resets == ["power", "software"]
    assert board["errors"] == 8 and board["cause"] == 2  # FT_CHIP_CRASHED, FT_RESET_SOFTWARE
    assert board["remembered"] == 42
    assert board["ft_kept+3"] in exceptions


HISTORY = CRASHING.replace("uint32_t crash;", "uint32_t crash; ft_history history;").replace(
    "if (ticks++ == 1)", "ft_chip_history(&history);\n    if (ticks++ == 1)")
_HISTORY = ("options", "resets", "exception", "pc", "lr", "psr", "cfsr", "hfsr", "address")


def history(board) -> dict[str, int]:
    """Return the chip's history report. The first three words of the report are the unique bits."""
    return {name: board[f"history+{3 + i}"] for i, name in enumerate(_HISTORY)}


def test_a_crash_is_told_with_its_registers_until_the_power_goes(machine):
    board = machine(HISTORY).run(0.02)
    assert history(board)["exception"] == history(board)["resets"] == 0
    board.poke("crash", UNDEFINED)
    board.run(0.02)
    told = history(board)
    assert (told["exception"], told["cfsr"], told["resets"]) == (6, 1 << 16, 1)  # usage fault, UNDEFINSTR
    tick = board.image.symbol("ft_app_tick").address & ~1
    assert tick <= told["pc"] < tick + 256 and board.image.flash[told["pc"] - 0x08000000 + 1] == 0xDE  # udf
    board.chip.reset("pin")
    board.run(0.02)
    assert history(board) == told | {"resets": 2}
    board.chip.reset("power")
    board.run(0.02)
    assert history(board)["exception"] == history(board)["resets"] == 0


LEAVING = ARMED.replace("ticks++;", "ticks++; if (place[0]) ft_chip_leave();")


@pytest.mark.parametrize("name", (*BOARDS, "odrive-v3.6"))
def test_only_pins_of_timers_and_links_switch_fast(tmp_path, name):
    """No pin of PC13 to PC15 switches fast: the data sheets (DS8626, DS12288) allow these pins 2 MHz."""
    board = Machine(tmp_path, ARMED, name).run(0.05)
    fast = {f"P{letter}{pin}": port.value["MODER"] >> 2 * pin & 3 for letter, port in board.chip.gpio.items()
            for pin in range(16) if port.value["OSPEEDR"] >> 2 * pin & 3}
    assert set(fast.values()) == {2} and board.board.link.tx.pin in fast  # alternate functions
    assert not fast.keys() & {"PC13", "PC14", "PC15"}


def test_into_the_boot_loader_in_rom_it_goes_from_reset_with_every_output_off(machine):
    """The next reset starts the application again."""
    board = machine(LEAVING).run(0.01)
    board.poke("arm", 1)
    board.run(0.005)
    assert board.drivers_on and not board.chip.in_rom
    board.poke("place", 1)
    board.run(0.003)
    core = board.chip.core
    assert board.chip.in_rom and board.chip.resets == ["power", "software"]
    assert not board.drivers_on and board.outputs == (0.0, 0.0, 0.0)
    assert core.uc.reg_read(UC_ARM_REG_SP) == int.from_bytes(core.memory(0x1FFF0000, 4), "little")
    assert core.scs.value["VTOR"] == 0x1FFF0000 and board.chip.rcc.hclk == 16_000_000
    assert not any(timer.value["CR1"] & 1 for timer in board.chip.timers.values())
    board.run(2.0)
    assert board.chip.in_rom and board.chip.resets == ["power", "software"], "the watchdog sleeps until it is started"
    board.chip.reset("pin")
    before = board["ticks"]
    board.run(0.02)
    assert not board.chip.in_rom and board["ticks"] != before
    assert board["cause"] == 2, "the flag of the reset into the ROM still stands, which clears none"


def test_memory_that_holds_anything_does_not_lead_into_the_rom(machine):
    board = machine(LEAVING).run(0.01)
    board.chip.reset("power")
    board.run(0.01)
    assert not board.chip.in_rom and board["ticks"] > 0


def test_each_chip_says_what_is_unique_to_it_and_what_its_option_bytes_are(machine):
    """The address of the unique bits is UID_BASE of ST's headers. The option bytes have the values of new parts."""
    board = machine(HISTORY).run(0.02)
    family = board.board.chip
    address = {"stm32f4": 0x1FFF7A10, "stm32g4": 0x1FFF7590}[family.name]
    assert family.unique == address and board.chip.core.memory(address, 12) == unique(0)
    assert board.chip.core.memory(board.image.symbol("history").address, 12) == unique(0) != unique(1)
    assert family.brown_out.told(history(board)["options"]) == {"stm32f4": "off",
                                                                "stm32g4": "level 0 (1.7 V)"}[family.name]


def test_a_stack_that_leaves_memory_drops_the_outputs_by_the_next_update_and_resets(machine):
    """The processor may lock up, since it cannot store the exception frame. The PWM timer then outputs the neutral that
    the tick has preloaded first. The watchdog then resets the chip."""
    board = machine(CRASHING).run(0.02)
    assert board.outputs[0] == 0.5
    board.poke("crash", STACK)
    board.run(0.003 if board.board.tick_preload else 0.1)  # without a repetition counter only the watchdog helps
    assert board.outputs == (0.0, 0.0, 0.0)
    board.run(0.2)
    assert len(board.chip.resets) == 2 and board["remembered"] == 42


def test_power_up_with_random_memory_is_no_crash(machine):
    board = machine(CRASHING).run(0.01)
    assert (board["errors"], board["cause"], board["remembered"]) == (0, 0, 0)


@pytest.mark.parametrize(("cause", "number"), [("power", 0), ("pin", 1), ("brownout", 4)])
def test_a_reset_is_told_by_its_cause_and_leaves_the_outputs_off(machine, cause, number):
    """The G474 has one flag for power-up and brown-out. Memory that survives a reset distinguishes the two."""
    board = machine(ARMED.replace("ticks++;", "ticks++; place[0] = (int32_t)ft_chip_reset_cause();")).run(0.01)
    board.poke("arm", 1)
    board.run(0.005)
    assert board.drivers_on and board["place"] == 0
    board.chip.reset(cause)
    assert not board.drivers_on and board.outputs == (0.0, 0.0, 0.0)
    board.run(0.02)
    assert board["place"] == number and not board.drivers_on


def test_watchdog_bites_when_it_is_not_fed(machine):
    board = machine(START + """
    void ft_app_missed(void) { }
    void ft_app_tick(void) {
        if (ticks++ == 1 && cause == 0) ft_chip_outputs(true);
        ft_chip_duties((const float[]){ 0.5f, 0.0f, 0.0f });
    }
    void ft_app_idle(void) { if (ticks < 100) ft_chip_feed_watchdog(); ft_chip_wait(); }
    """).run(0.19)
    assert board.chip.resets == ["power"] and board.drivers_on
    board.run(0.03)
    assert board.chip.resets == ["power", "watchdog"] and board["cause"] == 3
    assert not board.drivers_on


# ---------------------------------------------------------------- link


def test_link_echoes_every_byte_round_its_buffers(machine):
    board = machine(START + ECHO + "void ft_app_tick(void) { ticks++; }").run(0.01)
    sent = bytes((i * 7 + i // 251) % 256 for i in range(9000))  # several times the length of both ring buffers
    board.usart.line_in(sent)
    back = b""
    for _ in range(120):
        back += board.run(1e-3).usart.line_out()
        if len(back) >= len(sent):
            break
    assert back + board.run(2e-3).usart.line_out() == sent


SLEEPY = """
void ft_app_missed(void) { missed++; }
void ft_app_idle(void)
{
    static uint8_t bytes[64];
    size_t size = ft_chip_receive(bytes, sizeof bytes);
    if (size) (void)ft_chip_send(bytes, size);
    ft_chip_feed_watchdog();
    ft_chip_wait();
}
void ft_app_tick(void) { ticks++; }
"""


def test_a_frame_is_answered_when_it_ends_however_long_a_tick_is(machine):
    """The main loop sleeps. At 50 ticks per second the main loop must wake up at an idle line, not at the next tick."""
    board = machine(START + SLEEPY, rate_hz=50, pwm_hz=5000).run(0.091)
    done = board["ticks"]
    board.usart.line_in(b"are you there?")
    board.run(0.4e-3)
    assert board["ticks"] == done
    assert board.usart.line_out() == b"are you there?"


@pytest.mark.parametrize("name", ["f405rg-4", "nucleo-g474re-6"])
def test_no_byte_is_lost_that_comes_while_the_end_of_a_frame_waits_for_a_tick(tmp_path, name):
    """A frame ends within a tick. The next frame has begun when the interrupt runs, and the bus is busy. One byte then
    waits in the data register for the DMA."""
    slow = ("void ft_app_tick(void) { ticks++; uint32_t since = ft_chip_cycles(); while (ft_chip_cycles() - since < "
            "16800) { } }")
    board = Machine(tmp_path, START + ECHO + slow, name).run(0.01)
    board.usart.dma_cycles = 1400  # DMA delay, in cycles, of the 1680 or 1700 cycles that a byte takes
    done = board["ticks"]
    while board["ticks"] == done:
        board.run(1e-6)
    tick = board.chip.seconds
    sent = back = b""
    for i in range(1, 6):
        board.run(tick + i * 1e-3 - board.chip.seconds)
        board.usart.line_in(bytes([i] * 3))
        board.run(4.2e-5 + i * 2e-6)  # the line has been idle for one character
        board.usart.line_in(bytes([i + 100] * 8))
        sent += bytes([i] * 3 + [i + 100] * 8)
        back += board.run(5e-4).usart.line_out()
    assert back == sent


def test_line_errors_are_counted_and_do_not_stop_the_link(machine):
    board = machine(START + SLEEPY.replace("ticks++;", "ticks++; place[0] = (int32_t)ft_chip_line_errors();")).run(0.01)
    board.usart.line_in(b"noisy", errors=FE)
    board.run(0.01)
    assert 1 <= board["place"] <= 5
    board.usart.line_out()
    board.usart.line_in(b"quiet")
    board.run(0.01)
    assert board.usart.line_out() == b"quiet"


def test_send_takes_all_or_nothing(machine):
    board = machine(START + """
    uint32_t taken, refused;
    static const uint8_t bytes[300];
    void ft_app_missed(void) { }
    void ft_app_tick(void) { ticks++; }
    void ft_app_idle(void)
    {
        if (taken + refused < 5) { if (ft_chip_send(bytes, sizeof bytes)) taken++; else refused++; }
        uint8_t none; (void)ft_chip_receive(&none, 0);
        ft_chip_feed_watchdog();
    }
    """).run(0.05)
    assert (board["taken"], board["refused"]) == (3, 2)  # 1024 bytes of room
    assert board.usart.line_out() == bytes(900)


# ---------------------------------------------------------------- tests of the tests

MUTATIONS = {
    "fault handler leaves the outputs on": (
        "f405rg-4", "stm32/ft_start.c", "    ft_chip_safe();\n", "",
        test_a_fault_makes_outputs_safe_first_then_resets_and_is_remembered, UNDEFINED, {6}),
    "neutral is not preloaded": (
        "nucleo-g474re-6", "stm32/ft_outputs.c", "    ft_switch_directions();\n    ft_write_neutral();",
        "    ft_switch_directions();", test_a_tick_that_is_late_leaves_neutral_behind, 1.12),
    "neutral is not written": (
        "f405rg-6", "stm32/ft_outputs.c", "    } else {\n        ft_write_neutral();", "    } else {",
        test_a_tick_that_is_late_leaves_neutral_behind, 1.12),
    "a late tick hands over": (
        "f405rg-4", "stm32/ft_outputs.c", "SysTick->VAL < FT_LATE_CYCLES)\n        return false;",
        "SysTick->VAL < FT_LATE_CYCLES)\n        { }", test_a_tick_that_is_late_leaves_neutral_behind, 0.9997),
    "a boundary that was missed is not told": (
        "f405rg-6", "stm32/ft_outputs.c", "    if (ft_boundary == next)", "    if (false)",
        test_a_tick_that_is_late_leaves_neutral_behind, 1.12),
    "break input is off": (
        "nucleo-g474re-6", "stm32/ft_outputs.c", "? TIM_BDTR_BKE | FT_BREAK_FILTER : 0u", "? 0u : 0u",
        test_estop_drops_the_outputs_and_they_do_not_come_back),
    "break input has no filter": (
        "nucleo-g474re-6", "stm32/ft_outputs.c", "TIM_BDTR_BKE | FT_BREAK_FILTER", "TIM_BDTR_BKE",
        test_a_glitch_on_the_break_input_drops_nothing_where_the_chip_can_filter_it, 0.9, False),
    "the loop is not looked at": (
        "f405rg-6", "stm32/ft_outputs.c", "ft_wanted && ft_chip_estop())", "false)",
        test_estop_drops_the_outputs_and_they_do_not_come_back),
    "direction switches with the tick that computes it": (
        "f405rg-4", "stm32/ft_outputs.c", "            ft_next[i].direction = ft_direction_of(d, x[i]);",
        "            GPIO(d->port)->BSRR = ft_next[i].direction = ft_direction_of(d, x[i]);",
        test_duty_of_a_tick_is_held_over_the_next_whole_tick),
    "outputs may go on without a crystal": (
        "nucleo-g474re-6", "stm32/ft_clock_start.c", "    return ft_clock_is_good;", "    return true;",
        test_dead_crystal_leaves_link_and_tick_working_and_outputs_off),
    "compare values are not preloaded": (
        "f405rg-4", "stm32/stm32_registers.h", "TIM_CCMR_OC_PRELOAD (1u << 3)", "TIM_CCMR_OC_PRELOAD 0u",
        test_duty_of_a_tick_is_held_over_the_next_whole_tick),
    "bridges that wake up are driven": (
        "f405rg-4", "stm32/ft_outputs.c", "    if (!ft_outputs_awake()) {", "    if (false) {",
        test_bridges_that_wake_up_get_neutral_until_then_and_their_fault_line_means_nothing),
    "bridges that sleep are believed": (
        "f405rg-6", "stm32/ft_outputs.c", "    if (!ft_outputs_awake())\n        return false;", "",
        test_bridges_that_wake_up_get_neutral_until_then_and_their_fault_line_means_nothing),
    "bridges are given their time once only": (
        "nucleo-g474re-6", "stm32/ft_outputs.c", "        ft_waking = FT_WAKE_TICKS;",
        "        static uint32_t once;\n        ft_waking = once++ ? 0 : FT_WAKE_TICKS;",
        test_bridges_that_wake_up_get_neutral_until_then_and_their_fault_line_means_nothing),
    "an idle line wakes nobody": (
        "nucleo-g474re-6", "stm32g4/ft_usart.c", " | USART_CR1_IDLEIE;", ";",
        test_a_frame_is_answered_when_it_ends_however_long_a_tick_is),
}


def mutate(folder, monkeypatch, file: str, old: str, new: str) -> None:
    """Make machines use a chip folder in which one file has one change."""
    chip = folder / "chip"
    shutil.copytree(CHIP, chip)
    text = (chip / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (chip / file).write_text(text.replace(old, new), encoding="utf-8")
    monkeypatch.setattr("tests.firmware.test_chip.CHIP", chip)


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_safety_measure_that_is_taken_out_is_noticed(tmp_path, monkeypatch, mutation):
    name, file, old, new, check, *given = MUTATIONS[mutation]
    mutate(tmp_path, monkeypatch, file, old, new)
    with pytest.raises(AssertionError):
        check(lambda application, **options: Machine(tmp_path, application, **{"name": name, **options}), *given)
