from .channels import (
    CURRENT_LOOP as CURRENT_LOOP, CURRENT_TRIP as CURRENT_TRIP, FOLLOW_PERIODS as FOLLOW_PERIODS, FOLLOW_S as FOLLOW_S,
    LOWEST_BOUND as LOWEST_BOUND, bus_most as bus_most, current_bound as current_bound, current_range as current_range,
    file_of as file_of, has_current_loops as has_current_loops, open_loop as open_loop, served as served,
    tick_cycles as tick_cycles)
from .checks import CURRENT_ZERO as CURRENT_ZERO
from .chip import Chip as Chip, Pll as Pll
from .description import (
    ADC_COUNTS as ADC_COUNTS, ADC_V as ADC_V, Board as Board, BrakeOutput as BrakeOutput, CanPins as CanPins,
    Channel as Channel, ChannelEncoder as ChannelEncoder, ChannelPwm as ChannelPwm, CutoffOutput as CutoffOutput,
    GateDriver as GateDriver, HalfDuplex as HalfDuplex, Outputs as Outputs)
from .fieldbus import (
    Line as Line, Wired as Wired, drives as drives, families as families, line_divider as line_divider,
    used_buses as used_buses, wire_most as wire_most, wires as wires)
from .pc import (
    CHIP as CHIP, LOST as LOST, Times as Times, adapter_times as adapter_times, late_ticks as late_ticks,
    on_chip as on_chip, on_pc as on_pc)
from .pin_uses import Use as Use, uses as uses
from .reader import (
    DEFAULT_BOARD as DEFAULT_BOARD, PC_BOARD as PC_BOARD, board_names as board_names, load_board as load_board)
from .thermistor import THERMISTOR_STEP as THERMISTOR_STEP, thermistor_table as thermistor_table
from .voltage_levels import levels as levels
