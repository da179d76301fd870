"""Five moteus controllers on one bus at 1 kHz. The controllers' motion is played by PD without feed-forward, by a PC
with gravity and the maker's package, and by the image."""

import math

import moteus
import numpy as np
import pytest
from moteus import Register
from moteus.protocol import parse_registers

from assurance.campaigns import seven_drives
from assurance.campaigns.host_loop import Desk, HostLoop
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.motion import Trajectory, from_rows
from femtorque.codegen.verify.bus_budget import bus_loads
from femtorque.hil.bus import Frame
from femtorque.hil.bus.frame import SIZES
from femtorque.hil.drives.motor import Command
from tests.support.bus_arm import five_moteus


class UsbAdapter(Desk):
    """Drives with an adapter that sends the package's frames."""

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self.controllers = [moteus.Controller(id=drive.id, transport=object()) for drive in self.drives]

    def tell(self, data: list[bytes]) -> None:
        self.adapter.send([Frame(0x8000 | drive.id, one.ljust(next(s for s in SIZES if s >= len(one)), b"\x50"),
                                 extended=True, fd=True, fast=True)
                           for drive, one in zip(self.drives, data, strict=True)])

    def enable(self) -> None:
        """Wait for the calibration of the currents."""
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
        drive = self.desk.mechanism.streamed[j].drive
        assert drive is not None
        data: bytes = self.controllers[j].make_position(
            position=asked.position / math.tau, velocity=asked.velocity / math.tau, feedforward_torque=asked.torque,
            kp_scale=asked.kp / drive.type.kp, kd_scale=asked.kd / drive.type.kd, maximum_torque=drive.type.torque,
            velocity_limit=-1.0, accel_limit=-1.0, query=True).data
        return data


def motion_of(mechanism: Mechanism) -> Trajectory:
    """Return the motion of seven drives, without the last two joints."""
    start, poses = [joint.start for joint in mechanism.streamed], [pose[:5] for pose in seven_drives.POSES]
    rest = np.zeros((4, 5))
    return from_rows([j.name for j in mechanism.streamed], [0.0, *seven_drives.TIMES], [start, *poses, poses[-1]],
                     rest, rest)


@pytest.mark.bench
def test_five_on_one_bus_are_followed_a_thousand_times_a_second_and_better_than_by_pd_or_a_pc():
    mechanism = five_moteus()
    motion, (told,) = motion_of(mechanism), bus_loads(mechanism)
    ours, pd = (seven_drives.on_board(mechanism, motion, feedforward) for feedforward in (True, False))
    host = seven_drives.Way("PC", Loop(UsbAdapter(mechanism), motion).run())
    for way in (pd, host, ours):
        print(way.name, "rms, mrad:", np.round(1e3 * way.rms, 2), "at rest:", np.round(1e3 * way.sag, 2))
    assert ours.result is not None and ours.result.ended == "done" and ours.result.bit_identical is True
    assert told.load.fastest >= 1000.0 and ours.ran.busy < 0.9
    assert np.all(ours.rms < pd.rms / 3.0) and np.all(ours.rms < host.rms / 3.0)
    assert ours.rms.max() < pd.rms.max() / 50.0
