"""Lab modes of the exact image on the virtual board: the zeros are found, and the arm is guided by hand."""

import numpy as np
import pytest

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.mechanism import Home
from femtorque.hil.plant.rigid import Plant
from femtorque.host.link import Column, Recorder, requests as lab
from tests.support import rig

AT = -1.9  # position of the first joint's hard stop, rad
STOP = {"zero": "stop"}


def with_stop():
    return rig.changed("stop-arm", {"shoulder": {"encoder": STOP, "home": Home(at=AT, effort=3.2)}})


def hanging():
    """Return the upright arm, which hangs down when the power is switched on."""
    starts = dict(zip(names(), (-np.pi / 2.0, 0.0, 0.0), strict=True))
    return rig.changed("hanging-arm", {n: {"start": q} for n, q in starts.items()}, gravity=np.array([0.0, -9.81, 0.0]))


def names():
    return [j.name for j in rig.three_link().moving]


def test_a_hard_stop_is_found_within_a_few_counts_and_then_arming_is_allowed():
    mechanism = with_stop()
    start = np.array([j.start for j in mechanism.moving])
    plant = Plant(mechanism, pose=start + [0.3, 0.0, 0.0], stops=[[AT, 5.0], [-9.0, 9.0], [-9.0, 9.0]])
    with rig.connected(mechanism, plant=plant) as (board, session):
        with pytest.raises(Refused, match=f"NOT_HOMED at joint {names()[0]}"):
            session.arm()
        torques = []
        session.listeners.append(lambda s: torques.append(s.torque[0]))
        lab.home(session, mechanism)
        assert session.in_state("DISARMED") and session.status.unhomed == 255
        # The stop deflects under the pressing force.
        assert abs(session.positions()[0] - plant.q[0]) < 4e-3
        assert np.abs(torques).max() <= 3.2 + 1e-6
        session.arm()
        assert session.in_state("HOLD")


def test_an_absolute_reading_must_be_told_and_is_believed():
    mechanism = rig.changed("absolute-arm", {names()[1]: {"encoder": {"zero": "absolute"}}})
    with rig.connected(mechanism) as (_, session):
        with pytest.raises(BadInput, match=f"--at {names()[1]}=ANGLE"):
            lab.home(session, mechanism)
        with pytest.raises(BadInput, match="outside the joint's limits"):
            lab.home(session, mechanism, {names()[1]: 7.0})
        lab.home(session, mechanism, {names()[1]: 0.61})
        session.pump()
        session.wait(lambda: abs(session.positions()[1] - 0.61) < 1e-3, 1.0, "does not know where it is")


def test_a_hand_leads_the_floating_arm_which_stays_where_it_is_left_and_cannot_be_thrown():
    mechanism = hanging()
    plant = Plant(mechanism)
    with rig.connected(mechanism, plant=plant) as (board, session):
        lab.home(session, mechanism)
        session.arm()

        def floating(seconds, push, friction=0):
            end = board.seconds + seconds
            plant.hand = lambda p: np.asarray(push, float)
            lab.float_arm(session, friction, lambda: board.seconds > end)
            assert session.in_state("HOLD")

        # The hand guides the arm upwards with a small fraction of the torque that gravity requires.
        floating(0.7, [0.1, 0.0, 0.0], 50)
        led = plant.q.copy()
        weight = -plant.tree.at(led, np.zeros(3)).gravity[0]
        assert led[0] > -np.pi / 2.0 + 0.2 and weight > 0.2
        # The hand stops the arm. The arm then stays in this pose against gravity.
        plant.hand = None
        session.wait(lambda: np.abs(session.status.rate).max() < 0.02, 2.0, "does not come to rest")
        session.wait(lambda: np.abs(plant.v).max() < 1e-6, 2.0, "does not come to rest")
        rest = plant.q.copy()
        floating(0.5, [0.0, 0.0, 0.0])
        assert np.abs(plant.q - rest).max() < 2e-3
        assert -plant.tree.at(rest, np.zeros(3)).gravity[0] > 10.0 * mechanism.moving[0].friction.coulomb
        # The wrist is thrown. The velocity of the wrist stays below its float velocity plus the velocity that damping
        # by Kv allows.
        fastest = []
        session.listeners.append(lambda s: fastest.append(abs(s.rate[2])))
        floating(0.15, [0.0, 0.0, 0.1])
        wrist = mechanism.moving[2]
        assert max(fastest) < 0.25 * wrist.limits.velocity + 0.1 / wrist.gains.kv + 0.3


def test_a_recording_shows_every_tick_of_a_jog():
    mechanism = rig.three_link()
    with rig.connected(mechanism) as (board, session):
        lab.home(session, mechanism)
        session.arm()
        recorder = Recorder(session)
        recorder.start([Column("position", 1), Column("target", 1), Column("duty", 1), Column("torque", 1)])
        lab.jog(session, 1, 0.5, 0.6)
        session.wait(lambda: recorder.count == 1024, 2.0, "did not fill the recording")
        session.clock.sleep(0.01)
        seen = recorder.read()
        record = board.record()
        first = int(np.flatnonzero(record.tick == seen.tick[0])[0])
        part = slice(first, first + 1024)
        unit = 2.0 * np.pi / 2.0**32
        assert np.array_equal(seen.column("position", 1), record.position[part, 1] * unit)
        assert np.array_equal(seen.column("torque", 1).astype(np.float32), record.torque[part, 1])
        assert np.array_equal(seen.column("duty", 1).astype(np.float32), record.duty[part, 1])
        assert np.any(np.diff(seen.column("target", 1)) > 0.0)
