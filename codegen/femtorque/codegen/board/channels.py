"""Assigns a channel to each joint, and checks that the board can drive the mechanism."""

import math

from femtorque.codegen.board import fieldbus, pc, thermistor
from femtorque.codegen.board.description import ADC_COUNTS, ADC_V, Board, Channel
from femtorque.codegen.board.reader import load_board
from femtorque.codegen.mechanism import Joint, Mechanism, refuse

CURRENT_SHARE = 0.7  # largest current setpoint, as a fraction of the sensor's range
CURRENT_TRIP = 1.2  # trip current divided by the largest setpoint; a larger current switches the outputs off
CURRENT_LOOP = 30  # PWM periods per cycle of the current loop's bandwidth
FOLLOW_S, FOLLOW_PERIODS = 5e-3, 5.0  # maximum lag of the current, s; maximum lag in electrical time constants
LOWEST_BOUND = 0.5  # minimum usable fraction of the bus voltage for a current loop


def open_loop(mechanism: Mechanism) -> list[str]:
    """Return the actuated joints whose encoders the board does not read. Feed-forward alone drives these joints."""
    if mechanism.board is None:
        return []
    board = load_board(mechanism.board.use, mechanism.source or mechanism.name)
    return [joint.name for joint, channel in served(mechanism, board)
            if joint.actuated and channel is None and joint.drive is None]


def served(mechanism: Mechanism, board: Board) -> list[tuple[Joint, Channel | None]]:
    """Return every moving joint with its channel; None for passive joints, drives on a bus, and a board without
    outputs. Raise BadInput if the board cannot drive a joint. The message names all joints concerned."""
    if board.is_pc:
        return [*pc.serve(mechanism, board)]
    if board.outputs is None:
        if bussed := fieldbus.drives(mechanism):
            refuse(mechanism, f"joint.{bussed[0][1].name}.drive", None,
                   f"board {board.name!r} has no e-stop loop: nothing would stop the drives", "choose another board")
        return [(joint, None) for joint in mechanism.streamed]
    fieldbus.wired(mechanism, board)
    fieldbus.lines(mechanism, board)
    driven = [j for j in mechanism.streamed if j.actuated and j.drive is None]
    for part in ("motor", "encoder"):
        lacking = [j.name for j in driven if getattr(j, part) is None]
        if lacking:
            refuse(mechanism, f"joint.{lacking[0]}.{part}", None, f"is required by board {board.name!r}",
                   f"joints without: {', '.join(lacking)}")
    users: dict[int, str] = {}
    for joint in driven:
        assert joint.motor is not None
        channel, key = joint.motor.channel, f"joint.{joint.name}.motor.channel"
        if channel >= len(board.channels):
            there = f"channels 0 to {len(board.channels) - 1}" if board.channels else "no channels, only buses"
            refuse(mechanism, key, channel, f"board {board.name!r} has {there}")
        if channel in users:
            refuse(mechanism, key, channel, f"is already used by joint {users[channel]!r}")
        users[channel] = joint.name
        _check_drive(mechanism, board, joint, board.channels[channel])
    for j in driven:
        assert j.motor is not None and j.encoder is not None
        if j.encoder.zero == "index" and board.channels[j.motor.channel].encoder.index is None:
            refuse(mechanism, f"joint.{j.name}.encoder.zero", "index", f"board {board.name!r} has no index "
                   f"input at channel {j.motor.channel}", 'use "stop", "absolute" or "start"')
    return [(j, board.channels[j.motor.channel] if j.motor and j.actuated and j.drive is None else None)
            for j in mechanism.streamed]


def _check_drive(mechanism: Mechanism, board: Board, joint: Joint, channel: Channel) -> None:
    """Check that the channel has the motor's kind of drive. In antiphase drive a PWM pin that stays low applies the
    full reverse voltage, so the e-stop hardware must disable the bridge."""
    assert joint.motor is not None and board.outputs is not None
    key = f"joint.{joint.name}.motor.drive"
    if joint.motor.drive == "current":
        _check_current(mechanism, board, joint, channel)
    if joint.motor.drive != "antiphase":
        return
    if channel.opposite:
        refuse(mechanism, key, "antiphase", f"board {board.name!r} has half bridges there: no need", "write 'voltage'")
    if not board.outputs.gated:
        refuse(mechanism, key, "antiphase", f"the e-stop loop of board {board.name!r} stops the PWM, "
               "not the bridge, and no PWM would be full voltage backwards", "write 'voltage'")


def _check_current(mechanism: Mechanism, board: Board, joint: Joint, channel: Channel) -> None:
    """Check that the current is measured, and that the motor's current is slow enough for a loop at the PWM rate."""
    assert joint.motor is not None and mechanism.board is not None
    key = f"joint.{joint.name}.motor"
    if channel.current is None:
        refuse(mechanism, f"{key}.drive", "current", f"board {board.name!r} does not measure the current of "
               f"channel {joint.motor.channel}", "write 'voltage'")
    _check_trigger(mechanism, board, f"{key}.drive", channel)
    periods = joint.motor.L / joint.motor.R * mechanism.board.pwm_hz
    if periods < 2.0:
        refuse(mechanism, f"{key}.L", joint.motor.L, f"L/R is {periods:.2g} PWM periods: too fast for a loop "
               "at their rate", "write drive = 'voltage'")


def _check_trigger(mechanism: Mechanism, board: Board, key: str, channel: Channel) -> None:
    """Check that no encoder uses a timer, and that it can sample currents while the channel's low switch conducts."""
    sampling = board.chip.sampling
    assert sampling is not None
    for _, pwm in channel.switches:
        if pwm.timer not in sampling.beside:
            refuse(mechanism, key, "current", f"{pwm.timer} does not count in step with {sampling.trigger}, which "
                   "has currents sampled", "use a channel of " + " or ".join(sampling.beside))
    if any(c.encoder.timer == sampling.trigger for c in board.channels):
        refuse(mechanism, key, "current", f"{sampling.trigger}, which has currents sampled, is an encoder's on "
               f"board {board.name!r}", "write 'voltage'")


def current_bound(mechanism: Mechanism, board: Board, joint: Joint, rank: int) -> float:
    """Return the maximum duty of a current loop, 0 to 1. rank: the sensor's rank in the converter's sequence. A low
    shunt sees current only while its low switch conducts. The low switch must conduct until the end of the sample. The
    sample ends at the time t after the counter's top. At duty x, the half bridge with the longer high time conducts
    through its low switch for (1 - |x|) / 4 of a period on each side of the counter's top. |x| is therefore at most 1 -
    4 t pwm_hz."""
    assert mechanism.board is not None and joint.motor is not None and board.outputs is not None
    sense, sampling = board.channels[joint.motor.channel].current, board.chip.sampling
    assert sense is not None and sampling is not None
    if sense.shunt == "in-line":
        return board.outputs.duty_max
    after_top = sampling.end_s(rank) + 1e-9 * board.outputs.dead_ns
    return min(board.outputs.duty_max, 1.0 - 4.0 * after_top * mechanism.board.pwm_hz)


def usable_share(mechanism: Mechanism, joint: Joint) -> float:
    """Return the maximum fraction of the bus voltage that reaches a motor; 1 if no board drives the motor."""
    if joint.drive is not None and joint.drive.servo is not None:
        return joint.drive.servo.limit
    if mechanism.board is None or joint.motor is None:
        return 1.0
    board = load_board(mechanism.board.use, mechanism.source or mechanism.name)
    if board.outputs is None:
        return 1.0
    looped = [j.name for j in mechanism.streamed if j.actuated and j.motor and j.motor.drive == "current"]
    if joint.name not in looped:
        return board.outputs.duty_max
    return current_bound(mechanism, board, joint, looped.index(joint.name))


def current_range(board: Board, joint: Joint) -> float:
    """Return the current at a duty of 1, A, for a joint whose drive is 'current'."""
    assert joint.motor is not None
    sense = board.channels[joint.motor.channel].current
    assert sense is not None
    return CURRENT_SHARE * sense.range_a


def file_of(mechanism: Mechanism) -> object:
    return mechanism.source or mechanism.name


def has_current_loops(joints: list[tuple[Joint, Channel | None]]) -> bool:
    """Return True if a current loop drives one of the joints."""
    return any(c and j.motor and j.motor.drive == "current" for j, c in joints)


def tick_cycles(mechanism: Mechanism, board: Board) -> int:
    """Return the processor cycles per tick. Raise BadInput unless they are an integer that fits 24 bits (SysTick)."""
    rate_hz, sysclk_hz, bits = mechanism.control.rate_hz, board.chip.sysclk_hz, board.chip.systick_bits

    def fits(rate: int) -> bool:
        return sysclk_hz % rate == 0 and sysclk_hz // rate <= 2**bits

    if not fits(rate_hz):
        near = min((r for r in range(11, 100_001) if fits(r)), key=lambda r: abs(r - rate_hz))
        refuse(mechanism, "control.rate_hz", rate_hz,
               f"a tick must be a whole number of the {sysclk_hz // 10**6} MHz clock's cycles, at most " f"2^{bits}",
               f"nearest: {near}")
    return sysclk_hz // rate_hz


def bus_most(board: Board) -> float:
    """Return the largest bus voltage that a board can measure, V; infinite if it measures none."""
    return board.sense.bus.ratio * ADC_V * (1.0 - thermistor.RAIL / ADC_COUNTS) if board.sense.bus else math.inf
