"""Arms of `femtorque init --arm` at their rate of 200 Hz, on the image of a chip with the same buses."""

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import from_rows
from femtorque.codegen.verify.known_arms import ARMS
from femtorque.hil.play import run_closed_loop


@pytest.mark.parametrize("arm, most", [
    ("yam", 0.6e-3), *(pytest.param(arm, most, marks=pytest.mark.assure) for arm, most in (
        ("openarm", 0.6e-3), ("so101", 5e-3), ("piper", 0.6e-3), ("trossen-wxai", 0.6e-3)))])
def test_an_arm_arms_at_once_and_follows_a_motion(arm, most):
    """most: rad rms. A field of a Damiao's position has steps of 0.38 mrad. The board asks seven drives for their
    settings in more than the time from its start to ARM."""
    mechanism = load_mechanism(ARMS / f"{arm}.toml")
    begin, rest = np.array([joint.start for joint in mechanism.streamed]), np.zeros((2, len(mechanism.streamed)))
    motion = from_rows([joint.name for joint in mechanism.streamed], [0.0, 1.0], [begin, begin + 0.2], rest, rest)
    result = run_closed_loop(mechanism, motion)
    assert result.good and np.all(result.tracking_rms < most), (result.ended, result.tracking_rms)
