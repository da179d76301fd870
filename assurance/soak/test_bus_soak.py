"""A day of motion of drives on a bus that loses and doubles frames: no fault, no bias, every loss counted.

The application's own C on this computer, as in test_soak. The controller's registers are not in it: what repeats a
disturbed frame there, at once, is left out, so that every disturbed frame is lost here. The image itself plays an hour
less: some minutes, on the virtual board, with its wire disturbed as often.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from assurance.soak.test_soak import CDEF, path
from femtorque.codegen.common.firmware import MECHANISMS
from femtorque.codegen.mechanism.description import Mechanism
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.motion.trajectory import from_rows, knots
from femtorque.codegen.toolchain import platformio as build
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.plant.choose import plant_of
from femtorque.hil.play.run import play
from tests.firmware.pieces import in_pieces
from tests.support.boards import IMAGES
from tests.support.drives import Bussed

HOURS, PIECE_HOURS = 24, 1
SHARE = 1e-4  # of frames
STEP = 2.0 * 28.0 / 4095.0  # N m, of a DM4340's torque field
OWN = """
typedef struct {
    uint64_t sent, lost, twice, unanswered;
    double bias;
    uint32_t told_lost, told_late, told_foreign, disabled;
} bus_soak_t;
void bus_soak_begin(double share, uint64_t seed);
void bus_soak_see(bus_soak_t *found);
"""
OWN_FILES = [Path(__file__).with_name(name) for name in ("soak.c", "soak.h", "bus_soak.c", "bus_soak.h")]


def arm() -> Mechanism:
    return load_mechanism(MECHANISMS / "damiao_arm.toml")


class BusSoak(Bussed):
    """The arm of drives, which play a path for ever. share: of frames to which something happens."""

    def __init__(self, share: float = SHARE, seed: int = 1) -> None:
        super().__init__(arm(), own=OWN_FILES, cdef=CDEF + OWN)
        self.run(60)
        assert self.command("ARM") == "NONE"
        self.run(10)
        self.path = path(self.mechanism)
        self.lib.soak_begin(self.ffi.from_buffer(self.path), len(self.path))
        self.lib.bus_soak_begin(share, seed)
        assert self.lib.soak_fill() > 100
        self.post("START")

    def soak(self, ticks: int):
        """Play so long; what was seen of the bus in it."""
        before = self.seen()
        done = self.lib.soak_run(ticks)
        assert done == ticks, f"left the path after {done} ticks: {self.still()}"
        status, now = self.still(), self.seen()
        assert (status.bad_frames, status.wrong_tag, status.out_of_order, status.fault) == (0, 0, 0, 0)
        assert (now.told_lost - before.told_lost) % 2**32 == pytest.approx(now.unanswered, abs=3)  # of the last tick
        assert (now.told_late - before.told_late) % 2**32 == pytest.approx(now.twice, abs=3)
        assert now.told_foreign == now.disabled == 0
        assert now.bias < 1e-3 * STEP
        return now

    def seen(self):
        found = self.ffi.new("bus_soak_t *")
        self.lib.bus_soak_see(found)
        return found[0]

    def still(self):
        """The last STATUS, without letting time pass."""
        self.lib.ft_app_idle()
        self.take()
        return self.status


def test_that_a_minute_on_a_bus_that_loses_frames_stays_on_its_path_with_every_loss_counted():
    """Here a hundred times as many, so that a minute has them."""
    seen = BusSoak(100.0 * SHARE).soak(60_000)
    assert seen.sent == 60_000 * 3 * 2
    assert seen.lost == pytest.approx(0.01 * seen.sent, rel=0.1) and seen.twice > 1000


def test_that_a_bus_that_loses_every_second_frame_is_noticed():
    app = BusSoak()
    app.soak(2000)
    app.lib.bus_soak_begin(0.5, 1)
    assert app.lib.soak_run(60_000) < 2000
    app.run(12)
    assert app.fault[0] == "DRIVE_SILENT"


@pytest.mark.soak
def test_that_a_day_on_a_bus_with_disturbed_frames_ends_without_a_fault():
    def play(piece):
        seen = BusSoak(seed=1 + piece).soak(PIECE_HOURS * 3600 * 1000)
        return {"sent": seen.sent, "lost": seen.lost, "twice": seen.twice, "bias": seen.bias}

    in_pieces("bus-soak", arm(), OWN_FILES, HOURS // PIECE_HOURS, PIECE_HOURS, play)


@pytest.mark.soak
def test_that_minutes_of_the_image_on_a_disturbed_wire_end_without_a_fault():
    """There and back over and over, each time with what is disturbed repeated by the controller. FEMTORQUE_IMAGE_S: of
    motion."""
    m = arm()
    seconds = float(os.environ.get("FEMTORQUE_IMAGE_S", "120"))
    start = np.array([j.start for j in m.streamed])
    rounds = max(1, round(seconds / 4.0))
    poses = [start if k % 2 == 0 else start + [0.9, -0.7, 0.6] for k in range(2 * rounds + 1)]
    motion = from_rows([j.name for j in m.streamed], np.arange(len(poses)) * 2.0, poses, np.zeros((len(poses), 3)),
                       np.zeros((len(poses), 3)))
    with VirtualBoard(build.build(m, IMAGES / m.name).elf, m, plant_of(m)) as board:
        board.brakes = True
        wire = board.wiring.buses.wires["can1"]
        wire.error_rate, passed = SHARE, []
        wire.log = lambda p: passed.append(p.error is None)
        result = play(board, m, knots(motion, m), feedforward=True)
        print(f"\n{motion.duration:g} s of motion: {len(passed) - sum(passed)} of {len(passed)} frames disturbed")
    assert (result.ended, result.state, result.faults, result.bit_identical) == ("done", "DISARMED", (), True)
    assert 0.3 < (len(passed) - sum(passed)) / (SHARE * len(passed)) < 3.0
    assert np.all(result.tracking_max < 2e-3)
