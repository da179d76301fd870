"""A board measures bus voltage and temperatures through the converter of each family."""

import math
import re
import struct
from dataclasses import replace

import pytest

from femtorque.codegen.board import reader as boards, thermistor
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.toolchain import platformio as build
from femtorque.codegen.wire import STATES
from femtorque.codegen.wire.messages import FAULTS
from femtorque.hil.board import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from tests.firmware.test_chip import QUIET, START, Machine
from tests.hil.board.test_boards import armed
from tests.support.boards import DRIVING, image, three_link

SENSING = START + QUIET + """
float bus, celsius;
void ft_app_tick(void) { bus = ft_chip_bus_voltage(); celsius = ft_chip_temperature(); ticks++; }
"""
SENSED = ("f405rg-4", "nucleo-g474re-6")  # one of each family


class Sensed:
    """A machine with voltages at its pins, V by channel, and its readings."""

    def __init__(self, folder, name: str) -> None:
        self.machine = Machine(folder, SENSING, name)
        chip = self.machine.board.chip
        self.sense, self.converter = self.machine.board.sense, self.machine.chip.converters[-1]
        self.channels = [chip.analogue[pin] for _, pin in self.sense.pins]
        self.volts = dict.fromkeys(self.channels, 1.0)
        self.converter.volts = lambda channel: self.volts[channel]

    def start(self) -> None:
        """Run until the first tick: the start first checks crystal, timers and image."""
        self.machine.run(30e-3)

    def put(self, *volts: float) -> None:
        self.volts.update(zip(self.channels, volts, strict=True))

    def run(self, ticks: int = 5) -> None:
        self.machine.run(1e-3 * ticks)

    def seen(self, name: str) -> float:
        return struct.unpack("<f", self.machine[name].to_bytes(4, "little", signed=False))[0]


def volts_of(celsius: float, r25: float, beta: float, resistor: float, at_supply: bool) -> float:
    """Return the voltage at the pin, by the thermistor's equation."""
    ohm = r25 * math.exp(beta * (1.0 / (celsius + 273.15) - 1.0 / 298.15))
    return 3.3 * (resistor if at_supply else ohm) / (ohm + resistor)


@pytest.mark.parametrize("name", SENSED)
def test_the_bus_is_told_to_a_count_of_the_converter(tmp_path, name):
    board = Sensed(tmp_path, name)
    board.start()
    for volts in (24.0, 12.3, 57.9, 0.0):
        board.put(volts / 19.0, *[1.0] * (len(board.channels) - 1))
        board.run()
        assert board.machine["errors"] == 0
        assert board.seen("bus") == pytest.approx(volts, abs=19.0 * 3.3 / 4096)


@pytest.mark.parametrize("name", SENSED)
def test_a_single_reading_that_is_off_counts_nothing_and_two_count(tmp_path, name):
    board = Sensed(tmp_path, name)
    board.start()
    readings = iter(())
    quiet = 24.0 / 19.0
    board.converter.volts = lambda channel: next(readings, quiet) if channel == board.channels[0] else 1.0
    board.run(10)
    per_tick = 2 if name.startswith("nucleo") else 1  # conversions of the bus voltage in a tick
    seen = []
    for strange in (1, 2):
        readings = iter([3.2] * strange * per_tick)
        worst = 0.0
        for _ in range(60):
            board.machine.run(0.1e-3)
            worst = max(worst, board.seen("bus"))
        seen.append(worst)
    assert seen[0] < 25.0 and seen[1] > 50.0


@pytest.mark.parametrize("name", SENSED)
def test_a_converter_that_stops_is_a_bus_of_nothing(tmp_path, name):
    board = Sensed(tmp_path, name)
    board.put(24.0 / 19.0, *[1.0] * (len(board.channels) - 1))
    board.start()
    board.run()
    assert board.seen("bus") > 23.0
    board.converter.dead = True
    board.run(4)
    assert board.seen("bus") == 0.0


@pytest.mark.parametrize("name", SENSED)
def test_a_converter_that_never_starts_is_told_after_a_bounded_wait(tmp_path, name):
    board = Sensed(tmp_path, name)
    board.converter.dead = True
    board.machine.run(0.3)
    assert board.machine["errors"] == 32 and board.machine.chip.resets == ["power"]


@pytest.mark.parametrize(("name", "at_supply", "resistor", "beta"), [
    ("f405rg-4", False, 10e3, 3435.0), ("f405rg-6", False, 10e3, 3435.0), ("odrive-v3.6", True, 3300.0, 3434.0)])
def test_temperatures_are_told_by_the_thermistor_s_equation(name, at_supply, resistor, beta):
    """On the whole image, temperatures are correct to half a degree from -10 to 110 deg C. The board reports the
    hottest sensor. A broken wire causes the same fault as too much heat."""
    mechanism, built = image(name)
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        session = armed(board)
        sensed = board.chip.converters[-1].volts
        channels = {board.board.chip.analogue[pin]: i for i, pin in enumerate(board.board.sense.temperature.pins)}
        celsius = 0.0

        def volts(channel: int) -> float:
            if channel not in channels:
                return sensed(channel)
            return volts_of(celsius - 8.0 * channels[channel], 10e3, beta, resistor, at_supply)

        board.chip.converters[-1].volts = volts

        def status():
            board.run(0.03)
            session.pump()
            return session.status

        for celsius in (-10.0, 12.0, 37.0, 61.0, 84.0):
            assert status().temperature * 1e-3 == pytest.approx(celsius, abs=0.5)
            assert session.status.state == STATES["HOLD"][0]
        celsius = 87.0
        assert (status().state, session.status.fault) == (STATES["FAULT"][0], FAULTS["OVER_TEMPERATURE"][0])
        assert board.outputs_safe()
        for celsius in (97.0, 110.0):
            assert status().temperature * 1e-3 == pytest.approx(celsius, abs=0.5)
        celsius = 25.0
        board.run(0.03)
        session.clear()
        celsius = math.nan
        board.chip.converters[-1].volts = lambda channel: 0.0 if channel in channels else sensed(channel)
        with pytest.raises(Refused, match="OVER_TEMPERATURE"):
            session.arm()


@pytest.mark.parametrize("name", DRIVING)
def test_a_bus_out_of_range_ends_the_drive_on_every_board(name):
    mechanism, built = image(name)
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        session = armed(board)
        for near, volts, fault in ((31.0, 31.7, "OVER_VOLTAGE"), (17.0, 16.3, "UNDER_VOLTAGE"),
                                   (24.0, 80.0, "OVER_VOLTAGE")):
            board.bus_voltage = near
            board.run(0.02)
            session.pump()
            assert session.status.bus_mv * 1e-3 == pytest.approx(near, abs=0.016)
            assert session.status.state == STATES["HOLD"][0]
            board.bus_voltage = volts
            board.run(0.005)
            assert board.outputs_safe()
            board.run(0.02)
            session.pump()
            assert (session.status.state, session.status.fault) == (STATES["FAULT"][0], FAULTS[fault][0])
            board.bus_voltage = 24.0
            board.run(0.02)
            session.clear()
            session.arm()


def test_a_table_between_its_entries_is_as_good_as_is_said():
    for name in ("f405rg-4", "odrive-v3.6"):
        sensor = boards.load_board(name).sense.temperature.thermistor
        table = thermistor.thermistor_table(sensor)
        for celsius in range(-10, 111):
            place = sensor.share(celsius) * 4096 / thermistor.THERMISTOR_STEP
            cell = int(place)
            told = table[cell] + (place - cell) * (table[cell + 1] - table[cell])
            assert told == pytest.approx(celsius, abs=0.4)


@pytest.mark.parametrize(("old", "new", "message"), [
    ('bus = { pin = "PC4"', 'bus = { pin = "PB2"', "sense.bus.pin = 'PB2': STM32F405 cannot measure there"),
    ('pins = ["PC5"]', 'pins = ["PC4"]', "sense.temperature.pins.0 = 'PC4': is already used by sense.bus.pin"),
    ('pins = ["PC5"]', 'pins = ["PC5", "PA4", "PA5", "PA7"]', "sense: names 5 pins, and STM32F405 measures 4"),
    ("ratio = 19.0", "ratio = 0.5", "sense.bus.ratio = 0.5"),
    ("beta =", "bta =", "sense.temperature.bta"),
])
def test_what_cannot_be_measured_is_refused_by_name(tmp_path, old, new, message):
    text = (boards.BOARDS / "f405rg-4.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "f405rg-4.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(BadInput, match=re.escape(message)):
        boards.read(path)


def test_a_bus_that_the_board_cannot_tell_is_refused(tmp_path):
    mechanism = three_link("f405rg-4", tmp_path)
    high = replace(mechanism, board=replace(mechanism.board, bus_voltage=60.0))
    with pytest.raises(BadInput, match="board.bus_voltage = 60.0: board 'f405rg-4' measures at most 62.3 V"):
        build.project(high)
