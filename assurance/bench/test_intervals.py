"""Coverage of the 95 % intervals of `identify --whole`, over arms drawn by chance, in two worlds.

"plant": the virtual plant, with or without its backlash, behind a controller. Commands act one tick and a chance delay
later. A gear's friction acts at the motor, and a servo's encoder is beyond the play.
"link": torques by Pinocchio. The friction acts at the link, beyond the play, and the encoder is at the motor. While the
motor crosses the play, the link rests and the motor carries only its rotor.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from matplotlib.figure import Figure

from femtorque.codegen.common import MECHANISMS, colours
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import Drive, Friction, Mechanism, Payload, ServoSetting, load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.motion import Trajectory
from femtorque.hil.plant import backlash, rigid
from femtorque.hil.plant.driven_plants import spread
from femtorque.host.lab.inertial.excitation import base_columns, excite, ranges, sweep
from femtorque.host.lab.inertial.experiment import GUESSED, payload
from femtorque.host.lab.inertial.fitting import EXACT, LATE, ON_CAN, Found, doubt_file, fit, fit_rows
from femtorque.host.lab.inertial.payload import difference
from femtorque.host.lab.inertial.recording import Recording, inductive
from femtorque.host.lab.inertial.regressor import Unknowns, phi_of
from tests.support.differing import differing
from tests.support.oracle import rnea

Array = np.ndarray

RATE = 1000.0
KINDS = ("bridge", "can", "servo")
PLAY = 3e-3  # largest play of a gear, rad
ARMS, WITHIN = 40, 1.96
WORLDS = [("plant", False, 0.9), ("plant", True, 0.85), ("link", True, 0.85)]  # world, play, least coverage
WORLDS_SAID = {"plant": "virtual plant", "link": "friction beyond the play"}
DELAYS = {"bridge": EXACT, "can": ON_CAN, "servo": LATE}  # standard deviations of the drawn delays, s
SERVO = DRIVES["dynamixel-xm540-w270"]
STIFF = 30.0  # of the controller in the plant's world, rad/s


@dataclass(frozen=True)
class Drawn:
    """One arm, and the file that describes it with errors."""

    file: Mechanism
    truth: Mechanism
    play: Array  # of the gears (J,), rad
    noise: float  # fraction of a joint's effort
    step: float  # of an encoder, rad
    kind: str = "bridge"
    late: float = 0.0  # additional delay of the commands, s


def drawn(seed: int, play: bool) -> Drawn:
    """Return an arm with chance masses, centres, frictions, noise and play. The kind of its motors goes round."""
    rng, kind = np.random.default_rng(seed), KINDS[seed % 3]
    file = load_mechanism(MECHANISMS / "three_axis.toml")
    if kind == "servo":
        file = lighter(file)
    rub = {"bridge": (0.3, 0.3), "can": (0.3, 0.5), "servo": (0.3, 1.0)}[kind]
    moved = {j.name: n for n, j in enumerate(file.streamed)}
    joints = [j if j.name not in moved else replace(
        j, friction=Friction(0.02 * rub[0] * j.limits.effort, 0.05 * rub[1] * j.limits.effort)) for j in file.joints]
    if kind == "can":
        joints = [j if j.name not in moved else replace(
            j, motor=None, drive=Drive(DRIVES["damiao-4340"], "can", moved[j.name] + 1, inertia=0.1)) for j in joints]
    if kind == "servo":
        joints = [j if j.name not in moved else replace(
            j, drive=Drive(SERVO, "wire", moved[j.name] + 1, servo=ServoSetting())) for j in joints]
    # the gripper is known, and light, so that the forearm names their common body
    light = {"gripper": 0.03 if kind == "servo" else 0.3}
    file = replace(file, joints=tuple(joints), links=tuple(
        replace(link, mass=light.get(link.name, link.mass)) for link in file.links))
    truth = differing(file, seed, rng.uniform(0.0, 0.2), rng.uniform(0.0, 0.01), float(np.exp(rng.uniform(-0.7, 0.7))))
    truth = replace(truth, links=tuple(told if told.name in light else real
                                       for real, told in zip(truth.links, file.links, strict=True)))
    gap = (rng.uniform(0.3, 1.0, len(moved)) if play else np.zeros(len(moved))) * PLAY
    step = {"bridge": 2.0 * np.pi / 2e5, "can": 25.0 / 65536, "servo": 2.0 * np.pi / 4096}[kind]
    noise, late = float(rng.uniform(0.003, 0.02)), DELAYS[kind] * min(abs(rng.normal()), 2.0)
    return Drawn(file, truth, gap, noise, step, kind, float(late))


def lighter(arm: Mechanism) -> Mechanism:
    """Return the arm with a tenth of all masses, so that servos can move the arm."""
    links = [replace(x, mass=0.1 * x.mass, inertia=0.1 * x.inertia) for x in arm.links]
    joints = [replace(j, limits=replace(j.limits, effort=0.15 * j.limits.effort, velocity=3.0),
                      motor=j.motor and replace(j.motor, inertia=0.1 * j.motor.inertia)) for j in arm.joints]
    return replace(arm, links=tuple(links), joints=tuple(joints))


def behind(v: Array, torque: Array, dry: Array, play: Array) -> tuple[Array, Array]:
    """Return how far the links are behind their motors (S, J), rad, and True where a motor touches its link. v: of the
    motors. torque: of the links without friction."""
    off, touch = np.zeros_like(v), np.ones(v.shape, bool)
    now = 0.5 * play * np.sign(v[0])
    for k in range(len(v)):
        side = 0.5 * play * np.sign(torque[k] + dry * np.sign(v[k]))
        now = now + np.clip(side - now, -np.abs(v[k]) / RATE - 1e-7, np.abs(v[k]) / RATE + 1e-7)
        off[k], touch[k] = now, np.abs(side - now) < 1e-9
    return off, touch


def played(arm: Drawn, motion: Trajectory, rng: np.random.Generator) -> Recording:
    """Return the recording of a motion."""
    t = np.arange(int(motion.duration * RATE)) / RATE
    q, v, a = motion.at(t)
    truth, joints = Model.of(arm.truth), arm.truth.streamed
    dry, viscous, rotor = (np.array(x) for x in zip(*((j.friction.coulomb, j.friction.viscous, j.rotor)
                                                      for j in joints), strict=True))
    link, touch = rnea(truth, q, v, a), np.ones(v.shape, bool)
    if arm.play.any():
        off, touch = behind(v, link, dry, arm.play)
        link = rnea(truth, q - off, v, a)
    tau = rotor * a + np.where(touch, link + viscous * v + dry * np.sign(v), 0.0)
    noise = arm.noise * np.array([j.limits.effort for j in joints]) * rng.normal(size=v.shape)
    return recorded(arm, t, np.round(q / arm.step) * arm.step, tau + noise, v)


def simulated(arm: Drawn, motion: Trajectory, rng: np.random.Generator) -> Recording:
    """Return the recording of a motion that a controller plays on the virtual plant."""
    joints, bridge = arm.truth.streamed, arm.kind == "bridge"
    rotor = np.array([j.rotor for j in joints])
    truth = replace(arm.truth, joints=tuple(j if j not in joints else replace(
        j, motor=j.motor if bridge else None, encoder=None,
        drive=Drive(SERVO, "wire", 1, inertia=0.0 if bridge else j.rotor, servo=ServoSetting()))
        for j in arm.truth.joints))
    both = backlash.BacklashPlant(truth) if arm.play.any() else None
    plant = both.inner if both else rigid.Plant(truth)
    gears, outputs = both.sides if both else (np.arange(len(joints)),) * 2
    if both:
        plant.rows["lowest"][outputs], plant.rows["highest"][outputs] = -0.5 * arm.play, 0.5 * arm.play
    t = np.arange(int(motion.duration * RATE)) / RATE
    q, v, a = motion.at(t)
    plant.q = spread(q[0], gears, plant.n, 0.0)
    told = rnea(Model.of(arm.truth), q, v, a) + rotor * a
    still = np.zeros((4, len(joints)))
    weight = rnea(Model.of(arm.truth), still + q[0], still, np.vstack([np.eye(len(joints)), still[:1]]))
    inertia = rotor + np.diag(weight[:-1] - weight[-1])
    noise = arm.noise * np.array([j.limits.effort for j in joints]) * rng.normal(size=v.shape)
    whole, part = divmod(1.0 + arm.late * RATE, 1.0)
    seen, rate = np.empty_like(q), v[0]
    for k in range(len(t)):
        read = both.q if both and arm.kind == "servo" else plant.q[gears]
        seen[k] = np.round(read / arm.step) * arm.step
        rate = rate + 0.1 * ((seen[k] - seen[max(k - 1, 0)]) * RATE - rate)
        told[k] += inertia * (STIFF**2 * (q[k] - seen[k]) + STIFF * (v[k] - rate))
        for at, seconds in ((k - int(whole) - 1, part / RATE), (k - int(whole), (1.0 - part) / RATE)):
            if seconds > 0.0:
                at = max(at, 0)
                volts = _volts(arm, told[at], v[at]) if bridge else np.full(len(joints), np.nan)
                torque = noise[k] + (0.0 if bridge else told[at])
                plant.move(seconds, spread(volts, gears, plant.n, np.nan), spread(torque, gears, plant.n, 0.0))
    return recorded(arm, t, seen, told, v)


def _volts(arm: Drawn, torque: Array, v: Array) -> Array:
    """Return the voltages (..., J) at the motors for torques at velocities, each (..., J)."""
    constant, R = np.array([(j.motor.K * j.motor.gear, j.motor.R) for j in arm.truth.streamed]).T
    return R * torque / constant + constant * v


def recorded(arm: Drawn, t: Array, seen: Array, torque: Array, v: Array) -> Recording:
    """Return measured positions (S, J) and commanded torques (S, J) as the board records them. v: for the back-EMF."""
    every, volts = 10, arm.file.board.bus_voltage
    told = torque
    if arm.kind == "bridge":
        told = _volts(arm, torque, v) * [j.motor.sign / volts for j in arm.truth.streamed]
    return Recording(t[::every], seen[::every], np.full(len(t[::every]), volts),
                     {j: (t[3::11], column[3::11]) for j, column in enumerate(told.T)})


@contextmanager
def world_of(world: str) -> Iterator[None]:
    """Fit recordings of a world: the world "link" has no delays, and the world "plant" has a delay of one tick."""
    where, plant = "femtorque.host.lab.inertial.recording.", world == "plant"
    with patch(f"{where}delay", lambda *_: 1.0 if plant else -0.5), \
         patch(f"{where}inductive", inductive if plant else lambda *_: 0.0), \
         patch(f"{where}gains_of_drive", lambda *_: (0.0, 0.0)):
        yield


@cache
def programme(kind: str) -> tuple[Unknowns, Array, Array, tuple[Trajectory, ...]]:
    """Return unknowns, base columns, base parameters and motions for the file of a kind, which all its arms share."""
    unknowns = Unknowns.of(drawn(KINDS.index(kind), False).file)
    within = ranges(unknowns.space.joints, {})
    columns, base = base_columns(unknowns, within)
    return unknowns, columns, base, tuple(make(unknowns, within, columns, k).trajectory
                                          for make, k in ((excite, 1), (excite, 2), (sweep, 1)))


def identified(arm: Drawn, seed: int, world: str) -> tuple[Found, Array]:
    """Return the fit, and the errors of the base parameters, frictions and rotors in standard deviations."""
    (unknowns, columns, base, motions), rng = programme(arm.kind), np.random.default_rng(1000 + seed)
    with world_of(world):
        takes = [(simulated if world == "plant" else played)(arm, motion, rng) for motion in motions]
        found = fit(unknowns, takes, columns, base)
    true = Unknowns.of(arm.truth).prior
    values, deviation = found.base_values()
    own = slice(10 * len(unknowns.solids), None)
    return found, np.concatenate([(values - found.base @ true) / deviation,
                                  ((found.values - true) / found.deviation)[own]])


@cache
def covered(world: str, play: bool) -> tuple[tuple[str, Array, bool], ...]:
    """Return for each drawn arm its kind, its errors in standard deviations, and True if a joint is named."""
    result = []
    for seed in range(ARMS):
        found, z = identified(drawn(seed, play), seed, world)
        result.append((KINDS[seed % len(KINDS)], z, any(one.cause for one in found.misfits)))
    return tuple(result)


def said(kind: str, world: str, play: bool) -> str:
    """Return the coverage of one kind of motors in words; "all" for all kinds."""
    arms = [arm for arm in covered(world, play) if kind in (arm[0], "all")]
    z = np.concatenate([errors for _, errors, _ in arms])
    return (f"{kind}: {len(arms)} arms, {np.mean(np.abs(z) < WITHIN):.1%} within, rms {np.sqrt(np.mean(z**2)):.2f}, "
            f"{sum(named for *_, named in arms)} named")


def draw(path: Path) -> None:
    """Draw the errors of all arms in all worlds."""
    figure = Figure(figsize=(10.0, 7.0), layout="constrained")
    for axes, (world, play, _) in zip(figure.subplots(len(WORLDS), sharex=True), WORLDS, strict=True):
        for number, (kind, z, _) in enumerate(covered(world, play)):
            axes.plot(np.full(len(z), number), np.clip(z, -4.9, 4.9), ".", ms=4,
                      color=colours.joints(len(KINDS))[KINDS.index(kind)], label=kind if number < len(KINDS) else None)
        axes.axhspan(-WITHIN, WITHIN, color="0.9", zorder=0)
        axes.set(title=f"{WORLDS_SAID[world]}, {'with' if play else 'without'} play; {said('all', world, play)}",
                 ylim=(-5.0, 5.0), ylabel="error, standard deviations")
        print("\n".join(said(kind, world, play) for kind in (*KINDS, "all")))
    axes.set(xlabel="drawn arm")
    axes.legend(ncols=3, loc="upper right")
    figure.savefig(path, dpi=100)


@pytest.mark.bench
@pytest.mark.parametrize("world, play, least", WORLDS)
def test_intervals_hold_the_truth_of_arms_drawn_by_chance(world, play, least):
    """Prints, for each kind of motor, the fraction of true numbers within their 95 % intervals."""
    print("\n".join(said(kind, world, play) for kind in (*KINDS, "all")))
    assert np.mean(np.abs(np.concatenate([z for _, z, _ in covered(world, play)])) < WITHIN) >= least


@pytest.mark.bench
def test_two_passes_of_a_payload_cancel_the_errors_of_a_file_and_one_pass_doubts_it():
    """Prints, for one pass and for two, the errors of a load of 2 kg that nine of ten arms keep, the worst errors, and
    the fraction within the intervals. Noise causes the errors of two passes: half the noise leaves half of them."""
    file, held = load_mechanism(MECHANISMS / "six_axis.toml"), Payload(
        "held", "tool_flange", 2.0, np.array([0.03, 0.02, 0.07]), np.diag([4e-3, 4.8e-3, 3.2e-3]))
    programme, rows = payload(file, "held", held.link, {}), []
    own, motion, fitting = programme.unknowns, programme.motions[0].trajectory, (programme.columns, programme.base)
    for seed in range(24):
        rng, truth = np.random.default_rng(seed), differing(file, seed, 0.05, 0.003, 1.2)
        both = []
        for real in (truth, replace(truth, payloads=(held,))):
            take = played(Drawn(file, real, np.zeros(6), 0.003, 2.0 * np.pi / 4e5), motion, rng)
            both.append([replace(take, given={j: take.given[j] for j in programme.joints})])
        with world_of("link"):
            one = doubt_file(fit(own, both[1], *fitting, GUESSED), both[1])
            two = fit_rows(own, difference(own, *both), *fitting, GUESSED)
        rows.append([[abs(x.values[0] / held.mass - 1.0), np.linalg.norm(x.values[1:4] / x.values[0] - held.com),
                      *(np.abs(x.values - phi_of(held)) / x.deviation)[:4]] for x in (one, two)])
    for name, each in zip(("one pass", "two passes"), np.moveaxis(rows, 1, 0), strict=True):
        (mass, centre), worst = np.quantile(each[:, :2], 0.9, axis=0), each[:, :2].max(axis=0)
        print(f"{name}: mass {mass:.1%} ({worst[0]:.1%}), centre {1e3 * centre:.1f} mm ({1e3 * worst[1]:.1f}), "
              f"{np.mean(each[:, 2:] < 1.96):.0%} within")
    assert mass < 0.02 and centre < 4e-3
    assert np.all(np.mean(np.array(rows)[:, :, 2:] < 1.96, axis=(0, 2)) >= 0.85)
