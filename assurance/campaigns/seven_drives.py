"""One motion of an arm with seven drives, played by the drives' PD alone, by a loop on a PC with gravity compensation,
and by this firmware, planned and as live targets. An ideal board gives the lower bound of the error, from the drives'
loops and the frames' resolution. PD alone uses the same image, also at 1 kHz. All else is equal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assurance.campaigns.host_loop import HZ, Desk, HostLoop, Ran
from femtorque.codegen.common import BUILD, MECHANISMS, Array, colours
from femtorque.codegen.drive.fields import Range
from femtorque.codegen.drive.mit import ranges
from femtorque.codegen.mechanism import Joint, Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory, from_rows, knots
from femtorque.codegen.toolchain import platformio
from femtorque.codegen.verify import blank, torque
from femtorque.hil.board import VirtualBoard, VirtualClock
from femtorque.hil.drives.motor import Command
from femtorque.hil.plant import plant_of
from femtorque.hil.play import Result, play_motion, session_with, wrapped
from femtorque.host.live import Following

PD, HOST, OURS = "PD of the drives, 1 kHz", f"PC at {HZ:g} Hz + gravity", "femtorque, 1 kHz"
LIVE_HZ = 30.0
LIVE = f"femtorque, followed at {LIVE_HZ:g} Hz"
EXACT, FIELDS = "ideal board", "ideal board, in the drives' fields"
WAYS = (PD, HOST, OURS)
FLOORS = (EXACT, FIELDS)
# angles, rad; in the last pose the arm is extended
POSES = ((0.6, 0.9, -0.5, 1.9, 0.6, 0.4, -0.5), (-0.4, 1.2, 0.4, 0.5, -0.6, -0.4, 0.5))
TIMES = (1.2, 2.4, 3.2)  # times at which the arm reaches the first pose, reaches the second pose, and ends a rest, s
RESTED = 0.5  # time at rest before the mean is taken, s
# beginning and duration of the host's stall, s: in the middle of the motion, like the fault host-stall
STALL = (1.6, 0.4)
# largest allowed ratio of this firmware's rms error to the rms error of each alternative
BETTER = {PD: 1.0 / 10.0, HOST: 1.0 / 3.0}


def arm() -> Mechanism:
    return load_mechanism(MECHANISMS / "openarm_like.toml")


def motion_of(mechanism: Mechanism) -> Trajectory:
    """Return the motion from the start through the poses in order, from rest to rest."""
    start = [joint.start for joint in mechanism.streamed]
    rest = np.zeros((len(TIMES) + 1, len(start)))
    return from_rows([j.name for j in mechanism.streamed], [0.0, *TIMES], [start, *POSES, POSES[-1]], rest, rest)


@dataclass(frozen=True)
class Way:
    """One way to play the motion."""

    name: str
    ran: Ran
    result: Result | None = None  # result of an image on the virtual board

    @property
    def error(self) -> Array:
        """Return the target minus the true position of the plant (T, J), rad."""
        return self.ran.target - self.ran.q

    @property
    def rms(self) -> Array:
        """Return the rms error (J,) during the motion, rad."""
        return np.sqrt(np.mean(self.error[self.ran.seconds < TIMES[-2]] ** 2, axis=0))

    @property
    def sag(self) -> Array:
        """Return the mean error (J,) at rest, rad."""
        return -self.error[self.ran.seconds > TIMES[-2] + RESTED].mean(axis=0)

    @property
    def speed(self) -> Array:
        """Return the largest speeds (J,), rad/s."""
        return np.abs(np.diff(self.ran.q, axis=0)).max(axis=0) / 1e-3

    def off(self, since: float) -> float:
        """Return the worst joint's largest distance to the nearest point of the path after a time, rad."""
        path = motion_of(arm()).at(np.arange(0.0, TIMES[-1], 1e-3))[0]
        later = self.ran.q[self.ran.seconds > since]
        return max(float(np.abs(path - q).max(axis=1).min()) for q in later)


def on_board(mechanism: Mechanism, motion: Trajectory, feedforward: bool, fault: str | None = None) -> Way:
    """Play the motion by the image. fault: of femtorque.hil.board.faults, in mid-motion; the host then resumes."""
    folder = BUILD / (mechanism.name + ("" if feedforward else "-without-feedforward"))
    image = platformio.build_image(mechanism, folder, feedforward=feedforward)
    with VirtualBoard(image.elf, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        result = play_motion(board, mechanism, knots(motion, mechanism), feedforward, fault, resume=1 if fault else 0)
        busy = max((wire.busy_seconds for wire in board.wiring.buses.wires.values()), default=0.0) / board.seconds
    record, began = result.record, result.moving.start
    gap = wrapped(result.target_positions - record.q, mechanism)[began:]
    seconds = record.seconds[began:] - record.seconds[began]
    kept = seconds < motion.duration if fault is None else seconds >= 0.0
    q = record.q[began:][kept]
    return Way(OURS if feedforward else PD, Ran(seconds[kept], q + gap[kept], q, busy), result)


def live(mechanism: Mechanism, motion: Trajectory) -> Way:
    """Play the motion by the image in FOLLOW: the host sends positions of the motion LIVE_HZ times a second."""
    image = platformio.build_image(mechanism, BUILD / mechanism.name)
    with VirtualBoard(image.elf, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        session = session_with(board, clock=VirtualClock(board))
        try:
            session.connect()
            session.home([joint.start for joint in mechanism.streamed])
            session.arm()
            with Following(session, mechanism, None, None) as following:
                board.brakes, board.recording = False, True
                for k in range(math.ceil(motion.duration * LIVE_HZ)):
                    following.send(motion.at(k / LIVE_HZ)[0])
                    following.wait(1.0 / LIVE_HZ)
            record = board.record()
            target = board.target_positions(record)
        finally:
            session.close()
        wire, = board.wiring.buses.wires.values()
        busy = wire.busy_seconds / board.seconds
    seconds = record.seconds - record.seconds[0]
    gap = wrapped(target - record.q, mechanism)
    return Way(LIVE, Ran(seconds, record.q + gap, record.q, busy))


def by_host(mechanism: Mechanism, motion: Trajectory, stall: tuple[float, float] = (np.inf, 0.0)) -> Way:
    """Play the motion by a loop on a PC that is connected to the bus."""
    return Way(HOST, HostLoop(Desk(mechanism), motion).run(stall))


def ideally(mechanism: Mechanism, motion: Trajectory, coarse: bool) -> Way:
    """Play the motion at 1 kHz by a board without delay and model error, so that only the drives err. coarse: round to
    the frames' resolution, and carry the remainder of torques to the next tick."""
    desk, dt = Desk(mechanism), 1.0 / mechanism.control.rate_hz
    forward = torque(mechanism, motion, total=True).tau
    places, carried = [], np.zeros(len(desk.drives))
    t = np.arange(len(forward), dtype=float) * dt
    q, v, _ = motion.at(t + 0.5 * dt)
    for drive in desk.drives:
        drive.motor.active = True
    for k in range(len(t)):
        places.append(np.array(desk.q, float))
        for j, joint in enumerate(mechanism.streamed):
            sign = desk.signs[j]
            told = {"position": sign * q[k, j], "velocity": sign * v[k, j], "kp": joint.gains.ku, "kd": joint.gains.kv,
                    "torque": sign * forward[k, j] + carried[j]}
            if coarse:
                told, carried[j] = _rounded(joint, told)
            desk.drives[j].motor.command = Command(**told)
        desk.run_until((k + 1) * dt)
    return Way(FIELDS if coarse else EXACT, Ran(t, motion.at(t)[0], np.array(places), 0.0))


def _rounded(joint: Joint, told: dict[str, float]) -> tuple[dict[str, float], float]:
    """Return the values after transmission, and the rounding remainder of the torque."""
    assert joint.drive is not None
    scales: dict[str, Range] = ranges(joint.drive.type)
    heard = {name: scales[name].decode(scales[name].encode(value)) for name, value in told.items()}
    return heard, told["torque"] - heard["torque"]


@dataclass(frozen=True)
class Compared:
    """Runs by name."""

    mechanism: Mechanism
    ways: dict[str, Way]  # results of WAYS, LIVE and FLOORS
    stalled: dict[str, Way]  # HOST and OURS with a stalled host


def compare() -> Compared:
    mechanism = arm()
    motion = motion_of(mechanism)
    ways = [on_board(mechanism, motion, False), by_host(mechanism, motion), on_board(mechanism, motion, True),
            live(mechanism, motion), ideally(mechanism, motion, False), ideally(mechanism, motion, True)]
    stalled = [by_host(mechanism, motion, STALL), on_board(mechanism, motion, True, "host-stall")]
    return Compared(mechanism, {way.name: way for way in ways}, {way.name: way for way in stalled})


# ---- the picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {PD: colours.FEEDBACK, HOST: colours.REST, OURS: colours.FEED_FORWARD}
JOINT = 1  # number of the joint with the largest load


def draw(compared: Compared, path: Path) -> None:
    """Draw the error of the most loaded joint, rms and sag of all joints, and the effect of a host's stall."""
    figure = blank(13.0, 7.6)
    (error, rms), (stall, sag) = figure.subplots(2, 2, width_ratios=(1.4, 1.0))
    joints = [joint.name for joint in compared.mechanism.streamed]
    for name in WAYS:
        way = compared.ways[name]
        error.plot(way.ran.seconds, 1e3 * way.error[:, JOINT], color=COLOURS[name], linewidth=1.2, label=name)
    error.set(title=f"{joints[JOINT]}: target - true angle", ylabel="mrad", xlabel="t, s")
    names = [*WAYS, FIELDS]
    for axes, key, title in ((rms, "rms", "rms error in motion"), (sag, "sag", "sag at rest, absolute mean")):
        for i, name in enumerate(names):
            values = np.abs(getattr(compared.ways[name], key))
            axes.bar(np.arange(len(joints)) + (i - 1.5) * 0.2, 1e3 * values, 0.2, label=name,
                     color=COLOURS.get(name, "0.75"))
        axes.set_yscale("log")
        axes.set_xticks(range(len(joints)), joints)
        axes.set(title=title, ylabel="mrad")
    _stall(stall, compared, joints[JOINT])
    for axes in (error, stall):
        axes.legend(fontsize=8)
    rms.set_ylim(top=10.0 * rms.get_ylim()[1])  # space for the legend
    rms.legend(fontsize=8, ncols=2, loc="upper center")
    for axes in (error, stall, rms, sag):
        axes.grid(alpha=0.3)
    figure.suptitle("Seven Damiao drives on CAN FD, an arm of OpenArm's size: the same motion, the same gains")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _stall(axes: Axes, compared: Compared, joint: str) -> None:
    axes.axvspan(STALL[0], sum(STALL), color="0.9")
    for name, way in compared.stalled.items():
        if name == HOST:
            axes.plot(way.ran.seconds, way.ran.target[:, JOINT], color=colours.DESIRED, linewidth=4.0, label="target")
        axes.plot(way.ran.seconds, way.ran.q[:, JOINT], color=COLOURS[name], linewidth=1.2, label=name)
    axes.set(title=f"{joint}: the host does nothing for {STALL[1]:g} s", xlabel="t, s", ylabel="angle, rad")
