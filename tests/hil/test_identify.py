"""Friction and inertia found by experiment on the virtual board, whose plant has other ones than the file says."""

import pytest

from codegen.mechanism import Friction
from hil.plant import Plant
from host.board import Board
from host.identify import identify
from tests.hil import lab as rig

WRONG = {"friction": Friction(0.0, 0.0), "motor": {"inertia": 0.0}}


def found(joints):
    """What is identified of the three-link arm's joints when the file knows neither friction nor rotor."""
    truth = rig.three_link()
    mechanism = rig.changed("unknown-arm", {j.name: WRONG for j in truth.moving})
    with rig.session(mechanism, Plant(truth)) as (_, session):
        board = Board(session, mechanism)
        board.home()
        return {joint: identify(board, mechanism, joint) for joint in joints}


def check(result, joint):
    motor, friction = joint.motor, joint.friction
    for estimate, truth in ((result.viscous, friction.viscous), (result.coulomb, friction.coulomb),
                            (result.inertia, motor.inertia)):
        assert abs(estimate.value - truth) <= max(0.05 * truth, estimate.half), (joint.name, str(estimate), truth)
        assert estimate.half < 0.5 * truth, (joint.name, str(estimate), truth)  # an interval that says something


def test_friction_and_inertia_of_a_joint_are_found():
    joint = rig.three_link().moving[0]
    result = found([joint.name])[joint.name]
    check(result, joint)


@pytest.mark.bench
def test_friction_and_inertia_of_every_joint_are_found():
    results = found([j.name for j in rig.three_link().moving])
    for joint in rig.three_link().moving:
        r = results[joint.name]
        print(f"{joint.name}: viscous {r.viscous} ({joint.friction.viscous}), coulomb {r.coulomb} "
              f"({joint.friction.coulomb}), motor.inertia {r.inertia} ({joint.motor.inertia})")
    for joint in rig.three_link().moving:
        check(results[joint.name], joint)
