"""A PC as the board: refusals, and the effect of the adapters' times on rates, gains and ages."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.board import Times, adapter_times, load_board, served
from femtorque.codegen.common import BadInput
from femtorque.codegen.control import ages, loop_stability, stiffest_gains
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import Mechanism, load_mechanism, set_bus
from femtorque.codegen.mechanism.description import Brake
from femtorque.codegen.model import Model
from femtorque.codegen.verify import bus_loads, examine, pc_words
from tests.support.bus_arm import ARM, described, file_of
from tests.support.pc import on_pc, so101
from tests.support.rig import three_link

SLOW = on_pc(file_of(), 200, softer=0.4, times=Times(1e-3, 0.2e-3))


def with_drive(name: str) -> Mechanism:
    mechanism = on_pc(described(name), 200, softer=0.1)
    return replace(mechanism, joints=tuple(
        replace(j, drive=replace(j.drive, firmware="")) for j in mechanism.joints))


def why(mechanism: Mechanism) -> str:
    with pytest.raises(BadInput) as refused:
        served(mechanism, load_board("pc"))
    return str(refused.value)


def test_a_pc_takes_drives_alone_and_has_no_outputs():
    assert "is required: a PC has no bridges" in why(on_pc(three_link()))
    assert "safety.brake: needs an output" in why(replace(SLOW, safety=replace(
        SLOW.safety, brake=Brake(release_s=0.1, engage_s=0.1))))
    assert [joint.name for joint, _ in served(SLOW, load_board("pc"))] == ["shoulder", "elbow", "wrist"]


@pytest.mark.parametrize("name", ["cubemars", "mini-cheetah", "odrive-can"])
def test_drives_without_a_sure_time_limit_need_the_owners_word(name):
    mechanism = with_drive(name)
    assert 'accept = "no time limit"' in why(mechanism)
    accepted = replace(mechanism, board=replace(mechanism.board, accept="no time limit"))
    assert served(accepted, load_board("pc"))
    assert any("go on with the last command until their supply is cut" in line for line in pc_words(accepted))


@pytest.mark.parametrize("name", ["robstride", "moteus"])
def test_drives_with_a_time_limit_need_none(name):
    mechanism = with_drive(name)
    assert served(mechanism, load_board("pc"))
    assert any("50 ms after the last command" in line for line in pc_words(mechanism))


def test_a_rate_that_an_adapter_cannot_carry_is_refused_with_numbers():
    assert examine(SLOW)
    fast = on_pc(file_of(), 1000, times=Times(1.5e-3, 0.5e-3))
    with pytest.raises(BadInput, match=r"rate_hz = 1000: a tick lasts 1 ms.*up to 2\.81 ms.*at most 355 Hz"):
        bus_loads(fast)
    with pytest.raises(BadInput, match="rate_hz = 5000: .*would be busy.*at most 355 Hz"):
        bus_loads(replace(fast, control=replace(fast.control, rate_hz=5000)))
    (told,) = bus_loads(on_pc(file_of(), 355, times=Times(1.5e-3, 0.5e-3)))
    assert told.fastest == pytest.approx(1.0 / (2e-3 + told.load.worst))
    early, late = told.command_after
    assert early == pytest.approx(1 / 355 + 0.75e-3 + told.load.there[0])
    assert late == pytest.approx(1 / 355 + 1e-3 + told.load.there[1])


def test_times_are_the_board_files_until_they_are_measured(tmp_path):
    unmeasured = replace(SLOW, buses=tuple(replace(b, delay=None, jitter=None) for b in SLOW.buses))
    assert adapter_times(unmeasured) == {"can1": Times(1.5e-3, 0.5e-3)}
    assert any("not measured" in line for line in pc_words(unmeasured))
    assert adapter_times(SLOW) == {"can1": Times(1e-3, 0.2e-3)} and adapter_times(file_of()) == {"can1": Times()}
    path = tmp_path / "arm.toml"
    path.write_text(ARM.read_text().replace('use = "f405rg-4"', 'use = "pc"'))
    set_bus(path, "can1", {"delay": 1.23456e-3, "jitter": 2e-4})
    assert adapter_times(load_mechanism(path)) == {"can1": Times(1.235e-3, 2e-4)}
    assert path.read_text().startswith("# A hanging planar arm")


def test_a_position_is_younger_by_half_of_the_delay():
    """The drive measures later, and the tick begins at the same time."""
    without = ages(on_pc(file_of(), 200))
    assert ages(SLOW) == pytest.approx({name: age - 0.5e-3 for name, age in without.items()})


def test_jitter_softens_the_stiffest_gains_between_whole_ticks():
    """The result for part of a tick lies between the results for whole ticks, without a jump."""
    model = Model.of(SLOW)

    def ku(lag: float) -> np.ndarray:
        return np.array([g.ku for g in stiffest_gains(model, lag).values()])

    assert np.all(ku(2.0) > ku(2.04)) and np.all(ku(2.04) > ku(2.5)) and np.all(ku(2.5) > ku(3.0))
    for whole in (0, 1, 2):
        for near in (whole + 1e-9, whole + 1 - 1e-9):
            assert loop_stability(model, near).radius == pytest.approx(loop_stability(model, round(near)).radius, 1e-6)
    assert examine(SLOW).rule["elbow"].ku == ku(2.04)[1]  # lead, a bus, 0.2 ms of 5 ms


def test_the_so101_is_accepted_on_a_wire_of_a_pc():
    mechanism = so101()
    assert mechanism.joints[0].drive.type == DRIVES["feetech-sts3215-12v"]
    assert bus_loads(mechanism)[0].fastest == pytest.approx(1 / (2e-3 + 1.68e-3), rel=0.01)
    assert not [w for w in examine(mechanism).warnings if "cutoff" in w]
