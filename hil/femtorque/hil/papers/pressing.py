"""A motor board makes the arm of the flexible manipulator's paper press on a floor, with motors, friction and encoders.

In the paper only the torques drive the arm. A board receives motions and computes the torque for the arm without
contact, so the streamed motion passes through the floor, and the feedback supplies the rest. This motion is that of an
arm without a floor, driven by the planned torques and the PD law. In it, the arm's torque equals the planned torque
plus the PD torque."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Array, colours
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.motion import Trajectory, knots
from femtorque.codegen.toolchain import build_image
from femtorque.hil.board import VirtualBoard
from femtorque.hil.papers.finding import Finding, Number, Picture, Table, canvas, label, picture, within
from femtorque.hil.plant import FINER, FlexibleArmPlant, Wall
from femtorque.hil.play import Result, folder, play_motion
from femtorque.hil.scenarios import SMOOTH, STEP, Contact, Slide, load_scenario, without_friction
from femtorque.host.plan import TipMotion, chord_motion, flexible_arm, tip_motion

ABOVE = 0.02  # height of the tip above the floor at the start and the end, m
CHANGE = 0.4  # time for the motion down, and for increasing the force, s; also at the end
SETTLING = 2.0  # time in which the arm without a floor comes to rest under the first torques, s
SLIDES = (0.5, 1.0)  # s
BOARD, UNMOVED, FEEDBACK = "feed-forward + PD", "the planned motion itself", "PD"


@dataclass(frozen=True)
class Touch:
    """Path of the tip: down to the floor, along the floor in `seconds` with the wall's force, and up again."""

    wall: Contact
    seconds: float

    @property
    def sliding(self) -> tuple[float, float]:
        """Return the start and end of the sliding phase, s."""
        return 2.0 * CHANGE, 2.0 * CHANGE + self.seconds

    @property
    def duration(self) -> float:
        """Return the duration, s, including the time at rest in which the arm stops swinging."""
        return self.sliding[1] + 3.0 * CHANGE

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations of the tip (..., 3), m, at times t (...)."""
        t, (begin, end) = np.asarray(t, float), self.sliding
        slide = Slide(self.wall, self.seconds).at(t - begin)
        low = self._between(t, 0.0, end + CHANGE)
        above = (ABOVE - ABOVE * low[0], -ABOVE * low[1], -ABOVE * low[2])
        x, v, a = (along + up[..., None] * np.array([0.0, 1.0, 0.0])
                   for along, up in zip(slide, above, strict=True))
        return x, v, a

    def force(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return the required force of the floor on the tip (...), N, with two derivatives."""
        share, first, second = self._between(np.asarray(t, float), CHANGE, self.sliding[1])
        return self.wall.press * share, self.wall.press * first, self.wall.press * second

    @staticmethod
    def _between(t: Array, rise: float, fall: float) -> tuple[Array, Array, Array]:
        """Return a law that changes from 0 to 1 after `rise` and back after `fall`, s, each within CHANGE."""
        up, down = (np.clip((t - begin) / CHANGE, 0.0, 1.0) for begin in (rise, fall))
        value, first, second = (law(up) - law(down) for law in (SMOOTH, SMOOTH.deriv(), SMOOTH.deriv(2)))
        return value, first / CHANGE, second / CHANGE**2


@dataclass(frozen=True)
class Press:
    """Force that the tip exerts on the floor."""

    touch: Touch

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        value, first, second = (-force[..., None] * np.array([0.0, 1.0, 0.0]) for force in self.touch.force(t))
        return value, first, second


@dataclass(frozen=True)
class Pressing:
    touch: Touch
    mechanism: Mechanism
    planned: TipMotion  # motion from the boundary-value problem
    streamed: Trajectory  # passes through the floor, at the depth that the feedback needs

    @staticmethod
    def of(mechanism: Mechanism, touch: Touch) -> Pressing:
        """Return the motion of an arm that a board drives."""
        arm = flexible_arm(mechanism)
        start = np.array([body.joint.start for body in arm.rigid.bodies])
        chord = chord_motion(arm, touch, touch.duration, STEP, start)
        planned = tip_motion(arm, chord, touch.duration, STEP, ends="static", press=Press(touch))
        return Pressing(touch, mechanism, planned, without_floor(beginning(mechanism, planned.q[0]), planned))

    def plant(self, mechanism: Mechanism, elements: int) -> FlexibleArmPlant:
        """Return the arm on the floor. At the planned position of the tip, the floor exerts the required force."""
        wall = self.touch.wall
        level = wall.floor + wall.press / wall.stiffness
        return FlexibleArmPlant(mechanism, elements,
                                wall=Wall(np.array([0.0, 1.0, 0.0]), level, wall.stiffness, wall.damping))


@dataclass(frozen=True)
class Pressed:
    """Force of the floor on the tip (T,), N, and position of the tip (T, 3), m, at times (T,), s, of the motion."""

    touch: Touch
    times: Array
    force: Array
    tip: Array
    result: Result | None = None  # result of the board; None without a board

    @property
    def sliding(self) -> NDArray[np.bool_]:
        """Return True for the times in the sliding phase."""
        begin, end = self.touch.sliding
        return (self.times >= begin) & (self.times <= end)

    @property
    def error(self) -> Array:
        """Return the force errors in the sliding phase, relative to the required force."""
        wanted = self.touch.force(self.times)[0]
        error: Array = ((self.force - wanted) / self.touch.wall.press)[self.sliding]
        return error

    @property
    def rms(self) -> float:
        return float(np.sqrt(np.mean(self.error**2)))

    @property
    def worst(self) -> float:
        return float(np.abs(self.error).max())


def without_floor(mechanism: Mechanism, planned: TipMotion) -> Trajectory:
    """Return the arm's motion by planned torques and PD gains, without floor and friction, in the same elements."""
    plant = FlexibleArmPlant(without_friction(mechanism), _elements(mechanism))
    for _ in range(round(SETTLING / STEP)):
        plant.push(STEP, _torque(plant, planned, 0))
    rows = []
    for k in range(len(planned.times)):
        rows.append((plant.q, plant.v, plant.accelerations[:plant.n]))
        plant.push(STEP, _torque(plant, planned, k))
    q, qd, qdd = (np.array(column) for column in zip(*rows, strict=True))
    return _at_rest(mechanism, planned.times, q, qd, qdd)


def by_torques(pressing: Pressing) -> Pressed:
    """Return the result of planned torques and the gains without a board, on an arm without friction."""
    mechanism, planned = without_friction(beginning(pressing.mechanism, pressing.planned.q[0])), pressing.planned
    plant, rows = pressing.plant(mechanism, FINER * _elements(mechanism)), []
    for k in range(len(planned.times)):
        rows.append((plant.contact()[1], plant.tip()))
        plant.push(STEP, _torque(plant, planned, k))
    force, tip = (np.array(column) for column in zip(*rows, strict=True))
    return Pressed(pressing.touch, planned.times, force, tip)


def by_board(pressing: Pressing, motion: Trajectory, feedforward: bool = True) -> Pressed:
    """Return the result of the arm that is driven by the flash image, which receives `motion`. Raises Refused."""
    mechanism = beginning(pressing.mechanism, motion.positions[0])
    plant, rows = pressing.plant(mechanism, FINER * _elements(mechanism)), []
    built = build_image(mechanism, folder(mechanism, feedforward), feedforward=feedforward)
    with VirtualBoard(built.elf, mechanism, plant) as board:
        board.brakes = True
        plant.watch(lambda: rows.append((board.seconds, plant.contact()[1], plant.tip())))
        result = play_motion(board, mechanism, knots(motion, mechanism), feedforward)
    seconds, force, tip = (np.array(column) for column in zip(*rows, strict=True))
    times = seconds - result.record.seconds[result.moving.start]
    return Pressed(pressing.touch, times, force, tip, result)


def beginning(mechanism: Mechanism, q: Array) -> Mechanism:
    """Return the mechanism with its streamed joints at q (J,), rad, at the start."""
    starts = dict(zip((joint.name for joint in mechanism.streamed), q.tolist(), strict=True))
    return replace(mechanism, joints=tuple(replace(joint, start=starts.get(joint.name, joint.start))
                                           for joint in mechanism.joints))


def _torque(plant: FlexibleArmPlant, planned: TipMotion, k: int) -> Array:
    """Return a step's torque (J,), N m: planned, including the rotors, plus the gains towards the plan."""
    ku, kv = np.array([(joint.gains.ku, joint.gains.kv) for joint in plant.joints if joint.gains]).T
    torque: Array = (planned.torque[k] + plant.motors.inertia * planned.qdd[k] + ku * (planned.q[k] - plant.q)
                     + kv * (planned.qd[k] - plant.v))
    return torque


def _elements(mechanism: Mechanism) -> int:
    return next(link.beam.elements for link in mechanism.links if link.beam is not None)


def _at_rest(mechanism: Mechanism, times: Array, q: Array, qd: Array, qdd: Array) -> Trajectory:
    """Return the motion, extended at both ends by a time of rest. The velocities at the ends are negligible."""
    qd, qdd = qd.copy(), qdd.copy()
    qd[[0, -1]] = qdd[[0, -1]] = 0.0
    return Trajectory.of(mechanism, times, q, qd, qdd)


# ---- the finding -----------------------------------------------------------------------------------


def board(short: bool) -> Finding:
    """Return the force on the surface as in Fig. 2, with a board in place of ideal torques."""
    wall = load_scenario("wall_contact")
    contact = wall.file.contact
    assert contact is not None
    rows, runs = [], {}
    for seconds in SLIDES[:1] if short else SLIDES:
        pressing = Pressing.of(wall.mechanism, Touch(contact, seconds))
        ideal, driven = by_torques(pressing), by_board(pressing, pressing.streamed)
        rows += [_row(seconds, "ideal torques + PD, no board", ideal), _row(seconds, BOARD, driven)]
        if seconds == SLIDES[0]:
            planned = pressing.planned
            unmoved = _at_rest(pressing.mechanism, planned.times, planned.q, planned.qd, planned.qdd)
            runs = {BOARD: driven, UNMOVED: by_board(pressing, unmoved),
                    FEEDBACK: by_board(pressing, pressing.streamed, feedforward=False)}
            rows += [_row(seconds, name, runs[name]) for name in (UNMOVED, FEEDBACK)]
            drawn = _picture(pressing, runs, ideal)
            beside = np.interp(driven.times, ideal.times, ideal.force)[driven.sliding]
            apart = float(np.sqrt(np.mean((driven.force[driven.sliding] - beside) ** 2))) / contact.press
    driven, own = runs[BOARD], f"{contact.press:g} N asked for"
    result = driven.result
    assert result is not None
    gone = float(np.ptp(driven.tip[driven.sliding, 0]))
    return Finding(
        (within(f"rms error of the force, slide in {SLIDES[0]:g} s", driven.rms, 0.06, own, "of it"),
         within("worst error of the force in it", driven.worst, 0.13, own, "of it"),
         within("the board's force beside that of ideal torques + PD, rms", apart, 0.03, "the same plant, no friction",
                "of the wanted force"),
         within("rms error against PD alone, streamed the same motion", driven.rms / runs[FEEDBACK].rms, 0.4,
                f"{runs[FEEDBACK].rms:.2g} with PD alone", "of it"),
         within("rms error against the board that is streamed the planned motion itself",
                driven.rms / runs[UNMOVED].rms, 0.2, f"{runs[UNMOVED].rms:.2g} there", "of it"),
         Number(f"the tip slides {gone:.3f} m and never leaves the floor on the way",
                f"{driven.force[driven.sliding].min():.2f} N at least", "more than 0 N",
                bool(driven.force[driven.sliding].min() > 0.0)),
         Number("the image's torques of the whole motion", "equal" if result.bit_identical else "DIFFER",
                "the host's float32, bit for bit; no fault", result.good and bool(result.bit_identical))),
        (drawn,),
        (Table("error of the force in the slide, of the wanted force", ("slide, s", "driven by", "rms", "worst"),
               tuple(rows)),))


def _row(seconds: float, name: str, run: Pressed) -> tuple[str, ...]:
    return f"{seconds:g}", name, f"{run.rms:.2%}", f"{run.worst:.2%}"


def _picture(pressing: Pressing, runs: dict[str, Pressed], ideal: Pressed) -> Picture:
    figure = canvas(13.0, 4.4)
    force, tip, elbow = figure.subplots(1, 3)
    touch, t = pressing.touch, pressing.planned.times
    force.plot(t, touch.force(t)[0], color=colours.DESIRED, linewidth=4.0, label="wanted")
    force.plot(ideal.times, ideal.force, color=colours.REST, linewidth=1.0, label="ideal torques + PD")
    tip.plot(t, 1e3 * (touch.at(t)[0][:, 1] - touch.wall.floor), color=colours.DESIRED, linewidth=4.0, label="wanted")
    paints = {BOARD: colours.FEED_FORWARD, FEEDBACK: colours.FEEDBACK, UNMOVED: colours.ERROR}
    for name, run in runs.items():
        force.plot(run.times, run.force, color=paints[name], linewidth=1.2, label=f"{name}: {run.rms:.1%} rms")
        tip.plot(run.times, 1e3 * (run.tip[:, 1] - touch.wall.floor), color=paints[name], linewidth=1.2, label=name)
    _elbow(elbow, pressing, runs[BOARD])
    label(force, f"force on the floor, slide in {touch.seconds:g} s", y="N")
    label(tip, "height of the tip over the floor", y="mm")
    label(elbow, "what the board is streamed", y="elbow, rad")
    force.set_ylim(-0.2, 2.0 * touch.wall.press)
    tip.set_ylim(-0.2e3 * ABOVE, 2.5e3 * ABOVE)
    for axes in (force, tip, elbow):
        axes.set_xlim(0.0, touch.duration)
        axes.axvspan(*touch.sliding, color="0.93")
        axes.legend(fontsize=7)
    return picture(figure, "The flash image on the virtual board presses with the flexible arm on a floor and slides "
                           "along it (grey): the force, the tip, and the motion through the floor that it is streamed")


def _elbow(axes: Axes, pressing: Pressing, driven: Pressed) -> None:
    """Draw the planned, the streamed and the true angle of the elbow."""
    t, result = pressing.planned.times, driven.result
    assert result is not None
    axes.plot(t, pressing.planned.q[:, 1], color=colours.DESIRED, linewidth=4.0, label="planned")
    axes.plot(t, pressing.streamed.at(t)[0][:, 1], color=colours.FEEDBACK, linewidth=1.2, label="streamed")
    record = result.record
    axes.plot(record.seconds - record.seconds[result.moving.start], record.q[:, 1], color=colours.MEASURED,
              linewidth=1.2, label="of the plant")
