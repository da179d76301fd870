"""The application with closed loops: streaming of the actuated joints, singular poses, arming."""

import dataclasses
from functools import cache

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.model import Model, assemble, in_mode
from femtorque.codegen.motion import Trajectory, knots
from femtorque.codegen.reference import rigid as reference, schemes
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.wire import Knot, Probe, Seek, messages, position_unit
from tests.firmware.app import App, in_hold
from tests.firmware.following import Sent, follow, play as play_targets


@cache
def four_bar() -> Mechanism:
    return load_mechanism(MECHANISMS / "four_bar.toml")


def motion(name: str = "four_bar") -> Trajectory:
    return Trajectory.load(MECHANISMS / f"{name}.csv", four_bar())


def play(app: App, name: str | Trajectory, seconds: float | None = None) -> np.ndarray:
    """Stream a motion from HOLD. Play the motion to its end, for some time, or until a fault. Return the telemetry."""
    trajectory = motion(name) if isinstance(name, str) else name
    all_knots, records = knots(trajectory, app.mechanism), []
    sent, first = 0, app.see().ack

    def fill(sent: int) -> int:
        room = min(app.see().credit, len(all_knots) - sent, 60)
        for i in range(sent, sent + room):
            flags = messages.KNOT_START * (i == 0) | messages.KNOT_END * (i == len(all_knots) - 1)
            flags |= 0 if all_knots.mode is None else int(all_knots.mode[i]) << messages.KNOT_MODE
            app.send(Knot(flags,
                          *(x[i].tolist() for x in (all_knots.position, all_knots.rate, all_knots.acceleration))),
                     seq=first + i)
            if i % 16 == 15:
                app.lib.ft_app_idle()
        for _ in range(4):
            app.lib.ft_app_idle()
        return sent + room

    while sent < min(120, len(all_knots)):
        sent = fill(sent)
    begin = len(app.trace)
    assert app.command("START") == "NONE"
    for _ in range(round(10 * seconds) if seconds else round(trajectory.duration * 10) + 3):
        sent = fill(sent)
        app.run(80)
    records = app.trace[begin:]
    return np.concatenate(records)


def test_that_the_actuated_joint_alone_is_streamed_and_fed_forward() -> None:
    app, played = App(four_bar()), motion()
    assert app.J == 1
    app.ready()
    record = play(app, "four_bar")
    assert app.status.fault == 0 and app.status.flags & messages.FLAGS["ENDED"][0]
    model = Model.of(four_bar())
    expected = CompiledStep(model).torque(played.middles(round(played.duration * 1000), model.dt))[:, 0]
    found = record["torque_ff"][:, 0]
    # the record contains the motion, tick for tick
    shifts = [np.abs(found[k:k + len(expected)] - expected).max() for k in range(len(found) - len(expected) + 1)]
    assert min(shifts) < 2e-4 * np.abs(expected).max()


def test_that_a_singular_pose_is_a_fault_with_outputs_off() -> None:
    app = in_hold(four_bar())
    record = play(app, "four_bar_singular")
    status = app.see()
    assert app.name(messages.FAULTS, status.fault) == "LOOPS_SINGULAR" and status.fault_joint == 255
    assert app.name(messages.STATES, status.state) == "FAULT" and app.chip.outputs == 0 and app.chip.duty[0] == 0.0
    # to the end, the torques are as small as at regular poses
    assert np.isfinite(record["torque_ff"]).all() and np.abs(record["torque"]).max() <= 1.7


def test_that_arming_waits_for_the_loops() -> None:
    """With the encoder half a radian off, the loops follow within some ticks, a small step in each."""
    app = App(four_bar())
    start = assemble(Model.of(four_bar())).start[0]
    app.home([start + 0.3])
    app.run(40)
    assert app.command("ARM") == "NONE"


def test_that_no_tick_follows_the_loops_all_the_way() -> None:
    """SEEK and PROBE, like ARM, are refused until the loops are closed. Then each tick solves a small step."""
    sought = [dataclasses.replace(joint, encoder=dataclasses.replace(joint.encoder, zero="index"))
              if joint.encoder else joint for joint in four_bar().joints]
    app = App(dataclasses.replace(four_bar(), name="four_bar_sought", joints=tuple(sought)))
    start = assemble(Model.of(four_bar())).start[0]
    app.home([start - 1.5])
    for message in (Probe(app.token + 1, 0, 0.0), Seek(app.token + 2, 0)):
        assert app.ask(message) == "LOOPS_OPEN"
    app.run(100)
    assert app.ask(Probe(app.token + 1, 0, 0.0)) == "NONE"


def test_that_arming_where_the_loops_cannot_close_is_refused() -> None:
    app = App(four_bar())
    end = motion("four_bar_singular").positions[-1, 0]
    app.home([end])
    app.run(400)
    assert app.command("ARM") in ("LOOPS_OPEN", "OUTSIDE_LIMITS")


def test_that_an_arm_is_armed_again_after_a_singular_pose() -> None:
    """A hand moves the arm back to the motion's start. The loops' solution at the singular pose is discarded."""
    app = in_hold(four_bar())
    begun = app.see().position[0]
    play(app, "four_bar_singular")
    counts = round((begun - app.see().position[0]) / 2.0**32 * 8192)
    for _ in range(abs(counts)):
        app.chip.counts[0] = 1 if counts > 0 else -1
        app.run(1, follow=False)
    app.run(400)
    assert app.command("CLEAR") == "NONE"
    assert app.command("ARM") == "NONE"


# ---- singular poses in FOLLOW

FOLLOWS = ("delta", "five_bar", "four_bar", "palletizer", "six_bar", "stewart", "three_rrr")


def by_chance(app: App, rng: np.random.Generator, seconds: float) -> list[Sent]:
    """Return random targets within the joints' ranges, 50 per second. Each holds for a while."""
    lower, upper = np.array([(joint.limits.lower, joint.limits.upper) for joint in app.joints]).T
    times, sent, until = np.arange(0.0, seconds, 0.02), [], -1.0
    for t in times.tolist():
        if t > until:
            until, q = t + rng.uniform(0.1, 2.0), rng.uniform(lower, upper)
        sent.append(Sent(t, t + 0.002, q.tolist()))
    return sent


def least_sine(app: App, record: np.ndarray) -> tuple[float, float]:
    """Return the reference solver's sines of the pivots for a record's targets: the first and the smallest."""
    assembly = assemble(Model.of(app.mechanism))
    units = [position_unit(joint) for joint in app.joints]
    steps = np.cumsum(np.diff(record["target"].astype(np.int64), axis=0).astype(np.int32), axis=0)
    start = np.array([joint.start for joint in app.joints])
    q = assembly.follow(start + np.vstack([0 * start, steps * units]))
    return float(assembly.margin(q[0])), float(assembly.margin(q).min())


@pytest.mark.parametrize("name", FOLLOWS)
def test_that_live_targets_lead_no_mechanism_through_a_singular_pose(name: str) -> None:
    app = in_hold(load_mechanism(MECHANISMS / f"{name}.toml"))
    assert follow(app) == "NONE"
    run = play_targets(app, by_chance(app, np.random.default_rng(5), 20.0), 20_000)
    assert app.see().fault == 0
    start, least = least_sine(app, run.record)
    print(f"{name}: {least:.3f} of {start:.3f} at the start")
    assert least > 0.95 * min(0.3, 0.5 * start)


def test_that_a_live_target_beyond_a_singular_pose_is_told_and_ends_at_rest() -> None:
    app = in_hold(load_mechanism(MECHANISMS / "five_bar.toml"))
    assert follow(app) == "NONE"
    beyond = [Sent(t, t + 0.002, [-0.5, 3.6], end=t > 1.97) for t in np.arange(0.0, 2.0, 0.02).tolist()]
    run = play_targets(app, beyond, 4000)
    assert any(report.limits[0] & messages.FOLLOW_LIMITS["LOOPS"][0] for report in run.reports)
    assert (app.state, app.see().fault) == ("HOLD", 0)


# ---- modes


def moded(name: str, **mode: dict) -> tuple[Mechanism, Trajectory]:
    """Return an example mechanism with modes, and its motion. mode=dict(...) changes one of its modes."""
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    changed = tuple(dataclasses.replace(m, **mode.get(m.name, {})) for m in mechanism.modes)
    return dataclasses.replace(mechanism, modes=changed), Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)


@cache
def played(name: str, ramp_s: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return torque_ff of a motion's ticks through its modes, from the application and from the float64 reference."""
    mechanism, trajectory = moded(name, **({} if ramp_s is None else {"grasp": {"ramp_s": ramp_s}}))
    app = in_hold(mechanism)
    record = play(app, trajectory)
    assert app.status.fault == 0 and app.status.flags & messages.FLAGS["ENDED"][0]
    ticks = round(trajectory.duration * 1000)
    expected = schemes.torque(Model.of(mechanism), trajectory, ticks, reference.recursion)[1]
    found = record["torque_ff"].astype(float)
    begin = min(range(len(found) - ticks + 1), key=lambda k: float(np.abs(found[k:k + ticks] - expected).max()))
    return found[begin:begin + ticks], expected


@pytest.mark.parametrize("name", ["pick_and_place", "two_arm_grasp", "biped"])
def test_that_the_torque_is_the_reference_s_in_every_tick_of_every_mode(name: str) -> None:
    """The motion picks up and puts down a load, closes and opens a loop, or stands on the other foot. The ticks at each
    switch of the mode are also compared."""
    found, expected = played(name)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


def test_that_a_payload_s_weight_is_carried_from_the_first_tick() -> None:
    found, _ = played("pick_and_place")
    mechanism, trajectory = moded("pick_and_place")
    k = round(trajectory.modes[1][0] * 1000)
    q = trajectory.at(np.array([k + 0.5]) / 1000.0)[0]
    loaded, empty = (reference.newton_euler(Model.of(in_mode(mechanism, name)), q, 0 * q, 0 * q)[0]
                     for name in ("loaded", "empty"))
    np.testing.assert_allclose(found[k] - found[k - 1], loaded - empty, atol=0.02 * np.abs(loaded - empty).max())


def test_that_the_cuts_forces_come_and_go_over_the_ramp() -> None:
    ramped, _ = played("two_arm_grasp")
    sudden, _ = played("two_arm_grasp", 0.0)
    _, trajectory = moded("two_arm_grasp")
    close, release = (round(t * 1000) for t, _ in trajectory.modes[1:])
    # the right arm carries only its share of the forces at the cut joint
    right = [np.abs(np.diff(x[:, 2:], axis=0)) for x in (sudden, ramped)]
    for k in (close, release):
        steps = [x[k - 60:k + 60].max() for x in right]
        assert steps[0] > 20.0 * steps[1]
    assert np.abs(sudden - ramped)[close + 60:release - 60].max() < 1e-4 * np.abs(sudden).max()


def test_that_a_mode_whose_loops_would_open_is_a_fault() -> None:
    """The hands still move when the motion switches to the mode in which they hold the object together."""
    mechanism, trajectory = moded("two_arm_grasp")
    early = dataclasses.replace(trajectory, modes=(trajectory.modes[0], (0.5, "grasp"), trajectory.modes[2]))
    app = in_hold(mechanism)
    play(app, early)
    assert app.name(messages.FAULTS, app.see().fault) == "MODE" and app.chip.outputs == 0
    moving = trajectory.velocities.copy()
    k = int(np.searchsorted(trajectory.times, trajectory.modes[1][0]))
    moving[k, 2] += 0.2  # velocity added to one arm, rad/s: the loop closes in position, but not in velocity
    pushed = dataclasses.replace(trajectory, velocities=moving)
    app = in_hold(mechanism)
    play(app, pushed)
    assert app.name(messages.FAULTS, app.see().fault) == "MODE"


def test_that_a_mode_there_is_not_is_a_bad_knot() -> None:
    app = in_hold(four_bar())
    here = app.see().target
    app.send(Knot(messages.KNOT_START | 1 << messages.KNOT_MODE, list(here), [0.0], [0.0]), seq=app.see().ack)
    app.run(30)
    assert app.name(messages.FAULTS, app.see().fault) == "KNOT"


def test_that_a_motion_goes_on_in_modes_that_there_are_and_a_bad_joint_is_told_first() -> None:
    for joint, farther in ((255, 0), (0, 2**28)):
        app = in_hold(four_bar())
        here, first = list(app.see().target), app.see().ack
        app.send(Knot(messages.KNOT_START, here, [0.0], [0.0]), seq=first)
        app.send(Knot(0, here, [0.0], [0.0]), seq=first + 1)
        app.run(2)
        assert app.see().ack == first + 2
        app.send(Knot(1 << messages.KNOT_MODE, [here[0] + farther], [0.0], [0.0]), seq=first + 2)
        app.run(30)
        assert app.fault == ("KNOT", joint) and app.status.ack == first + 2


def test_that_a_motion_begins_in_the_mode_of_its_first_knot() -> None:
    mechanism, trajectory = moded("pick_and_place")
    loaded = next(i for i, mode in enumerate(mechanism.modes) if mode.name == "loaded")
    app = in_hold(mechanism)
    here, zeros, first = list(app.see().target), [0.0] * app.J, app.see().ack
    for i in range(60):
        flags = (messages.KNOT_START if i == 0 else messages.KNOT_END if i == 59 else 0) | loaded << messages.KNOT_MODE
        app.send(Knot(flags, here, zeros, zeros), seq=first + i)
    app.run(2)
    app.post("START")
    record = app.run(12)
    assert app.see().mode == loaded
    q = np.array(here, float) * (2.0 * np.pi / 2.0**32)
    begun = record["torque_ff"][4:7]  # of the first knot's way
    np.testing.assert_allclose(begun, np.tile(gravity(in_mode(mechanism, "loaded"), q), (3, 1)), rtol=1e-3, atol=1e-3)


def test_that_arming_begins_in_the_first_mode() -> None:
    """A motion ends in a mode in which the load is on the table or on the floor."""
    mechanism, trajectory = moded("pick_and_place")
    app = in_hold(mechanism)
    play(app, trajectory, 0.5 * (trajectory.modes[1][0] + trajectory.modes[2][0]))
    assert app.name(messages.STATES, app.see().state) == "TRACK"
    q = app.run(1)["position"][0].astype(float) * (2.0 * np.pi / 2.0**32)
    loaded = gravity(in_mode(mechanism, "loaded"), q)
    assert app.command("DISARM") == "NONE"
    app.run(300)
    app.post("ARM")
    record = app.run(5, follow=False)
    on = np.flatnonzero(np.any(record["torque"] != 0.0, axis=1))[0]
    q = record["position"][on].astype(float) * (2.0 * np.pi / 2.0**32)
    empty = gravity(in_mode(mechanism, "empty"), q)
    assert np.abs(loaded - empty).max() > 0.1
    np.testing.assert_allclose(record["torque_ff"][on:], np.tile(empty, (len(record) - on, 1)), rtol=1e-3, atol=1e-3)


def gravity(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    return reference.newton_euler(Model.of(mechanism), q, 0 * q, 0 * q)
