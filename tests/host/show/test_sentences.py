"""Checks sentences on simulated runs. Changes of the plant, the line or the encoder cause each situation."""

import re
from dataclasses import replace
from datetime import datetime
from functools import partial

import numpy as np
import pytest
from rich.console import Console

from femtorque.codegen.board import Times
from femtorque.codegen.drive import FAMILIES
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import from_rows, knots
from femtorque.codegen.verify.known_arms import ARMS, arm_names
from femtorque.codegen.wire import messages
from femtorque.hil.play import run_closed_loop as play
from femtorque.host.record import Log, export, log as logs
from femtorque.host.scene import Contact, Moment
from femtorque.host.show import plot, report
from femtorque.host.show.display import tracking_table
from femtorque.host.show.findings import DOUBT, NOTHING, ZERO_FIRST, Findings
from femtorque.host.show.readable_units import ERROR, TRUE
from femtorque.host.stream import stream
from tests.host.show.conftest import SHIFT
from tests.host.show.test_report import ACCELERATION, NOISE, RATE, T, a_run
from tests.support import bus_arm, pc
from tests.support.boards import IMAGES
from tests.support.dynamixels import aloha
from tests.support.servos import so101
from tests.support.suite import ROOT

BLAMES = ("did not show", "acted on an encoder", "The model was farthest", "oscillates", "has a line at",
          "showed no movement", "could do no more", "against each other", "than the mechanism file says", "of a load")
ADAPTER = Times(delay=1.5e-3, jitter=0.5e-3)
FILES = {"bridges": "three_link", "damiao that close their loops": "openarm_like", "loop": "four_bar",
         "modes": "pick_and_place", "springs": "flexure_arm", "no outputs": "two_link", "odrive-can": "odrive_arm"}
EXACT = {"damiao": lambda: bus_arm.described(), "feetech": so101, "dynamixel": aloha,
         **{kind: partial(load_mechanism, ROOT / "mechanisms" / f"{name}.toml") for kind, name in FILES.items()},
         **{f"{arm} by name": partial(load_mechanism, ARMS / f"{arm}.toml") for arm in arm_names()},
         **{kind: partial(bus_arm.described, kind) for kind in ("robstride", "cubemars", "mini-cheetah", "moteus")}}


def there_and_back(arm, seconds=1.2):
    """Return a motion of every joint at up to a third of its velocity."""
    t = np.linspace(0.0, seconds, round(100 * seconds) + 1)
    s = (1.0 - np.cos(2 * np.pi * t / seconds)) / 2.0
    start = np.array([j.start for j in arm.streamed])
    names = "lower", "upper", "velocity"
    lower, upper, speed = (np.array([getattr(j.limits, name) for j in arm.streamed]) for name in names)
    most = np.minimum(1.0, speed * seconds / np.pi / 3.0)
    up, down = (np.minimum(0.8 * room, most) for room in (upper - start, start - lower))
    return from_rows([j.name for j in arm.streamed], t, start + np.outer(s * s, np.where(up >= down, up, -down)))


@pytest.mark.parametrize("family", EXACT)
def test_an_exact_arm_of_each_family_is_blamed_for_nothing(family, tmp_path):
    """The arm's positions may arrive with a delay, and its gears may have play, but its encoder and its model have no
    errors."""
    assert {name.split()[0] for name in EXACT} >= {name.replace("_", "-") for name in FAMILIES}
    arm, path = EXACT[family](), tmp_path / "run.mcap"
    result = play(arm, there_and_back(arm), log=path, out=IMAGES / f"{arm.name}_exact")
    run = logs.read_log(path)
    said = [*Findings(run).sentences, *re.findall(r"(?<=<li>).*", report.page(run))]
    assert result.ended == "done" and np.max(np.abs(run.target_rate)) > 0.4
    doubt = DOUBT / run.rate_hz * (run.facts["old"] > 0.0) * np.sqrt(np.mean(run.target_rate**2, axis=0)) + 2e-5
    for t, rms, near in zip(Findings(run).tracking, result.measured_rms, doubt, strict=False):
        assert t.rms == pytest.approx(rms, rel=0.2, abs=near), t.joint
    assert not [sentence for sentence in said if any(blame in sentence for blame in BLAMES)]


@pytest.mark.parametrize("kind", ["drives", "servos"])
def test_an_exact_arm_on_a_pc_with_the_delay_of_an_adapter_is_blamed_for_nothing(kind, tmp_path):
    arm = pc.on_pc(bus_arm.described(), 200, times=ADAPTER) if kind == "drives" else pc.so101(100, holds=True)
    with pc.stepped(arm, ADAPTER) as (board, session):
        log = Log(tmp_path / "run.mcap", session.configuration, mechanism=arm)
        session.listeners.append(log.write)
        pc.armed(board, session)
        outcome = stream(session, knots(there_and_back(arm), arm))
        log.close()
    found = Findings(logs.read_log(log.path))
    assert outcome.ended == "done" and not [s for s in found.sentences if any(blame in s for blame in BLAMES)]
    assert [t.rms for t in found.tracking] == pytest.approx(outcome.tracking_rms, rel=0.02)


def has(said, *words):
    return any(all(word in sentence for word in words) for sentence in said)


def test_a_good_run_blames_nobody(played):
    said = played("good").said
    assert played("good").result.ended == "done"
    assert said[0].startswith("Tracking was worst at ") and has(said, "desired and measured were", "apart",
                                                                "encoder counts")
    assert has(said, "The true error", "desired and true position were")
    assert not has(said, "did not show") and not has(said, "can do no more") and not has(said,
                                                                                         "went against each other")
    assert not has(said, "than the mechanism file says") and ZERO_FIRST not in said
    assert has(said, "every frame came to it whole", "at least") and "No limit acted." in said
    assert all(left.cause == NOTHING for left in Findings(played("good").run).left)


def test_a_shifted_zero_comes_before_the_model(played):
    said = played("shifted zero").said
    assert has(said, "The true error", "desired and true position were", "mrad apart")
    assert has(said, "The encoder of shoulder did not show where it was", "mrad apart, from 0.")
    assert not has(said, "than the mechanism file says"), "the model is right"


@pytest.mark.parametrize(("age", "beyond", "blamed"), [(0.0, 0.0, True), (4e-3, 0.0, False), (4e-3, 0.01, True)])
def test_positions_that_are_old_are_no_bad_encoder(age, beyond, blamed):
    """At 2 rad/s, 4 ms give 8 mrad, or 8 counts. Only a larger error is attributed to the encoder."""
    run = a_run(T, ACCELERATION, NOISE, age=age)
    behind = 4e-3 * RATE + beyond * (RATE > 1.9)
    said = Findings(replace(run, true=run.position + behind[:, None])).sentences
    assert has(said, "did not show", "look at the encoder, its coupling and its wires") is blamed


@pytest.mark.parametrize(("play", "off", "blamed"), [(0.0, 0.01, True), (0.017, 0.01, False), (0.017, 0.03, True)])
def test_what_a_servos_play_makes_is_not_the_models(play, off, blamed):
    run = a_run(T, ACCELERATION, 0.05 * ACCELERATION + NOISE, error=off * np.sin(2.0 * T), play=play)
    said = Findings(run).sentences
    assert has(said, "The model was farthest", "more inertia") is blamed
    assert ("more inertia than the mechanism file says" in report.page(run)) is blamed
    assert has(said, "Errors at arm, of 10 mrad at most, are within the play of a servo's gear, 17 mrad") is not blamed


def test_a_shifted_zero_of_a_real_board_is_asked_after_before_the_model_is_blamed():
    """If the true position is unknown, a shifted zero has the same effect as a constant torque or an inertia."""
    said = Findings(a_run(T, ACCELERATION, 0.3 + NOISE)).sentences
    assert ZERO_FIRST in said
    assert said.index(ZERO_FIRST) < next(i for i, s in enumerate(said) if s.startswith("The model was farthest"))
    assert "The true error" not in " ".join(said)


def test_more_inertia_than_the_file_says_is_said(played):
    """The plant's links have 1.4 times the file's masses. The plant's rotors are the file's rotors."""
    words = next(s for s in played("wrong inertia").said if s.startswith("The model was farthest from the arm"))
    found = re.search(r"masses and inertias were about (\d+)% larger than the mechanism file says", words)
    assert found and 30 <= int(found[1]) <= 60, words


def test_more_friction_than_the_file_says_is_said(played):
    """The plant has three times the friction in the file."""
    rough = played("wrong friction")
    assert has(rough.said, "The model was farthest from the arm", "more Coulomb friction than the mechanism file says")
    assert ZERO_FIRST not in rough.said
    for left, joint in zip(Findings(rough.run).left, rough.result.mechanism.moving, strict=True):
        assert left.cause == "Coulomb friction" and left.size == pytest.approx(2.0 * joint.friction.coulomb,
                                                                               rel=0.4), left


def test_a_stuck_encoder_is_blamed_and_not_the_model(played):
    stuck = played("encoder-stuck")
    assert stuck.result.ended != "done"
    assert stuck.said[0].startswith("The run was broken off at ")
    assert has(stuck.said, "The encoder of shoulder showed no movement from", "look at encoder")
    assert has(stuck.said, "The encoder of shoulder did not show where it was")
    assert has(stuck.said, "says nothing about the model", "an encoder that was wrong")
    assert not has(stuck.said, "The model was farthest")


def test_a_host_that_was_missed_is_said(played):
    assert has(played("host-stall").said, "it stopped on the path once.")
    assert not has(played("host-stall").said, "The log ends in the middle")


def test_a_cable_that_was_pulled_is_said_and_the_model_not_blamed(played):
    said = played("host-gone").said
    assert said[0].startswith("The log ends in the middle of a motion, at ") and "nothing of the board" in said[0]
    assert not has(said, "than the mechanism file says"), "what is left is what a count gives"


def test_a_motor_that_can_do_no_more_is_said_and_not_the_model():
    full = a_run(T, ACCELERATION, 0.3 + NOISE)
    full.duty[100:300] = 1.0
    said = Findings(full).sentences
    assert has(said, "The motor of arm had all the voltage that the supply gives for 33% of the motion", "--speed 0.5")
    assert has(said, "says nothing about the model", "a motor that can do no more") and not has(said,
                                                                                             "The model was farthest")
    singular = full.scalars | {"fault": np.where(T > 5.0, messages.FAULTS["LOOPS_SINGULAR"][0], 0.0)}
    assert not has(Findings(replace(full, scalars=singular)).sentences, "slower"), "no speed helps at a singular pose"
    strong = a_run(T, 5.0 * np.sign(RATE), 0.0 * T)
    assert has(Findings(strong).sentences, "was asked for all that limits.effort allows")


def test_a_thing_in_the_way_is_named_and_not_the_model_blamed():
    touch = Contact("hand", "box", np.zeros(3), np.ones(3))
    found = Findings(replace(a_run(T, ACCELERATION, 0.3 * np.sign(RATE)), around=((0.5, Moment({}, (touch,))),)))
    assert has(found.sentences, "says nothing about the model: the arm touched box.")
    assert not has(found.sentences, "The model was farthest")


def test_parts_that_go_against_each_other_are_given_in_newton_metres_and_never_as_shares_of_a_whole():
    """If two torques oppose each other, each is larger than their sum."""
    ahead = np.sin(T)
    words, rms = " ".join(Findings(a_run(T, ahead, -0.9 * ahead)).sentences), np.sqrt(np.mean(ahead[:-1]**2))
    assert (f"it gave {0.9 * rms:.3g} N m rms, the feed-forward gave {rms:.3g} N m" in words
            and "the two went against each other" in words)
    assert "of the whole" not in words and "gave the rest" not in words
    assert "against each other" not in " ".join(Findings(a_run(T, ahead, 0.5 * ahead)).sentences)


def test_table_and_list_of_the_page_agree_on_the_feedback(played):
    """Both the table and the list use all samples in motion, including samples in which one joint is at rest."""
    found = Findings(played("wrong friction").run)
    for left in found.left:
        share = found.shares[found.run.joints.index(left.joint)]["feedback"]
        assert left.rms == share, left.joint
    text = report.page(found.run)
    for left in found.left:
        assert text.count(str(left).split("gave ")[1].split(" rms")[0]) >= 2


@pytest.mark.parametrize("name", ["good", "encoder-stuck", "shifted zero"])
def test_verbs_agree_on_what_was_measured_and_what_was_true(played, name):
    """`hil` evaluates every tick, logs every STATUS: rms agree, and no STATUS exceeds the worst tick."""
    one = played(name)
    told, read = one.result.report(), plot.run_summary(one.run)
    for key in ("tracking_rms", "true_rms"):
        for joint, value in told[key].items():
            assert read[key][joint] == pytest.approx(value, rel=0.15, abs=2e-5), (key, joint)
    for key in ("tracking_max", "true_max"):
        assert all(read[key][joint] <= value * 1.001 + 1e-6 for joint, value in told[key].items()), key
    if name == "good":
        assert told["tracking_rms"]["shoulder"] == pytest.approx(told["true_rms"]["shoulder"], abs=1e-3)
    else:
        count = one.run.facts["count"][0]
        assert one.run.true is not None
        assert np.nanmax(np.abs(one.run.true[:, 0] - one.run.position[:, 0])) > 10 * count
        # the steps of the encoder alone make less than two counts of difference
        assert abs(told["tracking_max"]["shoulder"] - told["true_max"]["shoulder"]) > 2 * count


def test_tables_say_which_error_they_hold(played):
    result = played("good").result
    console = Console(record=True, width=120, file=open("/dev/null", "w", encoding="utf-8"))
    console.print(tracking_table("x", result.mechanism.streamed, result.measured_rms, result.measured_max,
                                 (result.tracking_rms, result.tracking_max)))
    both = console.export_text()
    console.print(tracking_table("x", result.mechanism.streamed, result.measured_rms, result.measured_max))
    one = console.export_text()
    assert "true rms" in both and f"{ERROR} {TRUE} Over every tick in motion; " in " ".join(both.split())
    assert TRUE not in one and f"{ERROR} Over each STATUS in motion, as a report." in " ".join(one.split())


def test_the_log_names_desired_measured_and_true(played, tmp_path):
    run = played("shifted zero").run
    assert run.true is not None and np.nanmedian(run.true[:, 0] - run.position[:, 0]) == pytest.approx(SHIFT, abs=1e-3)
    export.write_export(run, tmp_path / "run.csv")
    head = (tmp_path / "run.csv").read_text().split("\n")[0].split(",")
    assert {"shoulder.target", "shoulder.position", "shoulder.true", "shoulder.error",
            "shoulder.true_error"} <= set(head)
    beside = played("shifted zero").path.with_suffix(".status.csv").read_text().split("\n")[0].split(",")
    assert {"shoulder.true", "unix_time"} <= set(beside)


def test_a_log_says_when_it_was_begun_by_the_clock_on_the_wall(played):
    run = played("good").run
    begun = datetime.fromisoformat(run.begun)
    assert begun.tzinfo is not None and abs(begun.timestamp() - run.unix_time[0]) < 60.0
    assert np.all(np.diff(run.unix_time) >= 0.0)
