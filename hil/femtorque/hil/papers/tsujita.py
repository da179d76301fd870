"""Figures and tables of the flexible manipulator's paper, and the tests of the single link that the paper is based on.
femtorque.host.plan.tip_torques plans the motion. femtorque.hil.plant.flexible_arm simulates the motion with more
elements. mechanisms/wall_arm.toml and hil/scenarios/wall_contact.toml choose the values that the paper does not print.
The two files also replace printed values for which the path is out of the arm's reach."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import lu_factor, lu_solve

from femtorque.codegen.common import MECHANISMS, Array, colours
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.toolchain import CompiledStep
from femtorque.hil.papers.finding import Finding, Number, Table, canvas, label, picture, within
from femtorque.hil.plant import FlexiblePlant
from femtorque.hil.scenarios import Slew, Slide, load_scenario, pressed
from femtorque.host.plan import Chain, TipMotion, corrected, elastic_problem, flexible_arm, swung, tip_motion

Turn = tuple[Array, Array, Array]  # angle (T,), rad, and its velocity and acceleration

ANGLE = np.pi / 3  # of the slew, rad
PLANT_ELEMENTS = 20
DT = 2.5e-4  # time step of the slew, s

TIMES = (0.3, 0.5, 1.0, 2.0)  # s
PRINTED = {"shoulder": -0.9273, "elbow": 0.2838}  # angles near the pose with the hand at (0.7, -0.7), rad


# ---- the single link -------------------------------------------------------------------------------


def slew(short: bool) -> Finding:
    """Return each feed-forward's residual vibration after a servo-controlled turn by 60 degrees, linear plant."""
    mechanism = load_mechanism(MECHANISMS / "flexible_link.toml")
    counts = (2, 3) if short else (2, 3, 4, 5)
    rows, left = [], []
    for n in counts:
        motion = slewed(mechanism, n, 0.5)
        w = swing(mechanism, motion.qdd[:, 0])
        left.append(float(np.ptp(w[len(motion.q) :])))
        rows.append((str(n), f"{1e3 * left[-1]:.4f}", f"{np.abs(motion.torque).max():.4f}"))
    figure = canvas(11.0, 4.0)
    kinds = {"rigid": rigid, "quasi-static": quasi_static, "boundary value": boundary_value}
    worst = {}
    for axes, duration in zip(figure.subplots(1, 2), (0.5, 1.0), strict=True):
        for k, (name, make) in enumerate(kinds.items()):
            before, turn = make(mechanism, duration)
            w = swing(mechanism, turn)
            t = np.arange(len(w)) * DT - before
            axes.plot(t, 1e3 * w, color=colours.joint(k), linewidth=1.2, label=name)
            worst[name, duration] = float(np.ptp(w[t > duration + 0.25]))
        axes.axvline(duration, color=colours.DESIRED, linewidth=0.8)
        label(axes, f"60 degrees in {duration:g} s", y="tip from where the motor points, mm", legend=8)
    found = tuple((f"{d:g}", *(f"{1e3 * worst[name, d]:.3g}" for name in kinds)) for d in (0.5, 1.0))
    falls = all(b < 0.5 * a for a, b in zip(left, left[1:], strict=False))
    exact = corrected(flexible_arm(mechanism), Slew((0.0,), (ANGLE,), 0.5), 0.5, DT, (0.25, 0.25))
    peak = np.abs(exact.motion.torque).max()
    march = beside_exact(mechanism, *at_ticks(mechanism, slewed(mechanism, 5, 0.5)), segments=(24, 48))
    real = (("planned as a linear beam", f"{1e3 * exact.linear:.2f}", ""),
            ("corrected on the exact link", f"{1e3 * exact.left:.3f}", f"{peak:.4f}"))
    return Finding(
        (within("left on the exact link, corrected against linear plan", exact.left / exact.linear, 0.05,
                "chains of 24 and 48 segments", "of it"),
         within("torque of the emitted step in the slew", march.error, 0.006,
                "the same chains, extrapolated to none", "N m"),
         Number("each element more leaves less than half", " / ".join(f"{1e3 * x:.3g}" for x in left) + " mm",
                "linear plant of 20 elements in clamped coordinates", falls),
         within("boundary value against rigid feed-forward, 1 s", worst["boundary value", 1.0] / worst["rigid", 1.0],
                0.01, "swing left behind", "of it")),
        (picture(figure,
                 "A flexible link of 0.4 m with 50 g at its tip, its root on a servo: how its tip swings during and "
                         "after a turn planned as if it were rigid, with the deflection it would have standing still "
                         "under "
                         "the same load, and as the boundary-value problem has it"),),
        (Table("slew in 0.5 s: elements of the inverse model",
               ("elements", "swing left behind, mm", "peak torque, N m"),
               tuple(rows)),
         Table("swing left behind, mm", ("t_f, s", *kinds), found),
         Table("the same slew on the exact link: a chain of 48 segments", ("plan", "swing left behind, mm",
                                                                          "peak torque, N m"), real),
         Table("torque in the slew against the exact link", ("computed as", "largest error, N m", "of peak"),
               (("emitted step", f"{march.error:.4f}", f"{march.error / march.peak:.2%}"),
                ("rigid link", f"{march.rigid_error:.4f}", f"{march.rigid_error / march.peak:.0%}")))))


def spin_up(short: bool) -> Finding:
    """Return the spin-up to 0.9 and 1.5 clamped first frequencies, by the emitted step and the exact link."""
    mechanism = load_mechanism(MECHANISMS / "flexible_link.toml")
    figure, numbers = canvas(11.0, 4.0), []
    runs = ((0.9, 14.0, 0.02),) if short else ((0.9, 14.0, 0.02), (1.5, 23.3, 0.02))
    for axes, (share, velocity, allowed) in zip(np.atleast_1d(figure.subplots(1, len(runs))), runs, strict=True):
        t = (np.arange(round(1.9 * mechanism.control.rate_hz) + 2, dtype=float) - 0.5) / mechanism.control.rate_hz
        march = beside_exact(mechanism, t, spun(velocity, 1.5, t))
        axes.plot(march.t, march.exact, color=colours.DESIRED, linewidth=3.0, label="exact link")
        axes.plot(march.t, march.emitted, color=colours.MEASURED, linewidth=1.0, label="emitted step")
        axes.plot(march.t, march.rigid, color=colours.ERROR, linewidth=1.0, linestyle="--", label="rigid link")
        label(axes, f"spun up to {share:g} of its first frequency, {velocity:g} rad/s", y="torque of the hub, N m",
              legend=8)
        numbers.append(within(f"spun up to {share:g} of the first frequency", march.error / march.peak, allowed,
                              "chains of segments, extrapolated to none"))
    return Finding(tuple(numbers), (picture(figure, "The single flexible link spun up in 1.5 s, after Kane, Ryan and "
                                            "Banerjee (1987). Tension stiffens it: without that the torque is a "
                                            "quarter of peak off in the first case and grows without "
                                            "bound in the second"),))


@dataclass(frozen=True)
class March:
    """Hub torques (ticks,), N m, at t (ticks,), s: geometrically exact link, emitted step, rigid link."""

    t: Array
    exact: Array
    emitted: Array
    rigid: Array

    @property
    def peak(self) -> float:
        return float(np.abs(self.exact).max())

    @property
    def error(self) -> float:
        return float(np.abs(self.emitted - self.exact).max())

    @property
    def rigid_error(self) -> float:
        return float(np.abs(self.rigid - self.exact).max())


def beside_exact(mechanism: Mechanism, t: Array, turn: Turn, segments: tuple[int, int] = (12, 24)) -> March:
    """Return the torques along `turn` at t (T,), s, mid-tick, extrapolated to segments of length 0."""
    dt, arm = 1.0 / mechanism.control.rate_hz, flexible_arm(mechanism)
    still = np.zeros((len(t), 2))
    coarse, fine = (swung(Chain.of(arm.mass, arm.bar, arm.end, n), turn, still, dt).moment for n in segments)
    square = (segments[1] / segments[0]) ** 2
    exact = (square * fine - coarse) / (square - 1.0)
    stiff = replace(mechanism, links=tuple(replace(link, beam=None) for link in mechanism.links))
    emitted, rigid = (CompiledStep(Model.of(m), "single").torque(turn[0][:, None])[:, 0] for m in (mechanism, stiff))
    ticks = slice(1, 1 + len(emitted))
    return March(t[ticks], exact[ticks], emitted, rigid)


def at_ticks(mechanism: Mechanism, motion: TipMotion) -> tuple[Array, Turn]:
    """Return times and the rotation at the middles of ticks, with rest before and after."""
    dt = 1.0 / mechanism.control.rate_hz
    t = (np.arange(round(motion.times[-1] / dt) + 2) - 0.5) * dt
    way = CubicSpline(motion.times, motion.q[:, 0])
    x = np.clip(t, 0.0, motion.times[-1])
    return t, (way(x), way(x, 1), way(x, 2))


def spun(velocity: float, seconds: float, t: Array) -> Turn:
    """Return a motion that accelerates from rest to `velocity`, rad/s, as in Kane, Ryan and Banerjee (1987)."""
    x, beyond = np.clip(t / seconds, 0.0, 1.0), np.maximum(t - seconds, 0.0)
    turn = 2.0 * np.pi * x
    return (velocity * (seconds * (0.5 * x**2 + (np.cos(turn) - 1.0) / (4.0 * np.pi**2)) + beyond),
            velocity * (x - np.sin(turn) / (2.0 * np.pi)), velocity / seconds * (1.0 - np.cos(turn)) * (x < 1.0))


def slewed(mechanism: Mechanism, elements: int, duration: float) -> TipMotion:
    """Return the motion scaled to a small angle. The linear plant omits second-order terms."""
    small = 1e-3
    found = tip_motion(flexible_arm(mechanism, elements=elements), Slew((0.0,), (ANGLE * small,), duration), duration,
                       DT,
                       lead=(0.25, 0.25))
    return replace(found, q=found.q / small, qd=found.qd / small, qdd=found.qdd / small, torque=found.torque / small)


def rigid(mechanism: Mechanism, duration: float) -> tuple[float, Array]:
    """Return the pre-actuation time, s, and accelerations (T,) of a root that turns as the chord requires."""
    return 0.0, Slew((0.0,), (ANGLE,), duration).at(np.arange(int(duration / DT) + 1) * DT)[2][:, 0]


def quasi_static(mechanism: Mechanism, duration: float) -> tuple[float, Array]:
    """Return the motion of a root that leads the chord by the static slope under the present load."""
    arm, t = flexible_arm(mechanism, elements=5), np.arange(int(duration / DT) + 1, dtype=float) * DT
    small = Slew((0.0,), (1e-3 * ANGLE,), duration)
    problem = elastic_problem(arm, small, t, DT)
    slope = np.linalg.solve(problem.K, problem.F[..., None])[..., 0] @ arm.beam.hub
    turn = np.gradient(np.gradient(slope, DT), DT)
    return 0.0, (small.at(t)[2][:, 0] + turn) * 1e3


def boundary_value(mechanism: Mechanism, duration: float) -> tuple[float, Array]:
    found = slewed(mechanism, 5, duration)
    return found.path_start, found.qdd[:, 0]


def swing(mechanism: Mechanism, turn: Array, after: float = 1.0) -> Array:
    """Return the tip's deflection, m, for root accelerations (T,) and `after` s more, by average acceleration."""
    plant = FlexiblePlant(mechanism, PLANT_ELEMENTS)
    M = plant.system(np.zeros(2 * (1 + plant.n)))[0]
    solve = lu_factor(M[1:, 1:] + 0.5 * DT * plant.C + 0.25 * DT * DT * plant.K)
    w, velocity, a = np.zeros(plant.n), np.zeros(plant.n), np.zeros(plant.n)
    tips = []
    for push in np.concatenate([turn, np.zeros(int(after / DT))]):
        w, velocity = w + DT * velocity + 0.25 * DT * DT * a, velocity + 0.5 * DT * a
        a = lu_solve(solve, -M[1:, 0] * push - plant.C @ velocity - plant.K @ w)
        w, velocity = w + 0.25 * DT * DT * a, velocity + 0.5 * DT * a
        tips.append(plant.tip_N @ w)
    return np.array(tips)


# ---- the arm at the wall ---------------------------------------------------------------------------


def force(short: bool) -> Finding:
    """Return Fig. 2: the force on the surface, t_f = 0.5 s."""
    figure = canvas(7.0, 4.0)
    axes = figure.subplots()
    wall = load_scenario("wall_contact")
    assert wall.file.contact is not None
    runs = {name: pressed(wall, 0.5, feedback) for name,
            feedback in (("feed-forward", False), ("with force feedback", True))}
    for colour, (name, found) in zip((colours.FEED_FORWARD, colours.FEEDBACK), runs.items(), strict=True):
        axes.plot(found.done.times, found.done.force[:, 1], color=colour, linewidth=1.2,
                  label=f"{name}: {found.rms:.2g} N rms")
    axes.axhline(wall.file.contact.press, color=colours.DESIRED, linewidth=0.8)
    label(axes, "t_f = 0.5 s", y="force on the surface, N", legend=8)
    open_loop, closed = (found.rms for found in runs.values())
    return Finding(
        (within("rms error of the force, feed-forward alone", open_loop, 0.05, "2 N asked for", "N"),
         within("rms error with force feedback", closed, open_loop, "less than without", "N")),
        (picture(figure,
                 "The force acting on the surface through the end effector; planned with 2 elements, simulated with 3"),
         ))


def force_error(short: bool) -> Finding:
    """Return Fig. 3: the error of the force over the time of the motion."""
    durations = TIMES[1:3] if short else TIMES
    wall = load_scenario("wall_contact")
    runs = {d: (pressed(wall, d), pressed(wall, d, feedback=True)) for d in durations}
    figure = canvas(7.0, 4.0)
    axes = figure.subplots()
    for k, (name, colour) in enumerate((("feed-forward", colours.FEED_FORWARD),
                                        ("with force feedback", colours.FEEDBACK))):
        axes.loglog(durations, [runs[d][k].rms for d in durations], marker="o", color=colour, label=name)
    axes.set_xticks(durations, [f"{d:g}" for d in durations], minor=False)
    axes.minorticks_off()
    label(axes, "error of the force", x="t_f, s", y="rms, N", legend=8)
    rms = [runs[d][0].rms for d in durations]
    rows = tuple((f"{d:g}", f"{runs[d][0].rms:.2e}", f"{np.abs(runs[d][0].error).max():.2e}", f"{runs[d][1].rms:.2e}",
                  f"{np.abs(runs[d][1].error).max():.2e}") for d in durations)
    falls = all(b < a / 3.0 for a, b in zip(rms, rms[1:], strict=False))
    return Finding(
        (Number("the error falls rapidly as the arm is accelerated more slowly",
                " / ".join(f"{x:.2g}" for x in rms) + " N",
                "to less than a third from each time to the next", falls),),
        (picture(figure, "Difference between desired and acting force over the time of the motion"),),
        (Table("error of the force, N", ("t_f, s", "rms", "largest", "rms with feedback", "largest with feedback"),
               rows),))


def printed_path(short: bool) -> Finding:
    """Return the joint path from (0.7, 0.7). The 0.400 m of Table 1 are taken as beam and hand together."""
    durations = TIMES[1:3] if short else TIMES
    wall = load_scenario("wall_contact")
    assert wall.file.contact is not None
    joints = tuple(replace(joint, start=PRINTED.get(joint.name, joint.start)) for joint in wall.mechanism.joints)
    wall = replace(wall, mechanism=replace(wall.mechanism, joints=joints),
                   file=wall.file.model_copy(update={"contact": wall.file.contact.model_copy(update={"floor": -0.7})}))
    runs = {d: pressed(wall, d) for d in durations}
    least = min(float(found.done.force[:, 1].min()) for found in runs.values())
    rows = tuple((f"{d:g}", f"{found.rms:.2g}", f"{found.done.force[:, 1].min():.2f}") for d, found in runs.items())
    return Finding(
        (within("rms error of the force in 0.5 s", runs[0.5].rms, 0.055, "2 N asked for", "N"),
         within("rms error of the force in 1 s", runs[1.0].rms, 0.002, "2 N asked for", "N"),
         Number("the hand stays on the surface", f"{least:.2f} N at least", "more than 0 N", least > 0.0)),
        tables=(Table("error of the force on the printed path", ("t_f, s", "rms, N", "least force, N"), rows),))


def sticks(short: bool) -> Finding:
    """Return Fig. 4: the stick diagram."""
    wall = load_scenario("wall_contact")
    contact, found = wall.file.contact, pressed(wall, 0.5)
    assert contact is not None
    figure = canvas(6.0, 5.0)
    axes = figure.subplots()
    plant = FlexiblePlant(wall.mechanism, contact.elements, frame="chord")
    rows = np.linspace(0, len(found.done.times) - 1, 12).astype(int)
    along = np.argsort(plant.x)
    for colour, k in zip(colours.joints(len(rows)), rows, strict=True):
        y = found.done.y[k]
        origins, _, R = plant.places(y[: plant.J])
        line = np.outer(plant.x, R[:, 0]) + np.outer(plant.N @ y[plant.J : plant.J + plant.n], R[:, 1])
        shape = np.vstack([origins[0], origins[1], origins[1] + line[along], found.done.tip[k]])
        axes.plot(shape[:, 0], shape[:, 1], color=colour, linewidth=1.3)
    axes.axhline(contact.floor, color="0.5", linewidth=3.0)
    axes.set_aspect("equal")
    label(axes, "t_f = 0.5 s", x="x, m", y="y, m")
    off = float(np.abs(found.done.tip[:, 0] - Slide(contact, 0.5).at(found.done.times)[0][:, 0]).max())
    return Finding((within("tip from where it should be on the floor", off, 1e-3, "the path asked for", "m"),),
                   (picture(figure,
                            "Stick diagram during the motion, from dark to light: rigid upper arm, bent forearm, hand"),
                    ))

