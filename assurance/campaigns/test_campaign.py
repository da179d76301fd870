"""The fault campaign: a sample in every run, all injections in the bench."""

from types import SimpleNamespace

import pytest

from assurance.campaigns import campaign, campaign_currents
from tests.support import boards
from tests.support.rig import ROOT, three_link

# others have tests of their own on every board
SAMPLE = ("encoder reversed", "HSE dead", "frames reordered", "tick overrun", "bit flip in constants", "over-voltage")


def sampled(injections):
    """One injection of each kind, from the middle of the list: in mid-motion or with power on."""
    by_kind = {kind: [i for i in injections if i.kind == kind] for kind in SAMPLE}
    return [own[len(own) // 2] for own in by_kind.values()]


def test_that_a_sample_ends_where_it_must():
    outcomes = campaign.run(three_link(), ROOT / "build" / "campaign", sampled)
    print(campaign.table(outcomes))
    assert [(o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []


def test_that_there_are_three_hundred_injections_and_no_two_are_alike():
    from femtorque.codegen.toolchain import platformio as build

    arm = campaign.mechanism_of(three_link())
    every = campaign.injections(arm, build.build_image(arm, ROOT / "build" / "campaign").elf)
    assert len(every) >= 300
    assert len({(i.kind, i.name, i.state) for i in every}) == len(every)


def test_that_each_temperature_that_an_injection_names_is_the_one_that_it_brings_about():
    named = {i.name.split(" in ")[0]: i.strike for i in campaign._supply(three_link()) if i.kind == "over-temperature"}
    seen = {}
    for name, strike in named.items():
        board = SimpleNamespace(temperatures=[25.0])
        strike(SimpleNamespace(board=board))
        seen[name] = board.temperatures[0]
    assert seen == {"90 deg C": 90.0, "150 deg C": 150.0, "a broken wire": -200.0}


OF_THE_CHIP = ("wrong crystal", "supply sags", "debugger halts", "stack overrun", "bit flip in code")


@pytest.mark.parametrize("name", ("f405rg-4", "nucleo-g474re-6"))
def test_that_what_goes_wrong_with_the_chip_itself_ends_well_on_both_families(name, tmp_path):
    """The last injection of each kind; on the F405 and on the G474 that is in PROBE, slow and deep for the supply."""
    def last(injections):
        return [next(i for i in reversed(injections) if i.kind == kind) for kind in OF_THE_CHIP]

    outcomes = campaign.run(boards.three_link(name, tmp_path), ROOT / "build" / f"campaign-{name}", last)
    print(campaign.table(outcomes))
    assert len(outcomes) == len(OF_THE_CHIP)
    assert [(o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []


@pytest.mark.parametrize("name", boards.DRIVING)
def test_that_a_loaded_arm_ends_on_its_brakes_on_every_board(name, tmp_path):
    """The first injection of each kind, in HOLD; the bench has all."""
    kinds = {"loaded arm, host gone", "loaded arm, e-stop", "loaded arm, encoder jump", "loaded arm, reset"}
    outcomes = campaign.run(campaign.loaded_of(boards.three_link(name, tmp_path)),
                            ROOT / "build" / f"campaign-loaded-{name}",
                            lambda every: [next(i for i in every if i.kind == kind) for kind in sorted(kinds)])
    print(campaign.table(outcomes))
    assert [(o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []


def on_loops(name, folder):
    """The arm with current loops, and the injections for it."""
    mechanism = boards.driven(boards.three_link(name, folder), "current")
    return mechanism, list(campaign_currents.injections(mechanism))


@pytest.mark.parametrize(("name", "kinds"), [
    ("f405rg-4",
     ("shorted cable", "amplifier saturated", "converter of currents", "sensor off its zero", "much asked, low R")),
    ("nucleo-g474re-6", ("partly shorted winding", "cable off", "sensor shows nothing", "sensor gain lost")),
    ("odrive-v3.6", ("sensor backwards",)),
])
def test_that_what_goes_wrong_with_currents_ends_where_it_must_before_much_flows(name, kinds, tmp_path):
    """Each kind on one board; the bench has all kinds on every board."""
    mechanism, own = on_loops(name, tmp_path)
    outcomes = campaign.run(mechanism, ROOT / "build" / f"campaign-{name}-current",
                            lambda _: [next(i for i in own if i.kind == kind) for kind in kinds])
    print(campaign.table(outcomes))
    assert [(o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []


@pytest.mark.parametrize(("which", "name"), [("parked", "f405rg-4"), ("parked", "nucleo-g474re-6"),
                                            ("held", "f405rg-4")])
def test_that_an_arm_with_a_pose_to_lie_in_is_let_go_there_and_one_that_is_held_taken_over(which, name, tmp_path):
    """A lost host, heat, a low supply, the next host, and what lets go at once; the bench has all, from every state."""
    def some(every):
        own = [i for i in every if i.kind.startswith(ONLY[which])]
        return [next(i for i in own if i.kind == kind) for kind in dict.fromkeys(i.kind for i in own)] + [own[-3]]

    outcomes = campaign.run(OF_ARMS[which](boards.three_link(name, tmp_path)),
                            ROOT / "build" / f"campaign-{which}-{name}", some)
    print(campaign.table(outcomes))
    assert len(outcomes) >= 5
    assert [(o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []


OF_ARMS = {"loaded": campaign.loaded_of, "rated": campaign.rated_of, "parked": campaign.parked_of,
           "held": campaign.held_of}  # for these alone:
ONLY = {"loaded": "loaded arm", "rated": "overload", "parked": "parked arm", "held": "held arm"}


def parts(name, folder):
    """(mechanism, place of its build, picked injections) of all arms on a board."""
    (folder / name).mkdir()
    arm, build = boards.three_link(name, folder / name), ROOT / "build"
    yield arm, build / f"campaign-{name}", lambda every: every
    for kind, made in OF_ARMS.items():
        yield made(arm), build / f"campaign-{kind}-{name}", lambda every, own=ONLY[kind]: [i for i in every
                                                                                           if i.kind.startswith(own)]
    if all(channel.current for channel in boards.boards.load(name).channels[:len(arm.streamed)]):
        mechanism, own = on_loops(name, folder / name)
        yield mechanism, build / f"campaign-{name}-current", lambda _: own


def everything(name, folder):
    """Outcomes of all injections on a board."""
    return [o for mechanism, build, pick in parts(name, folder) for o in campaign.run(mechanism, build, pick, said)]


def said(outcome):
    """Report a bad outcome at once: the whole takes more than an hour."""
    if not outcome.good:
        print(f"{outcome.injection.kind}, {outcome.injection.name}: {outcome.state} {outcome.fault} {outcome.why}",
              flush=True)


@pytest.mark.bench
@pytest.mark.parametrize(("name", "least"), [("f405rg-4", 500), ("f405rg-6", 410), ("nucleo-g474re-6", 490),
                                             ("odrive-v3.6", 500)])
def test_that_whatever_goes_wrong_on_a_board_ends_where_it_must(name, least, tmp_path):
    outcomes = everything(name, tmp_path)
    print(f"\n{name}\n{campaign.table(outcomes)}", flush=True)
    assert [(o.injection.kind, o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []
    assert len({(o.injection.kind, o.injection.name) for o in outcomes}) == len(outcomes) >= least


def test_that_every_board_that_drives_motors_has_its_campaign():
    campaigns = test_that_whatever_goes_wrong_on_a_board_ends_where_it_must.pytestmark
    assert [name for mark in campaigns for name, _ in (mark.args[1] if mark.args else ())] == list(boards.DRIVING)
