"""A comparison on the motion of an arm with seven drives: played by the drives' PD without feed-forward, by a PC, and
by the firmware.

The bench writes build/bench-drives.md."""

import numpy as np
import pytest

from assurance.bench import table
from assurance.campaigns.seven_drives import (
    BETTER, FIELDS, FLOORS, HOST, LIVE, OURS, PD, STALL, TIMES, WAYS, Compared, compare)
from femtorque.codegen.drive import Wire, bus_load

pytestmark = pytest.mark.bench

OFF = 5e-3  # largest distance from the path after a stall of the host, rad


@pytest.fixture(scope="module")
def compared() -> Compared:
    return compare()


def test_the_table_is_kept(compared):
    joints = [joint.name for joint in compared.mechanism.streamed]
    rows = [[name, what, *(f"{1e3 * x:.2f}" for x in np.abs(getattr(compared.ways[name], key)))]
            for key, what in (("rms", "rms in motion"), ("sag", "at rest")) for name in (*WAYS, LIVE, *FLOORS)]
    stalls = [[name, f"{way.off(STALL[0]):.4f}", f"{way.speed.max():.2f}", f"{way.ran.seconds[-1]:.2f}"]
              for name, way in compared.stalled.items()]
    result = compared.ways[OURS].result
    assert result is not None
    told = bus_load(Wire("can-fd", 1e6, 5e6),
                    [(j.drive.id, j.drive.type) for j in compared.mechanism.streamed if j.drive])
    costs = [["whole tick, mean in motion", f"{result.instructions_tick_mean:.0f} instructions"],
             ["whole tick, worst in motion", f"{result.instructions_tick} instructions"],
             *([f"bus, {name}", f"{compared.ways[name].ran.busy:.1%}"] for name in WAYS),
             ["bus, as check counts it, mean and worst", f"{1e3 * told.mean:.1%}, {1e3 * told.worst:.1%}"]]
    planned = compared.ways[FIELDS].speed.max()
    text = table.show("Seven drives: target - true angle, mrad", ["played by", "what", *joints], rows,
                      ["gains, drives, wire and plant are the same; PD is the image without feed-forward"])
    text += table.show(f"The host does nothing for {STALL[1]:g} s", ["played by", "off the path, rad", "fastest, rad/s",
                                                                  "done after, s"], stalls,
                       [f"planned: {planned:.2f} rad/s, {TIMES[-1]:g} s"])
    text += table.show("What it takes", ["what", "how much"], costs)
    table.keep("bench-drives.md", text)


def test_every_way_gets_to_its_end_and_the_firmware_computes_what_the_host_does(compared):
    for name in WAYS:
        result = compared.ways[name].result
        assert result is None or (result.ended, result.state, result.faults) == ("done", "DISARMED", ())
    assert compared.ways[OURS].result.bit_identical is True
    assert np.abs(compared.ways[HOST].sag).max() < 0.1 * np.abs(compared.ways[PD].sag).max(), "the PC carries the arm"


@pytest.mark.parametrize("other", list(BETTER))
def test_the_firmware_keeps_every_joint_nearer_to_its_path(compared, other):
    ratio = compared.ways[OURS].rms / compared.ways[other].rms
    print(f"\nrms error over that of {other}: {np.array2string(ratio, precision=3)}")
    assert np.all(ratio <= BETTER[other])


def test_an_arm_that_follows_live_targets_keeps_to_its_targets_and_to_the_path(compared):
    live, host = compared.ways[LIVE], compared.ways[HOST]
    off = 1e3 * live.off(0.0)
    print(f"\n{LIVE}: {np.array2string(1e3 * live.rms, precision=2)} mrad rms, off the path {off:.1f} mrad")
    assert np.all(live.rms <= 0.1 * host.rms)
    assert live.off(0.0) < host.off(0.0)


def test_the_error_at_rest_is_a_step_of_the_fields(compared):
    """The position field has steps of 0.38 mrad. A joint can be at rest anywhere within a step of the field."""
    steps = [2.0 * joint.drive.type.position / 65535 for joint in compared.mechanism.streamed]
    for name in (OURS, FIELDS):
        assert np.all(np.abs(compared.ways[name].sag) <= 1.05 * np.array(steps))


def test_a_stalled_host_moves_the_arm_off_its_path_only_if_the_host_closes_the_loop(compared):
    assert compared.stalled[OURS].off(STALL[0]) < OFF < 0.1 * compared.stalled[HOST].off(STALL[0])
    assert np.all(compared.stalled[OURS].speed <= 1.1 * compared.ways[FIELDS].speed)
    assert compared.stalled[OURS].result.ended == "done"
