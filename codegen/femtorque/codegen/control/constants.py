"""The constants of the control application: ft_config.h and .c, computed from a Mechanism and its Board. Each factor of
the control law combines several constants of a joint (THEORY.md section 7). u is a half increment of the target, rad or
m, so that qd = (u + u') / dt and qdd = 2 (u - u') / dt^2.

Comments at the constants below give the default values of keys that the mechanism file omits."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from femtorque.codegen.board import (
    Board, bus_most, families, has_current_loops, load_board, on_pc, served, used_buses, wire_most, wires)
from femtorque.codegen.common import Refused, template
from femtorque.codegen.control import contact, drives, feedback_age, follow, park, stribeck, thermal_limits
from femtorque.codegen.control.joint_row import JointConstants
from femtorque.codegen.control.lab_constants import PRESS_S, LabConstants, lab_constants, overlay, reactions
from femtorque.codegen.control.motors import Motor, current_range
from femtorque.codegen.control.observer import observer_gains
from femtorque.codegen.control.table import c_row, c_struct, crc, real
from femtorque.codegen.mechanism import COULOMB_VELOCITY, Joint, Mechanism, refuse
from femtorque.codegen.model import has_modes
from femtorque.codegen.wire import messages, position_unit, to_wire

STOP_S = 0.25  # time from full speed along the path to a standstill, s
RAMP_MAX = 1000  # longest ramp, ticks; with this maximum, path lengths fit 32 bits
RING_S = 1.0  # minimum duration that the ring buffer holds, unless RING_BYTES is too small, s
RING_BYTES = 72 * 1024  # more than half of the RAM
QUINTIC_BYTES = 24  # bytes of one joint's polynomial in one segment, in single precision
HOST_LOST = 10  # number of host timeouts until the fault HOST_LOST; the board stops the motion after the first timeout
FOLLOWING_S = 0.05  # maximum duration of a large following error, s
UNLIMITED_EFFORT = 1e6  # effort if the file gives neither an effort limit nor a motor, N m or N
UNLIMITED_SPEED = {False: 100.0, True: 10.0}  # velocity without a velocity limit and without a motor, rad/s or m/s
BUS_LOW, BUS_HIGH = 0.7, 1.3  # of the nominal voltage
BUS_TOLD = 1.1  # minimum measuring range of a board, divided by the nominal voltage
FINE_MOST = 16  # maximum number of binary digits of a fine position; 64 bits then hold 2^15 turns in each direction
COARSE = 2**8  # number of wire steps in a coarse step; position limits are in coarse steps
UNWATCHED = 2**31 - 1  # upper limit of every error, wire steps
COARSE_MAX = 120 * 2**24  # coarse steps: 120 turns
SLIDE_MAX = 2**23 - 1  # coarse steps: 8 m, the range of wire positions of a prismatic joint
SPAN = {False: math.pi / 2.0, True: 1.0}  # maximum travel within one segment, rad or m
CUTOFF_LEAST = 6  # least number of ticks for a servo's setting, query and answer, including one retry


STRUCTS: dict[type, str] = {
    JointConstants: "ft_joint_config", LabConstants: "ft_lab_config", thermal_limits.Heat: "ft_heat_config",
    drives.DriveConstants: "ft_drive_config", drives.SettingConstants: "ft_setting_config",
    follow.FollowConstants: "ft_follow_config", contact.ContactConstants: "ft_contact_config",
    stribeck.StribeckConstants: "ft_stribeck_config", feedback_age.AgeConstants: "ft_age_config"}


@dataclass(frozen=True)
class FollowTimes:
    """Delays of FOLLOW: delay and frame in us, timeout in ticks."""

    delay: int
    frame: int
    timeout: int


@dataclass(frozen=True)
class BrakeTimes:
    """Ticks that the brakes need to release and to engage."""

    there: int  # 1 if there are brakes, else 0
    opens: int
    closes: int


@dataclass(frozen=True)
class CutoffTimes:
    """Ticks within which servos must report that their torque is off, and ticks without supply."""

    ticks: int
    dark: int


@dataclass(frozen=True)
class Drives:
    """Constants of drives on buses."""

    cutoff: CutoffTimes | None
    buses: int
    wires: int  # number of half-duplex buses, which follow the CAN buses
    wire_most: int  # maximum number of servos on one half-duplex bus
    holds: int  # 1 if the servos close their position loops
    doubts: int  # 1 if answers on CAN may come a tick late
    settings: list[list[str]]
    settings_crc: str
    families: list[str]
    rules: tuple[str, ...]
    rows: list[list[str]]
    crc: str
    silent_ticks: int
    beat_ticks: int
    watchdog_ms: int


@dataclass(frozen=True)
class Table:
    """A table with a row of numbers per joint, and its check sums in single and double precision."""

    kind: str  # C struct
    array: str
    rows: list[list[str]]
    crc: tuple[str, str]


@dataclass(frozen=True)
class Context:
    """Template context of ft_config.h.j2 and ft_config.c.j2."""

    lead: int
    duty_max: float
    ring: int
    ramp: int
    feedforward: int
    host_timeout: int
    host_lost: int
    following_ticks: int
    integral: int
    coulomb: int
    motors: int
    inductance: int
    fine: int
    kept: str
    rate_gain: str
    bus_low: str
    bus_high: str
    joints: tuple[Joint, ...]
    structs: list[str]
    tables: dict[str, Table]  # the tables that the mechanism needs
    follow: int
    follow_times: FollowTimes
    parking: park.Parking | None
    park_volts: str
    contact_detection: contact.ContactDetection
    felt_bits: list[tuple[str, int]]
    contact_gain: str
    contact_slow: str
    start_pose: list[int]
    reactions: list[tuple[str, str]]
    overlay: int
    overlay_least: int
    overlay_most: int
    current_loops: int
    brake: BrakeTimes
    heats: list[tuple[str, str]]  # rows of ft_heat, each with a description
    heat_crc: str
    drives: Drives | None
    guarded: list[tuple[str, str]]
    moded: int
    press_ticks: int
    temperature_max: str


def render(mechanism: Mechanism, board: Board | None, feedforward: bool = True) -> dict[str, str]:
    """Return {file name: text}. Without a board the lead is zero and the joints are ideal. Raise BadInput if a number
    does not fit its C type."""
    context = vars(_context(mechanism, board, feedforward))
    return {name: template(name).render(context) for name in ("ft_config.h", "ft_config.c")}


def ring_size(knot_hz: int, joints: int) -> int:
    """Return the number of segments in the ring buffer, a power of two. The ring buffer holds at least a second of
    motion, unless RING_BYTES is too small."""
    wanted, room = math.ceil(math.log2(knot_hz * RING_S)), math.floor(math.log2(RING_BYTES / (QUINTIC_BYTES * joints)))
    return max(2, 1 << min(wanted, room))


def ramp(rate_hz: int) -> int:
    """Return the number of ticks in half of a stop."""
    return max(1, min(RAMP_MAX, round(STOP_S * rate_hz / 2.0)))


def joint_constants(mechanism: Mechanism, joint: Joint, measured: bool = True) -> JointConstants:
    """Return the constants that the control law and the safety checks need for one joint. measured: true if the board
    reads the encoder. For an unmeasured joint, the gains are zero and the following error is not checked."""
    hz, bus = float(mechanism.control.rate_hz), _bus(mechanism)
    slides, motor, limits = joint.type == "prismatic", joint.motor, joint.limits
    count = _count(joint)
    torque_constant = motor.K * motor.gear * motor.sign if motor else math.inf  # at the joint, N m/A
    current, there = current_range(mechanism, joint), Motor.of(mechanism, joint)
    duties = bus / joint.supply(bus) if bus else 1.0  # a servo's duty is a share of its own supply
    effort = there.effort if math.isfinite(there.effort) else UNLIMITED_EFFORT
    speed = there.velocity if math.isfinite(there.velocity) else UNLIMITED_SPEED[slides]
    _, rate_gain = observer_gains(mechanism.control.observer_hz, 1.0 / hz)
    one_count = rate_gain * abs(count) * hz  # velocity that the observer reports after an error of one count
    unit = position_unit(joint)
    lower, upper = (_coarse(at, unit, joint.type, way)
                    for at, way in ((limits.lower, math.floor), (limits.upper, math.ceil)))
    return JointConstants(
        unit=unit,
        per_unit=1.0 / unit,
        count=count,
        ku=joint.gains.ku * unit * measured,
        kv=joint.gains.kv * 2.0 * hz * measured,
        ki=joint.gains.ki * unit / hz * measured,
        rotor=2.0 * joint.rotor * (hz * hz),
        viscous=joint.friction.viscous * hz,
        coulomb=joint.friction.coulomb,
        coulomb_slope=0.5 * joint.friction.coulomb * hz / COULOMB_VELOCITY[slides],
        coulomb_width=COULOMB_VELOCITY[slides] / hz,
        effort=effort,
        resistance=(bus / current if current else motor.R * duties) / torque_constant if motor else 0.0,
        inductance=motor.L * hz / torque_constant if motor and not current else 0.0,
        back_emf=torque_constant * hz * duties if motor and not current else 0.0,
        speed=speed,
        overspeed=(1.25 * speed + 4.0 * one_count) / (2.0 * hz),
        rest=max(0.02 * speed, 2.0 * one_count) / (2.0 * hz),
        span=SPAN[slides],
        following=min(round(_following(joint, effort) / unit), 2**31 - 1) if measured else UNWATCHED,
        start=round(start_tolerance(joint) / unit),
        step=round(count / unit * 2 ** fine_digits(mechanism)),
        counts=min(math.ceil(2.0 * speed / hz / abs(count)) + 4, 2**30),
        lower=lower,
        room=upper - lower,
        upper=upper,
        margin=_coarse(0.005 if slides else 0.05, unit, joint.type, round),
        patience=max(2, round(mechanism.safety.stuck_s * hz)) if measured else 2**32 - 1,
    )


def lab_row(mechanism: Mechanism, joint: Joint) -> LabConstants:
    """Return the constants of one joint for the lab modes."""
    row = joint_constants(mechanism, joint)
    return lab_constants(mechanism, joint, row.speed, row.effort, _count(joint))


def start_tolerance(joint: Joint) -> float:
    """Return the maximum distance, rad or m, from a joint to a motion's first knot at which the motion may start."""
    return max(0.002 if joint.type == "prismatic" else 0.01, 4.0 * abs(_count(joint)))


def fine_digits(mechanism: Mechanism) -> int:
    """Return the number of binary digits that a fine encoder position adds to a wire position. The number is the
    largest with which every joint's travel per count fits 32 bits. The rounding error of a joint with N counts per turn
    is then at most N 2^-(33 + digits) turn per turn. Raise BadInput if one count is half a turn or more of the joint.
    """
    most = FINE_MOST
    for joint in mechanism.streamed:
        size = abs(_count(joint)) / position_unit(joint)
        most = min(most, 30 - math.floor(math.log2(size)))
        if most < 0:
            refuse(mechanism, f"joint.{joint.name}.encoder.counts", joint.encoder.counts if joint.encoder else None,
                   "one count must be less than half a turn of the joint (4 m of a prismatic one)")
    return most


def _count(joint: Joint) -> float:
    """Return the joint's travel per count, rad or m, signed. No encoder: the resolution of wire positions."""
    encoder = joint.encoder
    if joint.drive is not None:
        return drives.count(joint.drive)
    if encoder is None:
        return position_unit(joint)
    turn = 2.0 * math.pi
    if encoder.at == "motor":
        return encoder.sign * turn / (encoder.counts * (joint.motor.gear if joint.motor else 1.0))
    return encoder.sign * (1.0 if joint.type == "prismatic" else turn) / encoder.counts


def _measured(joint: Joint, board: Board | None) -> bool:
    """Return True if the board measures the joint's position, with the encoder of its channel or with its drive."""
    driven = board is None or (bool(board.channels) and joint.actuated and joint.motor is not None)
    return joint.drive is not None or (joint.encoder is not None and driven)


def _bus(mechanism: Mechanism) -> float:
    """Return the nominal bus voltage, V; 0 without a board."""
    return mechanism.board.bus_voltage if mechanism.board else 0.0


def _bus_high(mechanism: Mechanism, board: Board | None, nominal: float) -> float:
    """Return the bus voltage, V, above which the firmware reports an overvoltage.

    A reading at the upper end of the board's measuring range counts as too high."""
    most = bus_most(board) if board else math.inf
    if board and most < BUS_TOLD * nominal:
        refuse(mechanism, "board.bus_voltage", nominal, f"board {board.name!r} measures at "
               f"most {most:.1f} V, and must tell {BUS_TOLD:g} times the nominal", f"at most {most / BUS_TOLD:.1f}")
    return min(BUS_HIGH * nominal, most)


def _following(joint: Joint, effort: float) -> float:
    """Return twice the following error at which the proportional term ku alone reaches the joint's effort limit."""
    least, most = (0.01, 0.5) if joint.type == "prismatic" else (0.1, 1.5)
    return min(max(2.0 * effort / joint.gains.ku, least), most) if joint.gains.ku else most


def follow_limits(mechanism: Mechanism) -> tuple[follow.Limits, ...]:
    """Return the motion limits that the board applies to each streamed joint in FOLLOW.

    Raise Refused if the mechanism cannot use FOLLOW."""
    if why := follow.unfollowed(mechanism):
        raise Refused(f"{mechanism.name} cannot follow targets that are sent live: {why}")
    board = load_board(mechanism.board.use, mechanism.source or mechanism.name) if mechanism.board else None
    rows = [joint_constants(mechanism, j, _measured(j, board)) for j in mechanism.streamed]
    return follow.follow_limits(mechanism, tuple(row.speed for row in rows))


def _coarse(position: float, unit: float, kind: str, whole: Callable[[float], int]) -> int:
    """Return a position in whole coarse steps. For a joint without limits, return a position that it cannot reach."""
    if kind == "prismatic":  # less than half of the range of the step's 32 bits
        return whole(min(max(position / unit / COARSE, -SLIDE_MAX), SLIDE_MAX))
    if kind == "continuous" or not math.isfinite(position):
        return 2**31 - 1 if position > 0.0 else -(2**31)
    steps = whole(position / unit / COARSE)
    return max(-COARSE_MAX, min(COARSE_MAX, steps))


def _context(mechanism: Mechanism, board: Board | None, feedforward: bool) -> Context:
    control, joints = mechanism.control, mechanism.streamed
    rows = [joint_constants(mechanism, j, _measured(j, board)) for j in joints]
    least, most = overlay(mechanism)
    timeout = max(1, round(control.host_timeout_s * control.rate_hz))
    position_gain, rate_gain = observer_gains(control.observer_hz, 1.0 / control.rate_hz)
    nominal = _bus(mechanism) or 1.0
    warm = thermal_limits.heats(mechanism, board)
    brake = _brake(mechanism, board)
    touches = contact.detection(mechanism, board, rows, brake.opens)
    returns = touches.reaction == contact.REACTIONS["return"]
    limits = () if mechanism.safety.park is None and not returns else follow.follow_limits(
        mechanism, tuple(row.speed for row in rows))
    parks = park.parking(mechanism, board, limits, (BUS_LOW * nominal, nominal))
    goes = parks.rows if parks else park.slow_rows(mechanism, limits, contact.RETURN_SPEED) if returns else []
    tables: dict[str, Sequence[Any]] = {
        "joint": rows, "lab": [lab_row(mechanism, j) for j in joints],
        "follow": follow.follow_rows(mechanism, [row.speed for row in rows]),
        "park": goes, "contact": touches.rows, "stribeck": stribeck.rows(mechanism),
        "age": feedback_age.aging(mechanism)}
    numbers = {name: _table(name, rows) for name, rows in tables.items() if rows}
    drives_of = _drives(mechanism)
    return Context(
        lead=board.lead if board else 0,
        duty_max=board.outputs.duty_max if board and board.outputs else 1.0,
        ring=ring_size(control.knot_hz, len(joints)),
        ramp=_fitting_ramp(mechanism),
        feedforward=int(feedforward),
        host_timeout=timeout,
        host_lost=HOST_LOST * timeout,
        following_ticks=max(2, round(FOLLOWING_S * control.rate_hz)),
        integral=int(any(row.ki > 0.0 for row in rows)),
        coulomb=int(any(row.coulomb > 0.0 for row in rows)),
        motors=int(any(row.resistance != 0.0 for row in rows)),
        inductance=int(any(row.inductance != 0.0 for row in rows)),
        fine=fine_digits(mechanism),
        kept=real(1.0 - position_gain),
        rate_gain=real(0.5 * rate_gain),
        bus_low=real(BUS_LOW * nominal),
        bus_high=real(_bus_high(mechanism, board, nominal)),
        joints=joints,
        structs=[c_struct(kind, name) for kind, name in STRUCTS.items()],
        tables=numbers,
        follow=int(not follow.unfollowed(mechanism)),
        follow_times=_follow_times(mechanism),
        parking=parks,
        park_volts=real((parks and parks.volts) or 0.0),
        contact_detection=touches,
        felt_bits=[(name, bit) for name, (bit, _) in messages.FELT_TOUCHED.items()],
        contact_gain=real(touches.gain),
        contact_slow=real(touches.slow),
        start_pose=[int(x) for x in to_wire([j.start for j in joints], joints)],
        reactions=reactions(mechanism),
        overlay=int((least, most) != (64, 64)),
        overlay_least=least,
        overlay_most=most,
        current_loops=int(board is not None and has_current_loops(served(mechanism, board))),
        brake=brake,
        heats=[(", ".join(c_row(row)), row.what) for row in warm],
        heat_crc=crc(warm),
        drives=drives_of,
        guarded=[*((table.array, name) for name, table in numbers.items()), ("heat", "heat"),
                 *((("drive", "drive"),) if drives_of else ()),
                 *((("setting", "setting"),) if drives_of and drives_of.settings else ())],
        moded=int(has_modes(mechanism)),
        press_ticks=max(2, round(PRESS_S * control.rate_hz)),
        temperature_max=real(mechanism.safety.temperature_max),
    )


def _table(name: str, rows: Sequence[Any]) -> Table:
    return Table("follow" if name == "park" else name, "joint" if name == "joint" else f"{name}_joint",
                 [c_row(row) for row in rows], (crc(rows), crc(rows, double=True)))


def _follow_times(mechanism: Mechanism) -> FollowTimes:
    asked = mechanism.follow
    return FollowTimes(delay=messages.FOLLOW_AUTO if asked.delay is None else round(1e6 * asked.delay),
                       frame=0 if asked.frame is None else round(1e6 * asked.frame),
                       timeout=max(1, round(asked.timeout * mechanism.control.rate_hz)))


def _drives(mechanism: Mechanism) -> Drives | None:
    """Return the constants of drives; None if no joint has a drive."""
    rows = drives.drive_rows(mechanism)
    if not rows:
        return None
    settings = drives.setting_rows(mechanism)
    cutoff, hz = mechanism.safety.cutoff, mechanism.control.rate_hz
    times = None if cutoff is None else CutoffTimes(max(CUTOFF_LEAST, math.ceil(cutoff.within_s * hz)),
                                                    math.ceil(cutoff.off_s * hz))
    return Drives(
        cutoff=times, buses=len(used_buses(mechanism)), wires=len(wires(mechanism)), wire_most=wire_most(mechanism),
        holds=int(any(map(drives.loop_gain, mechanism.streamed))), doubts=int(on_pc(mechanism)),
        settings=[c_row(row) for row in settings], settings_crc=crc(settings),
        families=[family.c for family in families(mechanism)], rules=drives.RULES,
        rows=[c_row(row) for row in rows], crc=crc(rows), silent_ticks=drives.silent_ticks(mechanism),
        beat_ticks=drives.beat_ticks(mechanism),
        watchdog_ms=math.ceil(1e3 * drives.watchdog_s(mechanism) - 1e-6))


def _brake(mechanism: Mechanism, board: Board | None) -> BrakeTimes:
    """Return the brakes' release and engage times in ticks, rounded up. One tick is added because the pin changes
    within a tick.

    The brakes release when the bridges are awake."""
    brake, hz = mechanism.safety.brake, mechanism.control.rate_hz
    if brake is None or (board is not None and board.outputs is None):
        return BrakeTimes(0, 0, 0)
    wakes = board.outputs.wake_ticks(hz) if board and board.outputs else 0
    return BrakeTimes(1, math.ceil(brake.release_s * hz) + 1 + wakes, math.ceil(brake.engage_s * hz) + 1)


def _fitting_ramp(mechanism: Mechanism) -> int:
    """Return the ramp. Raise BadInput if the path time of a whole segment does not fit 32 bits."""
    control = mechanism.control
    ticks = control.rate_hz // control.knot_hz
    most = (2**31 - 1) // (5 * ramp(control.rate_hz) ** 2)
    if ticks > most:
        refuse(mechanism, "control.knot_hz", control.knot_hz,
               f"at rate_hz = {control.rate_hz} a segment may last {most} ticks",
               f"least: {-(-control.rate_hz // most)}")
    return ramp(control.rate_hz)
