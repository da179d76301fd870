"""Tracking errors of arms with Dynamixel, moteus and ODrive drives: by the image, by PD without feed-forward, and by a
PC that sends set points as users do. Five moteus at 1 kHz also get gravity compensation by the maker's package."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from moteus import Controller, Register
from moteus.protocol import parse_registers

from assurance.campaigns import seven_drives
from assurance.campaigns.host_loop import Desk, HostLoop
from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory, from_rows
from femtorque.codegen.verify.bus_budget import bus_loads
from femtorque.hil.bus import Frame
from femtorque.hil.drives.motor import Command
from tests.support.bus_arm import moteus_arm
from tests.support.from_a_pc import (
    AlohaLike, FromAPc, MoteusExample, OdriveRos, moteus_frame, moteus_position, rms, rms_beside_its_delay)


@dataclass(frozen=True)
class Family:
    """A drive family. of_pd, of_users, beside: limits of the image's rms error of all joints, as a fraction of another
    error: of PD without feed-forward, of the users, and of the users relative to targets with their best constant
    delay."""

    arm: Callable[[], tuple[Mechanism, Trajectory]]  # the mechanism and its motion
    ways: dict[str, Callable[[Mechanism], FromAPc]]  # ways in which users command the drives from a PC
    of_pd: float
    of_users: float
    beside: float


def example(name: str) -> tuple[Mechanism, Trajectory]:
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    return mechanism, Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)


def motion_of(mechanism: Mechanism) -> Trajectory:
    """Return the motion of seven drives, without the last two joints."""
    start, poses = [joint.start for joint in mechanism.streamed], [pose[:5] for pose in seven_drives.POSES]
    rest = np.zeros((4, 5))
    return from_rows([j.name for j in mechanism.streamed], [0.0, *seven_drives.TIMES], [start, *poses, poses[-1]],
                     rest, rest)


def moteus() -> tuple[Mechanism, Trajectory]:
    mechanism = moteus_arm()
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
    """Errors are true positions minus targets. Users' set points are also compared with targets of the best constant
    delay, because an arm that follows late is still on its path."""
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


class UsbAdapter(Desk):
    """Drives with a USB adapter that sends the frames of the maker's package."""

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self.controllers = [Controller(id=drive.id, transport=object()) for drive in self.drives]

    def tell(self, data: list[bytes]) -> None:
        self.adapter.send([moteus_frame(drive.id, one) for drive, one in zip(self.drives, data, strict=True)])

    def enable(self) -> None:
        """Wait for the calibration of the current sensors."""
        self.run_until(self.seconds + 20e-3)

    def ask(self) -> None:
        self.tell([controller.make_query().data for controller in self.controllers])


class Loop(HostLoop):
    def __init__(self, desk: UsbAdapter, motion: Trajectory) -> None:
        super().__init__(desk, motion)
        self.controllers = desk.controllers

    def _take(self, frame: Frame) -> None:
        at = parse_registers(frame.data).response.get(Register.POSITION)
        if at is not None:
            j = next(j for j, drive in enumerate(self.desk.drives) if drive.id == frame.id >> 8)
            self._known[j] = self.desk.signs[j] * at * math.tau

    def packed(self, j: int, asked: Command) -> bytes:
        return moteus_position(self.controllers[j], self.desk.mechanism.streamed[j], asked.position / math.tau,
                               asked.velocity / math.tau, feedforward_torque=asked.torque)


@pytest.mark.bench
def test_five_on_one_bus_are_followed_a_thousand_times_a_second_and_better_than_by_pd_or_a_pc():
    mechanism, motion = moteus()
    told, = bus_loads(mechanism)
    ours, pd = (seven_drives.on_board(mechanism, motion, feedforward) for feedforward in (True, False))
    host = seven_drives.Way("PC", Loop(UsbAdapter(mechanism), motion).run())
    for way in (pd, host, ours):
        print(way.name, "rms, mrad:", np.round(1e3 * way.rms, 2), "at rest:", np.round(1e3 * way.sag, 2))
    assert ours.result is not None and ours.result.ended == "done" and ours.result.bit_identical is True
    assert told.load.fastest >= 1000.0 and ours.ran.busy < 0.9
    assert np.all(ours.rms < pd.rms / 3.0) and np.all(ours.rms < host.rms / 3.0)
    assert ours.rms.max() < pd.rms.max() / 50.0
