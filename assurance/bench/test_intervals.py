"""Coverage of the 95 % intervals of `identify --whole`, over arms drawn by chance. The world shares no code with the
fit: torques by Pinocchio, steps of encoders, noise of duties, friction, and play in the gears.

With play, the friction acts at the link, beyond the play. The encoder is at the motor. While the motor crosses the
play, the link rests and the motor carries only its rotor.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import Drive, Friction, Mechanism, Payload, load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.motion import Trajectory
from femtorque.host.lab.inertial.excitation import base_columns, excite, ranges, sweep
from femtorque.host.lab.inertial.experiment import GUESSED, payload
from femtorque.host.lab.inertial.fitting import Found, doubt_file, fit, fit_rows
from femtorque.host.lab.inertial.payload import difference
from femtorque.host.lab.inertial.recording import Recording
from femtorque.host.lab.inertial.regressor import Unknowns, phi_of
from tests.support.differing import differing
from tests.support.oracle import rnea

Array = np.ndarray

RATE = 1000.0
KINDS = ("bridge", "can", "servo")
PLAY = 3e-3  # largest play of a gear, rad
ARMS = 40


@dataclass(frozen=True)
class Drawn:
    """One arm, and the file that describes it with errors."""

    file: Mechanism
    truth: Mechanism
    play: Array  # of the gears (J,), rad
    noise: float  # fraction of a joint's effort
    step: float  # of an encoder, rad


def drawn(seed: int, play: bool) -> Drawn:
    """Return an arm with chance masses, centres, frictions, noise and play. The kind of its motors goes round."""
    rng, kind = np.random.default_rng(seed), KINDS[seed % 3]
    file = load_mechanism(MECHANISMS / "three_axis.toml")
    rub = {"bridge": (0.3, 0.3), "can": (0.3, 0.5), "servo": (0.3, 1.0)}[kind]
    moved = {j.name: n for n, j in enumerate(file.streamed)}
    joints = [j if j.name not in moved else replace(
        j, friction=Friction(0.02 * rub[0] * j.limits.effort, 0.05 * rub[1] * j.limits.effort)) for j in file.joints]
    if kind == "can":
        joints = [j if j.name not in moved else replace(
            j, motor=None, drive=Drive(DRIVES["damiao-4340"], "can", moved[j.name] + 1, inertia=0.1)) for j in joints]
    # the gripper is known, and light, so that the forearm names their common body
    light = {"gripper": 0.3}
    file = replace(file, joints=tuple(joints), links=tuple(
        replace(link, mass=light.get(link.name, link.mass)) for link in file.links))
    truth = differing(file, seed, rng.uniform(0.0, 0.2), rng.uniform(0.0, 0.01), float(np.exp(rng.uniform(-0.7, 0.7))))
    truth = replace(truth, links=tuple(told if told.name in light else real
                                       for real, told in zip(truth.links, file.links, strict=True)))
    gap = (rng.uniform(0.3, 1.0, len(moved)) if play else np.zeros(len(moved))) * PLAY
    step = {"bridge": 2.0 * np.pi / 2e5, "can": 25.0 / 65536, "servo": 2.0 * np.pi / 4096}[kind]
    return Drawn(file, truth, gap, float(rng.uniform(0.003, 0.02)), step)


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
    every = 10
    seen = np.round(q / arm.step) * arm.step
    given = {}
    for j, joint in enumerate(joints):
        told = tau[:, j] + arm.noise * joint.limits.effort * rng.normal(size=len(t))
        if joint.motor is not None:
            constant, volts = joint.motor.K * joint.motor.gear, arm.file.board.bus_voltage
            told = joint.motor.sign * (joint.motor.R * told / constant + constant * v[:, j]) / volts
        given[j] = (t[3::11], told[3::11])
    return Recording(t[::every], seen[::every], np.full(len(t[::every]), arm.file.board.bus_voltage), given)


@contextmanager
def prompt() -> Iterator[None]:
    """Fit recordings of a world without delays."""
    where = "femtorque.host.lab.inertial.recording."
    with patch(f"{where}delay", lambda *_: -0.5), patch(f"{where}inductive", lambda *_: 0.0), \
         patch(f"{where}moved_on", lambda *_: 0.0):
        yield


def identified(arm: Drawn, seed: int) -> tuple[Found, Array]:
    """Return the fit, and the errors of the base parameters, frictions and rotors in standard deviations."""
    unknowns, rng = Unknowns.of(arm.file), np.random.default_rng(1000 + seed)
    within = ranges(unknowns.space.joints, {})
    columns, base = base_columns(unknowns, within)
    motions = [make(unknowns, within, columns, k).trajectory for make, k in ((excite, 1), (excite, 2), (sweep, 1))]
    with prompt():
        found = fit(unknowns, [played(arm, motion, rng) for motion in motions], columns, base)
    true = Unknowns.of(arm.truth).prior
    values, deviation = found.base_values()
    own = slice(10 * len(unknowns.solids), None)
    return found, np.concatenate([(values - found.base @ true) / deviation,
                                  ((found.values - true) / found.deviation)[own]])


@pytest.mark.bench
@pytest.mark.parametrize("play, least", [(False, 0.9), (True, 0.85)], ids=["fits", "play"])
def test_intervals_hold_the_truth_of_arms_drawn_by_chance(play, least):
    """Prints, for each kind of motor, the fraction of true numbers within their 95 % intervals."""
    errors: dict[str, list[Array]] = {kind: [] for kind in KINDS}
    named = 0
    for seed in range(ARMS):
        found, z = identified(drawn(seed, play), seed)
        named += any(one.cause for one in found.misfits)
        errors[KINDS[seed % len(KINDS)]].append(z)
    for kind, each in errors.items():
        z = np.concatenate(each)
        print(f"{kind}: {len(each)} arms, {np.mean(np.abs(z) < 1.96):.1%} within, rms {np.sqrt(np.mean(z**2)):.2f}")
    print(f"{named} arms with a joint that is named")
    assert np.mean(np.abs(np.concatenate([z for each in errors.values() for z in each])) < 1.96) >= least


@pytest.mark.bench
def test_two_passes_of_a_payload_cancel_the_errors_of_a_file_and_one_pass_doubts_it():
    """Prints, for one pass and for two, the worst error of a load of 2 kg and the fraction within the intervals."""
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
        with prompt():
            one = doubt_file(fit(own, both[1], *fitting, GUESSED), both[1])
            two = fit_rows(own, difference(own, *both), *fitting, GUESSED)
        rows.append([[abs(x.values[0] / held.mass - 1.0), np.linalg.norm(x.values[1:4] / x.values[0] - held.com),
                      *(np.abs(x.values - phi_of(held)) / x.deviation)[:4]] for x in (one, two)])
    for name, each in zip(("one pass", "two passes"), np.moveaxis(rows, 1, 0), strict=True):
        mass, centre = each[:, :2].max(axis=0)
        print(f"{name}: mass {mass:.1%}, centre {1e3 * centre:.1f} mm, {np.mean(each[:, 2:] < 1.96):.0%} within")
    assert mass < 0.02 and centre < 4e-3
    assert np.all(np.mean(np.array(rows)[:, :, 2:] < 1.96, axis=(0, 2)) >= 0.85)
