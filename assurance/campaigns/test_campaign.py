"""Tests of the fault campaign: a sample of the faults in every run, all faults in `make bench`."""

import pytest

from assurance.campaigns import campaign, campaign_currents
from tests.support import boards
from tests.support.rig import ROOT, three_link

# further types of faults have tests on every board
SAMPLE = ("encoder reversed", "HSE dead", "frames reordered", "tick overrun", "bit flip in constants", "over-voltage")


def played(mechanism, name, pick):
    """Inject the selected faults on the image in build/NAME, and check that all pass."""
    outcomes = campaign.run(mechanism, ROOT / "build" / name, pick)
    print(campaign.table(outcomes))
    assert [(o.injection.kind, o.injection.name, o.state, o.fault, o.why) for o in outcomes if not o.good] == []
    return outcomes


def firsts(kinds):
    """Select the first fault of each type."""
    return lambda every: [next(i for i in every if i.kind == kind) for kind in kinds]


def test_that_a_sample_ends_where_it_must():
    """The sample has one fault of each type, from the middle of the list: during a motion or with power on."""
    def sampled(every):
        by_kind = ([i for i in every if i.kind == kind] for kind in SAMPLE)
        return [own[len(own) // 2] for own in by_kind]

    played(three_link(), "campaign", sampled)


def test_that_there_are_three_hundred_injections_and_no_two_are_alike():
    from femtorque.codegen.toolchain import platformio as build

    arm = campaign.mechanism_of(three_link())
    every = campaign.injections(arm, build.build_image(arm, ROOT / "build" / "campaign").elf)
    assert len(every) >= 300
    assert len({(i.kind, i.name, i.state) for i in every}) == len(every)


OF_THE_CHIP = ("wrong crystal", "supply sags", "debugger halts", "stack overrun", "bit flip in code")


@pytest.mark.parametrize("name", ("f405rg-4", "nucleo-g474re-6"))
def test_that_faults_of_the_chip_itself_end_well_on_both_families(name, tmp_path):
    """The sample is the last fault of each type, in PROBE. The supply voltage drops slowly and far."""
    played(boards.three_link(name, tmp_path), f"campaign-{name}",
           lambda every: firsts(OF_THE_CHIP)(list(reversed(every))))


@pytest.mark.parametrize("name", boards.DRIVING)
def test_that_a_loaded_arm_ends_on_its_brakes_on_every_board(name, tmp_path):
    """The first fault of each type is injected in HOLD; `make bench` injects all."""
    kinds = [f"loaded arm, {what}" for what in ("e-stop", "encoder jump", "host gone", "reset")]
    played(campaign.loaded_of(boards.three_link(name, tmp_path)), f"campaign-loaded-{name}", firsts(kinds))


def on_loops(name, folder):
    """Return the arm with current loops, and its faults."""
    mechanism = boards.driven(boards.three_link(name, folder), "current")
    return mechanism, list(campaign_currents.injections(mechanism))


@pytest.mark.parametrize(("name", "kinds"), [
    ("f405rg-4",
     ("shorted cable", "amplifier saturated", "converter of currents", "sensor off its zero", "much asked, low R")),
    ("nucleo-g474re-6", ("partly shorted winding", "cable off", "sensor shows nothing", "sensor gain lost")),
    ("odrive-v3.6", ("sensor backwards",)),
])
def test_that_faults_of_currents_end_where_they_must_before_much_flows(name, kinds, tmp_path):
    """Each type of fault is injected on one board. `make bench` injects all types on every board."""
    mechanism, own = on_loops(name, tmp_path)
    played(mechanism, f"campaign-{name}-current", lambda _: firsts(kinds)(own))


@pytest.mark.parametrize(("which", "name"), [("parked", "f405rg-4"), ("parked", "nucleo-g474re-6"),
                                            ("held", "f405rg-4")])
def test_that_a_parked_arm_is_let_go_in_its_pose_and_a_held_arm_taken_over(which, name, tmp_path):
    """The sample has a fault of each type, and one on the way to the pose. `make bench` injects all of them."""
    def some(every):
        own = [i for i in every if i.kind.startswith(ONLY[which])]
        return [next(i for i in own if i.kind == kind) for kind in dict.fromkeys(i.kind for i in own)] + [own[-3]]

    arm = OF_ARMS[which](boards.three_link(name, tmp_path))
    assert len(played(arm, f"campaign-{which}-{name}", some)) >= 5


OF_ARMS = {"loaded": campaign.loaded_of, "rated": campaign.rated_of, "parked": campaign.parked_of,
           "held": campaign.held_of}  # only for these arms
ONLY = {"loaded": "loaded arm", "rated": "overload", "parked": "parked arm", "held": "held arm"}


def parts(name, folder):
    """Yield (mechanism, build folder, function that selects faults) of all arms on a board."""
    (folder / name).mkdir()
    arm = boards.three_link(name, folder / name)
    yield arm, f"campaign-{name}", lambda every: every
    for kind, made in OF_ARMS.items():
        yield made(arm), f"campaign-{kind}-{name}", lambda every, own=ONLY[kind]: [i for i in every
                                                                                   if i.kind.startswith(own)]
    if all(channel.current for channel in boards.boards.load_board(name).channels[:len(arm.streamed)]):
        mechanism, own = on_loops(name, folder / name)
        yield mechanism, f"campaign-{name}-current", lambda _: own


@pytest.mark.bench
@pytest.mark.parametrize(("name", "least"), [("f405rg-4", 500), ("f405rg-6", 410), ("nucleo-g474re-6", 490),
                                             ("odrive-v3.6", 500)])
def test_that_every_fault_on_a_board_ends_where_it_must(name, least, tmp_path):
    outcomes = [o for part in parts(name, tmp_path) for o in played(*part)]
    assert len({(o.injection.kind, o.injection.name) for o in outcomes}) == len(outcomes) >= least


def test_that_every_board_that_drives_motors_has_its_campaign():
    campaigns = test_that_every_fault_on_a_board_ends_where_it_must.pytestmark
    assert [name for mark in campaigns for name, _ in (mark.args[1] if mark.args else ())] == list(boards.DRIVING)
