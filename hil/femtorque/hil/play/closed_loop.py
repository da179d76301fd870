"""Plant, board and host together, for `femtorque hil run MECH TRAJ`. The virtual board boots the built image. The
host's session homes, arms, streams to and disarms the board over the link. The report on the motion uses the plant's
true positions, not the board's measurements."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.board import on_chip
from femtorque.codegen.common import BUILD, BadInput, Refused
from femtorque.codegen.emit import step_sources
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.motion import Knots, Trajectory, check_limits, check_streamable, knots
from femtorque.codegen.toolchain import CompiledPath, build_image
from femtorque.codegen.wire import Codec, FrameReader, Status, messages, position_unit
from femtorque.hil.board import FAULTS, STEPS, BoardUnderTest, Record, VirtualBoard, VirtualClock, inject, remembers
from femtorque.hil.plant import plant_of
from femtorque.hil.plant.selection import Plant
from femtorque.hil.play.connect import session_with
from femtorque.host.link import Configuration, Link, Session
from femtorque.host.record import Log, Truth
from femtorque.host.stream import Outcome, Progress, stream

Watch = Callable[[Session, Truth], AbstractContextManager[None]]

FILLING = 0.1  # approximate time from the first knot to START, s
_STATES = {number: name for name, (number, _) in messages.STATES.items()}
STILL = 0.02  # rad/s or m/s
_FAULTS = {number: name for name, (number, *_) in messages.FAULTS.items() if number}


@dataclass(frozen=True)
class Result:
    """The result of one run.

    tracking_rms, tracking_max: desired minus true position of the plant, rad or m per joint, over the ticks in motion.
    measured_rms, measured_max: desired minus measured position over the same ticks. instructions_tick_mean,
    instructions_tick: instructions of the tick interrupt in motion, mean and worst. All three numbers of instructions
    are 0 if no model counts instructions. cycles_tick: cycles of the worst tick in motion, counted by the image of a
    real board, or computed by the model of a virtual chip. bit_identical: True if the image's feed-forward torques of
    the whole motion equal the host's float32 bit for bit; None if the motion was interrupted. switched: (seconds since
    power-on, mode, the reason why the plant did not follow, or "")."""

    mechanism: Mechanism
    feedforward: bool
    ended: str  # 'done', or the reason for another end
    state: str  # last state of the board
    faults: tuple[str, ...]
    ticks: int
    tracking_rms: NDArray[np.float64]
    tracking_max: NDArray[np.float64]
    measured_rms: NDArray[np.float64]
    measured_max: NDArray[np.float64]
    instructions_step: int  # instructions of ft_step in the worst tick in motion
    instructions_tick_mean: float
    instructions_tick: int
    cycles_tick: int
    frames: int  # number of frames to the board
    retransmissions: int
    digest: str
    bit_identical: bool | None
    outputs_safe: bool  # true if the outputs are safe at the very end
    record: Record
    moving: slice
    target_positions: NDArray[np.float64]
    switched: tuple[tuple[float, str, str], ...] = ()
    modes: tuple[int, ...] = ()  # consecutive mode numbers in STATUS
    still: bool = False  # True if all joints are at rest at the very end
    pushed: float | None = None  # distance by which the arm has moved an object in its scene, m
    driven: tuple[int, ...] = ()  # streamed joints that a virtual board drives at the end

    @property
    def good(self) -> bool:
        return self.ended == "done" and not self.faults and self.bit_identical is not False

    @property
    def tracked(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return times (T,), s, from the start of the motion, true positions, and their errors (T, J)."""
        record, moving = self.record, self.moving
        gap = wrapped(self.target_positions - record.q, self.mechanism)[moving]
        return record.seconds[moving] - record.seconds[moving.start], record.q[moving], gap

    @property
    def dangers(self) -> list[str]:
        """Return a line for each joint that is still driven, or one line if the outputs are not safe."""
        if self.outputs_safe:
            return []
        return [f"outputs are NOT safe: joint {joint.name} {_goes_on(joint)}"
                for joint in (self.mechanism.streamed[j] for j in self.driven)] or ["outputs are NOT safe"]

    def report(self) -> dict[str, Any]:
        """Return the JSON of `femtorque hil`. tracking_* are measured: a real board's true errors are unknown."""
        joints = [joint.name for joint in self.mechanism.streamed]
        return {
            "ended": self.ended, "state": self.state, "faults": list(self.faults), "ticks": self.ticks,
            "feedforward": self.feedforward,
            **{name: dict(zip(joints, values.tolist(), strict=True)) for name, values in (
                ("tracking_rms", self.measured_rms), ("tracking_max", self.measured_max),
                ("true_rms", self.tracking_rms), ("true_max", self.tracking_max))},
            "instructions_step": self.instructions_step or None, "instructions_tick": self.instructions_tick or None,
            "instructions_tick_mean": self.instructions_tick_mean or None,
            "cycles_tick": self.cycles_tick, "frames": self.frames,
            "retransmissions": self.retransmissions, "digest": self.digest, "bit_identical": self.bit_identical,
            "outputs_safe": self.outputs_safe, "dangers": self.dangers,
            "modes": [{"seconds": t, "mode": mode, "missed": missed} for t, mode, missed in self.switched]}


def _goes_on(joint: Joint) -> str:
    """Return a description of the drive of a joint that continues without the board."""
    if joint.drive is None:
        return "is driven still"
    return f"keeps its last {'duty' if joint.drive.servo else 'command'} until the supply is cut"


class Idle:
    """A plant without motion, for a virtual board that runs the pil image."""

    def __init__(self, joints: int) -> None:
        self.q, self.v, self.current = np.zeros(joints), np.zeros(joints), np.zeros(joints)

    def counts(self) -> NDArray[np.int64]:
        return np.zeros(len(self.q), np.int64)

    def drive(self, seconds: float, voltage: NDArray[np.float64]) -> None:
        """Let time pass."""

    def move(self, seconds: float, voltage: NDArray[np.float64], torque: NDArray[np.float64]) -> None:
        """Let time pass."""

    def hold(self, seconds: float, voltage: NDArray[np.float64]) -> None:
        """Let time pass."""

    def stop(self) -> None:
        """Do nothing, because no joint moves."""


class Witness:
    """A reader that gets each STATUS of the board before the line can disturb it."""

    def __init__(self, board: BoardUnderTest) -> None:
        self._reader = FrameReader(Codec(len(board.joints)))
        self.state = "BOOT"
        self.faults: list[str] = []
        self.modes: list[int] = []
        self.last = Status()  # the last one
        board.listeners.append(self._take)

    def _take(self, data: bytes) -> None:
        for frame in self._reader.feed(data):
            if isinstance(frame.message, Status):
                self.last = frame.message
                self.state = _STATES.get(self.last.state, str(self.last.state))
                if self.last.mode not in self.modes[-1:]:
                    self.modes.append(self.last.mode)
                fault = _FAULTS.get(self.last.fault)
                if fault and fault not in self.faults:
                    self.faults.append(fault)


def run_closed_loop(mechanism: Mechanism, trajectory: Trajectory, *, feedforward: bool = True, fault: str | None = None,
                    plant: Plant | None = None, out: Path | None = None, resume: int = 0, log: Path | None = None,
                    on_progress: Callable[[Progress], None] | None = None, watch: Watch | None = None,
                    wait: float = 0.0) -> Result:
    """Build, boot, home, arm, play, and disarm. fault: a name of femtorque.hil.board.faults.FAULTS, injected in
    mid-motion.

    A PC's mechanism runs on a chip's image. log: RUN.mcap, as of `stream`. watch: a context around the run, which gets
    the session and the plant's true state. Raises the BadInput and Refused of a build. An aborted motion is reported in
    the Result."""
    if fault is not None and fault not in FAULTS:
        raise BadInput("command line", "--fault", fault, "no such fault", "faults: " + ", ".join(FAULTS))
    mechanism = on_chip(mechanism)
    check_limits(trajectory, mechanism)
    check_streamable(trajectory, mechanism)
    built = build_image(mechanism, out or folder(mechanism, feedforward), feedforward=feedforward)
    plant = plant or plant_of(mechanism)
    with VirtualBoard(built.elf, mechanism, plant) as board:
        board.brakes = True
        return play_motion(board, mechanism, knots(trajectory, mechanism), feedforward, fault, resume, on_progress,
                           log=log, source=trajectory.source, watch=watch, wait=wait)


def serve_board(mechanism: Mechanism, port: int | str, announce: Callable[[str], None], until: Callable[[], bool], *,
                feedforward: bool = True, pil: bool = False, out: Path | None = None,
                kind: type[VirtualBoard] = VirtualBoard,
                around: Callable[[Any], AbstractContextManager[None]] = nullcontext) -> int:
    """Run a virtual board in real time for hosts. Hosts may come and go. Return the number of its ticks. port: a TCP
    port (0: any), or unix:PATH. pil: use the pil image, for femtorque.hil.play.pil.run; then nothing moves on this
    board. announce: called with the url when the board accepts hosts. around: a context that lasts as long as the
    board. Raises BadInput if the port is in use, and the Refused of a build."""
    built = build_image(mechanism, out or folder(mechanism, feedforward, pil), feedforward=feedforward, pil=pil)
    plant = Idle(len(mechanism.streamed)) if pil else plant_of(mechanism)
    try:
        board = kind(built.elf, mechanism, plant, port)
    except OSError as error:
        raise BadInput("command line", "--port", port, f"cannot be listened at: {error.strerror}",
                       "0 takes any") from error
    with board, around(board):
        board.recording, board.brakes = False, True
        announce(board.url)
        board.serve(until=until)
        return int(board.telemetry()["tick"]) + 1 if pil else board.ticks  # SysTick has a higher rate


def folder(mechanism: Mechanism, feedforward: bool, pil: bool = False) -> Path:
    return BUILD / (mechanism.name + ("" if feedforward else "-without-feedforward") + ("-pil" if pil else ""))


def play_motion(board: BoardUnderTest, mechanism: Mechanism, motion: Knots, feedforward: bool, fault: str | None = None,
                resume: int = 0, on_progress: Callable[[Progress], None] | None = None, pil: bool = False,
                log: Path | None = None, source: Path | None = None, watch: Watch | None = None,
                wait: float = 0.0) -> Result:
    """Connect, play, disarm, and return the results. pil: true for a real board. wait: time between arming and the
    motion, s."""
    witness, clock = Witness(board), VirtualClock(board)
    step = step_sources(Model.of(mechanism))  # computed once
    configuration = Configuration.of(mechanism, feedforward, pil, step)
    session, outcome, ended = session_with(board, configuration, clock), None, "done"
    link = session.link
    early = fault is not None and FAULTS[fault].early
    notes = {"board": "pil" if pil else "virtual", "port": getattr(board, "name", "") if pil else "virtual board",
             "trajectory": str(source or ""), "fault": fault or ""}
    virtual = board if isinstance(board, VirtualBoard) else None
    writer = None if log is None else Log(log, configuration, notes, board.truth, mechanism=mechanism,
                                         tips=None if virtual is None else virtual.tips,
                                         surroundings=None if virtual is None else virtual.surroundings)
    if writer is not None:
        session.listeners.append(writer.write)
        session.felt_listeners.append(writer.write_felt)
    try:
        if fault and early:
            inject(fault, board, clock, 0.0)
        session.connect()
        with watch(session, board.truth) if watch else nullcontext():
            session.home([joint.start for joint in mechanism.streamed])
            session.arm()
            if fault and not early:
                inject(fault, board, clock, FILLING + 0.5 * (len(motion) - 1) / mechanism.control.knot_hz)
            if wait:
                clock.sleep(wait)
            outcome = stream(session, motion, on_progress=on_progress, resume=resume)
            ended = outcome.ended
            session.disarm()
    except Refused as refusal:
        ended = str(refusal)
    finally:
        link.close()
        if writer is not None:
            writer.close()
    with suppress(Refused):  # a real board that is gone
        board.run(FAULTS[fault].settle if fault and ended != "done" else 2 * board.dt)
    return _result(board, witness, configuration, mechanism, motion, feedforward, ended, outcome, link, step)


def _result(board: BoardUnderTest, witness: Witness, configuration: Configuration, mechanism: Mechanism, motion: Knots,
            feedforward: bool, ended: str, outcome: Outcome | None, link: Link, step: dict[str, str]) -> Result:
    record = board.record()
    moving = in_motion(record)
    target = board.target_positions(record)
    error = wrapped(target - record.q, mechanism)[moving]
    unit = np.array([position_unit(joint) for joint, _ in board.joints])
    gone = np.multiply(record.target_rate, configuration.ages or 0.0)
    seen = wrapped(target - gone - record.position * unit, mechanism)[moving]
    none = np.full(len(mechanism.streamed), np.nan)
    any_motion = len(error) > 0
    return Result(
        mechanism=mechanism, feedforward=feedforward, ended=ended, state=witness.state, faults=tuple(witness.faults),
        ticks=board.ticks,
        tracking_rms=np.sqrt(np.mean(error**2, axis=0)) if any_motion else none,
        tracking_max=np.max(np.abs(error), axis=0) if any_motion else none,
        measured_rms=np.sqrt(np.mean(seen**2, axis=0)) if any_motion else none,
        measured_max=np.max(np.abs(seen), axis=0) if any_motion else none,
        instructions_step=int(record.step_instructions[moving].max(initial=0)),
        instructions_tick_mean=float(record.instructions[moving].mean()) if any_motion else 0.0,
        instructions_tick=int(record.instructions[moving].max(initial=0)),
        cycles_tick=int(record.cycles[moving].max(initial=0)),
        frames=link.sent, retransmissions=outcome.retransmissions if outcome else 0,
        digest=configuration.digest.hex(),
        bit_identical=identical(mechanism, motion, record, board.board.lead, step) if ended == "done" and feedforward
        else None,
        outputs_safe=board.outputs_safe(), record=record, moving=moving, target_positions=target,
        switched=tuple(board.switched), modes=tuple(witness.modes), still=bool(np.all(np.abs(board.plant.v) < STILL)),
        driven=tuple(board.driven()) if isinstance(board, VirtualBoard) else ())


def in_motion(record: Record) -> slice:
    """Return the slice from the first to the last tick with a desired velocity."""
    ticks = np.flatnonzero(np.any(record.target_rate != 0.0, axis=1))
    return slice(int(ticks[0]), int(ticks[-1]) + 1) if len(ticks) else slice(0, 0)


def wrapped(difference: NDArray[np.float64], mechanism: Mechanism) -> NDArray[np.float64]:
    """Return differences of positions; for rotary joints within half a turn."""
    turning = np.array([joint.type != "prismatic" for joint in mechanism.streamed])
    return np.where(turning, (difference + np.pi) % (2.0 * np.pi) - np.pi, difference)


def identical(mechanism: Mechanism, motion: Knots, record: Record, lead: int,
              step: dict[str, str] | None = None) -> bool | None:
    """Return True if the image's torque_ff equals the host's float32 bit for bit in an uninterrupted motion.

    The host runs the same knots through the same C (femtorque.codegen.toolchain.path_library). The integer targets of
    host and image show in which tick the motion began. The board computes an interval's torque `lead` ticks before it.
    With loops, modes or flexible links, the host starts from the image's step state before that tick, since the last
    bits depend on all motions since power-on. Return None for targets that differ from the uninterrupted motion, and
    for these arms on a real board, which does not report the step's state.
    """
    path = CompiledPath(mechanism, step=step)
    arrays = motion.position, motion.rate, motion.acceleration
    around = in_motion(record).start  # values of the first tick in motion; targets belong to the ends of ticks
    changing = remembers(mechanism)
    if changing and not record.steps:
        return None
    held = range(len(mechanism.streamed))  # each tick computes one joint's sine and cosine exactly
    starts: list[dict[str, Any]] = [dict(held=k) for k in held] if not changing else [
        dict(state=state, mode=motion.mode) for tick, state in record.steps.items() if around - STEPS <= tick < around]
    if not starts:
        return None
    first = path.run(*arrays, **starts[0])
    target = first[2]
    sure = len(target) - 1 - lead  # all torques are computed, so the host may disarm early
    begins = [i for i in range(max(around - 8, 0), around + 8)
              if np.array_equal(record.target[i:][:sure], target[:sure])]
    if not begins:
        return None
    formed = record.torque_ff[begins[0] - 1 - lead:][:len(target)].tobytes()
    return first[0].tobytes() == formed or any(path.run(*arrays, **s)[0].tobytes() == formed for s in starts[1:])
