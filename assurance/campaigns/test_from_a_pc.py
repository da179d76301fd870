"""Arms of Dynamixel, moteus and ODrive drives. The image, PD without feed-forward, and users' programs on a PC play the
motions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from assurance.campaigns import seven_drives
from assurance.campaigns.test_five_moteus import motion_of
from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory
from tests.support.bus_arm import five_moteus
from tests.support.from_a_pc import AlohaLike, FromAPc, MoteusExample, OdriveRos, rms, rms_beside_its_delay


@dataclass(frozen=True)
class Family:
    """A family. arm: the mechanism and its motion. ways: of users on a PC. of_pd, of_users, beside: bounds of the
    image's rms error of all joints, as a share of another error: of PD without feed-forward, of the users, and of the
    users without their best fixed delay."""

    arm: Callable[[], tuple[Mechanism, Trajectory]]
    ways: dict[str, Callable[[Mechanism], FromAPc]]
    of_pd: float
    of_users: float
    beside: float


def example(name: str) -> tuple[Mechanism, Trajectory]:
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    return mechanism, Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)


def moteus() -> tuple[Mechanism, Trajectory]:
    mechanism = five_moteus()
    return mechanism, motion_of(mechanism)


FAMILIES = {
    "dynamixel": Family(lambda: example("aloha_like"), {"50 Hz, position": AlohaLike}, 1 / 12, 1 / 40, 1 / 20),
    "moteus": Family(moteus, {"50 Hz, position and velocity": MoteusExample}, 1 / 50, 1 / 50, 1 / 50),
    "odrive": Family(lambda: example("odrive_arm"), {
        "100 Hz, position": OdriveRos,
        "100 Hz, position and velocity, the file's gains": lambda m: OdriveRos(m, own_gains=False)}, 1 / 10, 1 / 15,
        1 / 10)}


@pytest.mark.bench
@pytest.mark.parametrize("name", FAMILIES)
def test_the_image_is_nearer_to_the_motion_than_pd_alone_and_than_set_points_of_a_pc(name):
    """Errors are true positions minus targets at the same time. Users' set-points are also compared with a motion that
    has their best fixed delay, because a late follower is still on its path."""
    family = FAMILIES[name]
    mechanism, motion = family.arm()
    ours, pd = (seven_drives.on_board(mechanism, motion, feedforward) for feedforward in (True, False))
    users = {way: make(mechanism).play(motion) for way, make in family.ways.items()}
    rows = {"this firmware": rms(ours.ran), "PD alone": rms(pd.ran), **{way: rms(ran) for way, ran in users.items()},
            **{f"{way}, beside its delay": rms_beside_its_delay(ran) for way, ran in users.items()}}
    print(*(f"\n{name}: {way}: {np.array2string(1e3 * row, precision=2)} mrad rms" for way, row in rows.items()))
    assert ours.result is not None and pd.result is not None
    assert (ours.result.ended, ours.result.bit_identical, pd.result.ended) == ("done", True, "done")
    left, of_pd = (float(np.linalg.norm(row)) for row in (rows["this firmware"], rows["PD alone"]))
    assert left < family.of_pd * of_pd
    for ran in users.values():
        assert left < family.of_users * np.linalg.norm(rms(ran))
        assert left < family.beside * np.linalg.norm(rms_beside_its_delay(ran))
