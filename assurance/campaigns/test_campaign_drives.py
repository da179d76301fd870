"""Tests of faults of drives on a bus: a sample in `make assure`, all faults in `make bench`."""

from dataclasses import replace

import pytest

from assurance.campaigns import campaign_drives as campaign, campaign_dynamixels, campaign_servos, campaign_wires
from assurance.campaigns.campaign import table
from femtorque.codegen.drive.catalogue import CATALOGUE
from femtorque.codegen.toolchain import platformio as build
from tests.support.rig import ROOT

PLACE = ROOT / "build" / "campaign-drives"
# drive families that the firmware supports on CAN
SPOKEN = {"damiao", "robstride", "cubemars", "mini-cheetah", "moteus", "odrive-can"}
SAMPLE = {
    "damiao": [("drive's own fault", "MOS over temperature", "ARM"), ("foreign frame", "in the drive's name", "CHECK")],
    "damiao-fd": [("bus babbles", "lowest identifier", "TRACK"), ("bus held dominant", "for 50 ms", "HOLD")],
    "robstride": [("bus off", "shorted for 50 ms", "HOLD"), ("drive's supply dips", "2 ms, boots in 1 ms", "ARM"),
                  ("wrong scale", "0.8 of the position", "CHECK")],
    "cubemars": [("drive silent", "cable off", "FLOAT")],
    "mini-cheetah": [("board dies", "no supply", "FOLLOW")],
    "moteus": [("board dies", "no supply", "TRACK"), ("foreign frame", "in the drive's name", "HOLD"),
               ("drive's own fault", "over temperature", "ARM"), ("wrong scale", "of the rotor", "CHECK")],
    "odrive-can": [("board dies", "halted", "TRACK"), ("foreign frame", "in the drive's name", "ARM"),
                   ("drive's own fault", "motor over temperature", "HOLD"), ("wrong scale", "old firmware", "CHECK")],
}
SAMPLE_OF_SERVOS = [("drive silent", "cable off", "TRACK"), ("bus babbles", "without a pause", "HOLD"),
                    ("board dies", "halted", "TRACK"), ("board dies", "no supply", "FOLLOW"),
                    ("drive's own fault", "overload", "HOLD"),
                    ("wrong scale", "two steps a count", "CHECK"), ("foreign frame", "two of one number", "ARM")]

SERVOS = {"feetech": campaign_servos, "dynamixel": campaign_dynamixels}
SAMPLE_OF_DYNAMIXELS = [("drive silent", "cable off", "TRACK"), ("board dies", "no supply", "HOLD"),
                        ("drive's own fault", "overload", "ARM")]


def wrong(outcomes):
    return [(o.injection.kind, o.injection.name, o.injection.moment, o.state, o.fault, o.unsafe, o.bad)
            for o in outcomes if not o.good]


@pytest.mark.parametrize("name", list(campaign.KINDS))
def test_that_a_sample_ends_where_it_must_with_no_torque(name):
    """Only drives without a timeout that the board cannot reach continue, until their supply is off."""
    outcomes = campaign.run(name, PLACE, lambda every: [i for i in every if (i.kind, i.name, i.moment) in SAMPLE[name]])
    print(table(outcomes))
    assert len(outcomes) == len(SAMPLE[name]) and wrong(outcomes) == []
    assert [o.left for o in outcomes] == [campaign.KINDS[name].timeout is None] * len(outcomes)


@pytest.mark.parametrize("name, what", [
    ("damiao", ("supply low", "TRACK")), ("damiao-fd", ("on its way, bus held dominant", "HOLD")),
    ("robstride", ("host gone", "TRACK")), ("cubemars", ("host gone", "HOLD")),
    ("mini-cheetah", ("on its way, cable off", "HOLD")), ("moteus", ("host gone", "FOLLOW")),
    ("odrive-can", ("on its way, drive's own fault", "HOLD")), ("damiao", ("too hot", "HOLD")),
])
def test_that_an_arm_on_drives_lies_down_before_they_are_let_go(name, what):
    outcomes = campaign.run(name, PLACE, lambda every: [i for i in every if (i.name, i.moment) == what], lies=True)
    assert len(outcomes) == 1 and wrong(outcomes) == []
    assert on_the_way(outcomes)


def on_the_way(outcomes):
    """Return whether faults on the way to the pose find the arm moving. Drives that continue do not count."""
    return all(o.left or o.seconds > campaign.ON_THE_WAY - 0.01
               for o in outcomes if o.injection.name.startswith("on its way"))


def test_that_drives_let_go_elsewhere_are_unsafe():
    """The test shows that the check can fail: here the required pose differs from the arm's pose."""
    mechanism = campaign.parked_of("damiao")
    gone = next(i for i in campaign.parked("damiao") if (i.name, i.moment) == ("host gone", "HOLD"))
    elf = build.build_image(mechanism, PLACE / mechanism.name).elf
    assert campaign.play(replace(gone, lies=(0.0, 0.0, 0.0)), mechanism, elf).unsafe.startswith("let go at")


@pytest.mark.parametrize("servos, sample", [(campaign_servos, SAMPLE_OF_SERVOS),
                                            (campaign_dynamixels, SAMPLE_OF_DYNAMIXELS)], ids=["feetech", "dynamixel"])
def test_that_a_sample_of_servos_ends_where_it_must(servos, sample):
    """The board, or its reset, cuts the supply of Feetech servos out of reach. Dynamixel servos have a watchdog."""
    outcomes = campaign_wires.run(servos, PLACE,
                                  lambda every: [i for i in every if (i.kind, i.name, i.moment) in sample])
    assert len(outcomes) == len(sample) and wrong(outcomes) == []
    assert not any(o.left for o in outcomes)


@pytest.mark.parametrize("what", SAMPLE_OF_SERVOS[:3])
def test_that_servos_out_of_reach_are_unsafe_without_an_output_for_their_supply(what):
    """The test shows that the check can fail."""
    these = [i for i in campaign_wires.injections(campaign_servos.KIND) if (i.kind, i.name, i.moment) == what]
    outcomes = campaign.done(campaign_servos.arm(cutoff=None), these, False, PLACE / "uncut")
    assert [bool(o.unsafe) for o in outcomes] == [True]


@pytest.mark.parametrize("mechanism", [campaign_servos.arm(), campaign.arm_of("damiao")], ids=["servos", "drives"])
def test_that_torque_that_goes_on_is_unsafe_for_any_report_of_the_board(mechanism):
    """No fault is injected, so the drives continue."""
    elf = build.build_image(mechanism, PLACE / mechanism.name).elf
    nothing = campaign.Injection("nothing", "at all", "HOLD", lambda scene: None, "off", state="HOLD")
    assert campaign.play(nothing, mechanism, elf).unsafe.startswith("torque for")
    if mechanism.name == "campaign_feetech":
        assert campaign.play(nothing, mechanism, elf, unlimited=True).unsafe == "a drive within reach is on"
    else:
        early = replace(nothing, ends="refused", moment="CHECK")
        assert campaign.play(early, mechanism, elf).unsafe.startswith("torque")


def test_that_every_family_has_every_fault_and_no_two_injections_are_alike():
    families = {drive.family for drive in CATALOGUE if drive.family in SPOKEN}
    assert {campaign.DRIVES[kind.types[0]].family for kind in campaign.KINDS.values()} == families == SPOKEN
    every = {name: list(campaign.injections(name)) for name in campaign.KINDS}
    told = {i.kind for i in every["damiao"]}
    assert len(told) >= 12
    for name, own in every.items():
        missing = told - {i.kind for i in own}
        assert missing <= {"wrong mode", *(() if campaign.KINDS[name].codes else ("drive's own fault",))}, name
        assert len({(i.kind, i.name, i.moment) for i in own}) == len(own) >= 75


@pytest.mark.parametrize("of", [campaign_servos, campaign_dynamixels])
def test_that_servos_have_every_fault_of_a_wire_and_no_two_are_alike(of):
    every = list(campaign_wires.injections(of.KIND))
    assert {i.kind for i in every} >= {
        "drive silent", "drive late", "bus babbles", "foreign frame", "drive's own fault", "wire shorted",
        "bytes disturbed", "drive's supply dips", "supply dips", "wrong scale", "wrong setting", "board dies",
        "board resets", "e-stop"}
    assert len({(i.kind, i.name, i.moment) for i in every}) == len(every) >= 110


@pytest.mark.bench
@pytest.mark.parametrize("name", list(campaign.KINDS))
def test_that_no_arm_on_drives_is_let_go_before_it_lies(name):
    outcomes = campaign.run(name, PLACE, lies=True)
    assert wrong(outcomes) == [] and len(outcomes) >= 8 and on_the_way(outcomes)


@pytest.mark.bench
@pytest.mark.parametrize("name", [*campaign.KINDS, *SERVOS])
def test_that_no_fault_of_drives_is_unsafe(name):
    servos = SERVOS.get(name)
    outcomes = campaign_wires.run(servos, PLACE) if servos else campaign.run(name, PLACE)
    print(f"\n{table(outcomes)}")
    assert wrong(outcomes) == []
    assert len(outcomes) >= (110 if servos else 75)
