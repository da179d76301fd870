"""The fault campaign: a sample in every run, all of it in the bench."""

import pytest

from hil.scenarios import campaign, campaign_currents
from tests.support import boards
from tests.support.rig import ROOT, three_link

# others have tests of their own on every board
SAMPLE = ("encoder reversed", "HSE dead", "frames reordered", "tick overrun", "bit flip in constants", "over-voltage")


def sampled(injections):
    """One of each kind, from the middle of the list: in mid-motion or with power on."""
    by_kind = {kind: [i for i in injections if i.kind == kind] for kind in SAMPLE}
    return [own[len(own) // 2] for own in by_kind.values()]


def test_that_a_sample_ends_where_it_must():
    outcomes = campaign.run(three_link(), ROOT / "build" / "campaign", sampled)
    print(campaign.table(outcomes))
    assert [(o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []


def test_that_there_are_three_hundred_injections_and_no_two_are_alike():
    from codegen.toolchain import platformio as build

    arm = campaign.mechanism_of(three_link())
    every = campaign.injections(arm, build.build(arm, ROOT / "build" / "campaign").elf)
    assert len(every) >= 300
    assert len({(i.kind, i.name, i.state) for i in every}) == len(every)


OF_THE_CHIP = ("wrong crystal", "supply sags", "debugger halts", "stack overrun", "bit flip in code")


@pytest.mark.parametrize("name", ("f405rg-4", "nucleo-g474re-6"))
def test_that_what_goes_wrong_with_the_chip_itself_ends_well_on_both_families(name, tmp_path):
    """The last of each kind; on the F405 that is in PROBE, on the G474 too, and slow and deep for the supply."""
    def last(injections):
        return [next(i for i in reversed(injections) if i.kind == kind) for kind in OF_THE_CHIP]

    outcomes = campaign.run(boards.three_link(name, tmp_path), ROOT / "build" / f"campaign-{name}", last)
    print(campaign.table(outcomes))
    assert len(outcomes) == len(OF_THE_CHIP)
    assert [(o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []


@pytest.mark.parametrize("name", boards.DRIVING)
def test_that_a_loaded_arm_ends_on_its_brakes_on_every_board(name, tmp_path):
    """The first of each kind, in HOLD; the bench has all."""
    kinds = {"loaded arm, host gone", "loaded arm, e-stop", "loaded arm, encoder jump", "loaded arm, reset"}
    outcomes = campaign.run(campaign.loaded_of(boards.three_link(name, tmp_path)), ROOT / "build" / f"campaign-loaded-{name}",
                            lambda every: [next(i for i in every if i.kind == kind) for kind in sorted(kinds)])
    print(campaign.table(outcomes))
    assert [(o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []


def on_loops(name, folder):
    """The arm with current loops, and what goes wrong with them."""
    mechanism = boards.driven(boards.three_link(name, folder), "current")
    return mechanism, list(campaign_currents.injections(mechanism))


@pytest.mark.parametrize(("name", "kinds"), [
    ("f405rg-4", ("shorted cable", "sensor backwards", "amplifier saturated", "converter of currents", "sensor off its zero")),
    ("nucleo-g474re-6", ("partly shorted winding", "cable off", "sensor backwards", "sensor shows nothing")),
    ("odrive-v3.6", ("much asked, low R", "sensor backwards")),
])
def test_that_what_goes_wrong_with_currents_ends_where_it_must_before_much_flows(name, kinds, tmp_path):
    mechanism, own = on_loops(name, tmp_path)
    outcomes = campaign.run(mechanism, ROOT / "build" / f"campaign-{name}-current",
                            lambda _: [next(i for i in own if i.kind == kind) for kind in kinds])
    print(campaign.table(outcomes))
    assert [(o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []


OF_GATE_DRIVERS = ("gate driver forgets", "phase shorted", "gate drivers' supply dips")


@pytest.mark.bench
def test_that_every_fault_of_gate_drivers_and_of_a_loaded_arm_ends_well(tmp_path):
    every = []
    for name in boards.DRIVING:
        arm = campaign.loaded_of(boards.three_link(name, tmp_path))
        every += campaign.run(arm, ROOT / "build" / f"campaign-loaded-{name}",
                              lambda all_: [i for i in all_ if i.kind.startswith("loaded arm")], on_outcome=said)
    every += campaign.run(boards.three_link("odrive-v3.6", tmp_path), ROOT / "build" / "campaign-odrive",
                          lambda all_: [i for i in all_ if i.kind in OF_GATE_DRIVERS], on_outcome=said)
    print("\n" + campaign.table(every))
    assert [(o.injection.kind, o.injection.name, o.state, o.fault, o.why) for o in every if not o.good] == []
    assert len(every) >= 100


@pytest.mark.bench
@pytest.mark.parametrize("name", ["f405rg-4", "nucleo-g474re-6", "odrive-v3.6"])
def test_that_everything_that_goes_wrong_with_currents_ends_where_it_must(name, tmp_path):
    mechanism, own = on_loops(name, tmp_path)
    outcomes = campaign.run(mechanism, ROOT / "build" / f"campaign-{name}-current", lambda _: own, on_outcome=said)
    print("\n" + campaign.table(outcomes))
    assert len(outcomes) >= 60 and len({(o.injection.kind, o.injection.name) for o in outcomes}) == len(outcomes)
    assert [(o.injection.kind, o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []


def said(outcome):
    """Tell at once what is wrong: the whole takes minutes."""
    if not outcome.good:
        print(f"{outcome.injection.kind}, {outcome.injection.name}: {outcome.state} {outcome.fault} {outcome.why}", flush=True)


@pytest.mark.bench
def test_that_every_injection_ends_where_it_must():
    outcomes = campaign.run(three_link(), ROOT / "build" / "campaign", on_outcome=said)
    print("\n" + campaign.table(outcomes))
    assert [(o.injection.kind, o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []
