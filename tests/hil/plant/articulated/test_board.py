"""The articulated plant instead of the minimal one, behind the exact flash image on the virtual board."""

from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import trajectory
from femtorque.hil.plant.articulated.plant import Plant
from femtorque.hil.plant.rigid import Plant as RigidPlant
from femtorque.hil.play import Result, run_closed_loop

THREE_LINK = Path(__file__).parents[4] / "mechanisms" / "three_link.toml"


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> tuple[Result, Result]:
    """Results of a motion of 0.4 s of the three-link arm with either plant, tracked by the same image."""
    mechanism = load_mechanism(THREE_LINK)
    out = tmp_path_factory.mktemp("image")
    times = np.linspace(0.0, 0.4, 41)
    s = 10 * (times / 0.4) ** 3 - 15 * (times / 0.4) ** 4 + 6 * (times / 0.4) ** 5
    start = np.array([joint.start for joint in mechanism.moving])
    motion = trajectory.from_rows([joint.name for joint in mechanism.moving], times,
                                  start + np.outer(s, [0.3, -0.3, 0.2]))
    return tuple(run_closed_loop(mechanism, motion, plant=plant(mechanism), out=out)
                 for plant in (RigidPlant, Plant))


def test_the_image_plays_a_motion_on_the_articulated_plant(results):
    articulated = results[1]
    assert articulated.ended == "done" and articulated.faults == ()
    assert articulated.bit_identical is not False
    assert articulated.tracking_max.max() < 5e-3


def test_both_plants_are_tracked_alike(results):
    minimal, articulated = results
    np.testing.assert_allclose(articulated.tracking_rms, minimal.tracking_rms, rtol=0.1)
