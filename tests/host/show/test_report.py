"""Tests that the sentences on a run name known causes, and find no fault in a faultless run."""

import csv
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from pyarrow import parquet

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.wire import messages
from femtorque.hil.play import run_closed_loop as play
from femtorque.host.record import FromOutside, Run, export, read_log
from femtorque.host.record.log import FACTS, SHAPE, _bent
from femtorque.host.show import report
from femtorque.host.show.findings import CONSTANT, NOTHING, Findings
from femtorque.host.show.scene.page import scripts
from tests.support.browser import chromium
from tests.support.suite import ROOT

ARM = ROOT / "mechanisms" / "three_link.toml"


def a_run(t, torque_ff, feedback, error=None, ku=10.0, kv=0.5, states=None, age=0.0, play=0.0, **scalars):
    """Return a sinusoidal run of one joint with this error and feedback Ku e + Kv e', by the velocity error."""
    n = len(t)
    target, rate = np.sin(2.0 * t), 2.0 * np.cos(2.0 * t)
    error = np.zeros(n) if error is None else error
    rate_error = (feedback - ku * error) / kv
    zero = {f.name: np.zeros(n) for m in messages.MESSAGES if m.name == "STATUS" for f in m.fields if f.length == 1}
    zero |= {"flags": np.full(n, messages.FLAGS["OUTPUTS"][0] | messages.FLAGS["HOMED"][0]),
             "buffered": np.full(n, 100.0),
             "cycles_max": np.full(n, 4200.0), "ack": np.arange(n, dtype=float)} | scalars
    facts = dict(zip(FACTS, np.array([[ku], [kv], [1e-3], [5.0], [5.0], [0.0], [0.0], [age], [play], [0.0], [0.0]]),
                     strict=True))
    return Run("made", "00" * 32, 1000, 250, ("arm",), (False,), {}, t, (target - error)[:, None], target[:, None],
                    (rate - rate_error)[:, None], rate[:, None], torque_ff[:, None], (torque_ff + feedback)[:, None],
                    np.zeros((n, 1)), tuple(states or [*["TRACK"] * (n - 1), "HOLD"]), zero, facts, 168_000)


T = np.arange(0.0, 6.0, 0.01)
RATE, ACCELERATION = 2.0 * np.cos(2.0 * T), -4.0 * np.sin(2.0 * T)
NOISE = np.random.default_rng(3).normal(0.0, 0.02, len(T))


@pytest.mark.parametrize("cause, feedback, size", [
    ("inertia", 0.05 * ACCELERATION, 0.05), ("viscous friction", 0.1 * RATE, 0.1),
    ("Coulomb friction", -0.2 * np.sign(RATE), -0.2), (CONSTANT, np.full(len(T), 0.3), 0.3), (NOTHING, 0.0 * T, 0.0),
])
def test_the_cause_that_was_put_in_is_found(cause, feedback, size):
    left = Findings(run := a_run(T, ACCELERATION, feedback + NOISE)).left[0]
    assert left.cause == cause and left.size == pytest.approx(size, abs=0.01)
    run.facts["loop"][:] = 0.125  # the gain of a servo's own loop is unknown by an eighth
    assert Findings(run).left[0].cause == NOTHING
    if cause == NOTHING:
        assert "follows neither velocity nor acceleration" in str(left)
    else:
        more = cause if cause == CONSTANT else f"{'more' if size > 0 else 'less'} {cause} than the mechanism file says"
        assert more in str(left) and left.explained > 0.9


def test_a_line_in_the_error_is_found_at_its_frequency():
    error = 2e-3 * np.sin(2 * np.pi * 12.5 * T) + 1e-4 * np.random.default_rng(0).normal(size=len(T))
    found = Findings(a_run(T, ACCELERATION, NOISE, error + 0.01 * RATE))
    assert found.lines[0].hz == pytest.approx(12.5,
                                              abs=0.2) and found.lines[0].amplitude == pytest.approx(2e-3, rel=0.1)
    assert any("The error of arm has a line at 12." in s and "mrad" in s for s in found.sentences)
    servo = a_run(T, ACCELERATION, NOISE, error + 0.01 * RATE)
    servo.facts["kv"][:] = 0.0  # as of a servo's own loop, whose bandwidth is unknown
    assert not any("has a line" in s for s in Findings(servo).sentences)
    quiet = Findings(a_run(T, ACCELERATION, NOISE, 1e-4 * np.random.default_rng(0).normal(size=len(T))))
    assert "No frequency stands out in the errors." in quiet.sentences


@pytest.mark.parametrize(("hz", "growth"), [(12.5, 0.0), (7.3, 0.0), (3.0, 0.3)])
def test_a_loop_that_oscillates_is_named_and_no_slower_motion_advised(hz, growth):
    """The cases include a growing oscillation and a motor at its limit."""
    ringing = 0.02 * np.exp(growth * (T - T[-1])) * np.sin(2.0 * np.pi * hz * T)
    run = a_run(T, ACCELERATION, 10.0 * ringing + NOISE, ringing + 2e-3 * RATE)
    full = replace(run, duty=np.sign(ringing)[:, None])
    for said in (Findings(run).sentences, Findings(full).sentences):
        named = [s for s in said if "The loop of arm oscillates at " in s]
        assert len(named) == 1 and float(named[0].split(" at ")[1].split(" Hz")[0]) == pytest.approx(hz, abs=0.25)
        assert not any("play the motion slower" in s or "has a line" in s for s in said)
        assert any("a loop that oscillates makes its own error" in s for s in said)


@pytest.mark.parametrize("error", [
    0.02 * RATE, 0.02 * ACCELERATION, 0.02 * np.sign(RATE), 0.01 * RATE + 0.01, 0.02 * T / 6.0,
    0.02 * np.clip(3.0 * RATE, -1.0, 1.0), 1e-3 * np.random.default_rng(5).normal(size=len(T)),
    0.02 * np.convolve(np.sign(RATE), np.full(30, 1.0 / 30.0), "same")])
def test_an_error_that_lags_does_not_oscillate(error):
    said = Findings(replace(a_run(T, ACCELERATION, 10.0 * error + NOISE, error), duty=np.ones((len(T), 1)))).sentences
    assert not any("oscillates" in s for s in said) and any("play the motion slower" in s for s in said)


def test_the_worst_moment_is_named():
    error = np.zeros(len(T))
    error[400] = -0.004
    words = Findings(a_run(T, ACCELERATION, NOISE, error)).sentences[0]
    assert re.match(r"Tracking was worst at arm, moving at -0\.\d+ rad/s: desired and measured were 4 mrad apart at "
                    r"4\.00 s .* 4\.0 encoder counts\.", words)


def test_events_are_told_in_order():
    n = len(T)
    states = ["HOLD"] * 10 + ["TRACK"] * 300 + ["HOLD"] * 90 + ["TRACK"] * 100 + ["FAULT"] * 100
    flags = np.full(n, messages.FLAGS["OUTPUTS"][0])
    flags[310:400] |= messages.FLAGS["UNDERRUN"][0]
    fault, limits, bad = np.zeros(n), np.zeros(n), np.zeros(n)
    fault[500:] = messages.FAULTS["FOLLOWING"][0]
    limits[450:470] = messages.LIMITS["TORQUE"][0]
    bad[120:] = 3
    found = Findings(a_run(T, ACCELERATION, NOISE, states=states, flags=flags, fault=fault, limits=limits,
                           bad_frames=bad))
    told = [(round(e.t, 2), e.what.split(":")[0]) for e in found.events]
    assert told == [(0.0, "HOLD"), (0.1, "TRACK"), (1.2, "3 damaged frames at the board"),
                    (3.1, "HOLD (knots ran out)"),
                    (4.0, "TRACK"), (4.5, "limit TORQUE"), (5.0, "FAULT"), (5.0, "fault FOLLOWING at joint arm")]
    assert found.sentences[0].startswith("The run was broken off at 5.00 s: fault FOLLOWING at joint arm: ")
    assert "Limits that acted: TORQUE." in found.sentences
    assert any("3 frames came to it damaged; it stopped on the path once" in s for s in found.sentences)
    assert "costliest tick of this log took 4200 of 168000 cycles, 2.5% of its budget" in " ".join(found.sentences)


def test_what_an_arm_felt_is_drawn_and_its_touches_are_events():
    t, none = T[::2], np.zeros((len(T[::2]), 1))
    touches = np.where(t > 2.0, 3, 2) + np.where(t > 4.0, 2**16 - 4, 0)  # the last one wraps
    felt = FromOutside(T[0] + t, none + 0.25, none + 0.125, none + 0.5, t > 2.0, ("arm",) * len(t), touches % 2**16)
    run = a_run(T, ACCELERATION, NOISE)
    found = Findings(replace(run, outside=felt))
    assert [(e.t, e.what) for e in found.events if "touch" in e.what] == [
        (pytest.approx(2.02), "joint arm felt a touch"), (pytest.approx(4.02), "joint arm felt a touch")]
    often = np.where((t > 2.0) & (t < 2.5), np.arange(len(t)), 0)
    found = Findings(replace(run, outside=replace(felt, touches=np.maximum.accumulate(often))))
    assert [e.what for e in found.events if "touch" in e.what] == ["24 touches until 2.48 s, felt at arm"]
    section = next(s for s in report._sections(found) if s.title == "Torque from outside")
    assert [float(c.y[0]) for c in section.plots[0].curves] == [0.625, -0.375, 0.125, 0.25]
    assert "Torque from outside" in report.page(found.run) and "Torque from outside" not in report.page(run)


def test_an_arm_that_follows_says_that_targets_stayed_away():
    flags = np.full(len(T), messages.FLAGS["OUTPUTS"][0])
    flags[310:] |= messages.FLAGS["UNDERRUN"][0]
    found = Findings(a_run(T, ACCELERATION, NOISE, states=["FOLLOW"] * 310 + ["HOLD"] * (len(T) - 310), flags=flags))
    assert found.events[-1].what == "HOLD (targets stayed away)"
    assert any(s.endswith("it stopped on the path once.") for s in found.sentences)


def test_a_log_of_nothing_says_so(tmp_path):
    still = a_run(T[:5], 0.0 * T[:5], 0.0 * T[:5], states=["DISARMED"] * 5)
    assert Findings(still).sentences == ["Nothing moved, so there is no tracking to judge."]
    report.write_report(still, tmp_path / "still.html")
    assert "Nothing moved" in (tmp_path / "still.html").read_text()


def test_a_board_without_outputs_moved_nothing_and_nothing_is_blamed():
    error = 1.3 * np.sin(T)
    found = Findings(replace(a_run(T, ACCELERATION, 10.0 * error, error), outputs=False))
    assert found.sentences[0] == "The board has no outputs: it computed torques, and no joint moved."
    assert not found.tracking and not found.left and not np.any(found.feedback)
    assert "The costliest tick" in found.sentences[1] and "In numbers" not in report.page(found.run)


def test_the_command_writes_a_page_that_a_browser_shows(played, here, tmp_path):
    page, figure = tmp_path / "r.html", tmp_path / "r.png"
    shown = here("plot", played("wrong friction").path, "-o", page, "-o", figure, "--json")
    assert shown.returncode == 0, shown.stderr
    told = json.loads(shown.stdout)
    assert told["files"] == [str(page), str(figure)] and told["figure"] == str(figure)
    assert any("more Coulomb friction than" in s for s in told["sentences"])
    text = page.read_text()
    assert len(text.encode()) < 2_000_000 and scripts() in text
    own = text.replace(scripts(), "")  # three.js contains the name space of elements
    assert not re.findall(r"(?:src|href)=\"(?!data:)|@import|https?://|fetch|XMLHttp", own), "self-contained"
    with chromium() as browser:
        browser.open(page)
        assert browser.run("return performance.getEntriesByType('resource').length") == 0
        assert browser.run("return plots.length") == 5 * 3 + 2, "position, error, torque, model, spectrum; tick, buffer"
        assert browser.run("return plots.every(p => p.canvas.width > 200)")
        shown_text = browser.run("return document.body.innerText")
        assert all(s.replace("`", "") in shown_text for s in told["sentences"])
        assert browser.run("return document.querySelectorAll('table')[0].rows.length") == 4
        browser.screenshot(tmp_path / "report.png")
        assert not wrong(browser)


def wrong(browser):
    """Return the console's messages, except messages on slow pixel reads by screenshots."""
    return [entry["message"] for entry in browser.console() if "GPU stall" not in entry["message"]]


@pytest.fixture
def broken(played):
    """Return the log of a run in which an encoder stopped during the motion."""
    return played("encoder-stuck").run


@pytest.fixture(scope="module")
def beside(played, tmp_path_factory):
    """Yield a browser that shows the page of this run."""
    page = tmp_path_factory.mktemp("page") / "run.html"
    report.write_report(played("encoder-stuck").run, page)
    with chromium() as browser:
        browser.open(page)
        yield browser
        assert not wrong(browser)


def test_one_time_moves_the_arm_its_ghosts_and_the_line_in_every_curve(broken, beside):
    t = broken.t - broken.t[0]
    carried = np.isin(np.round(t, 5), report.moved(Findings(broken)).data()["t"])
    for k in (30, 90, 120):
        beside.run(f"const s = document.getElementById('time'); s.value = {t[k]}; s.dispatchEvent(new Event('input'))")
        at = beside.run("return femtorque.player.time")
        assert at == pytest.approx(t[k], abs=2e-3)
        for who, rows in (("arm", broken.target - broken.error), ("others.ghost", broken.target),
                          ("others.true", broken.target - broken.true_error)):
            found = beside.run(f"return femtorque.view.{who}.q")
            for j, joint in enumerate(broken.joints):
                between = np.interp(at, t[carried], rows[carried, j])
                assert found[joint] == pytest.approx(between, abs=1e-4), (who, joint)
        assert beside.run("return Zoomed.moment") == at
        assert beside.run("return plots.filter(p => p.plot.group === 't').every("
                          "p => !p.canvas.parentElement.querySelector('.moment').hidden)")


def test_a_click_on_a_curve_moves_the_arm_there(beside):
    beside.run("""const c = plots[0].canvas, [a, b] = plots[0].range(), x = 58 + 0.5 * (c.clientWidth - 66);
                  c.setPointerCapture = () => {};
                  for (const kind of ["pointerdown", "pointerup"]) {
                    const box = c.getBoundingClientRect();
                    const at = {clientX: box.left + x, clientY: box.top + 50, bubbles: true};
                    c.dispatchEvent(new PointerEvent(kind, at));
                  }""")
    middle = beside.run("const [a, b] = plots[0].range(); return (a + b) / 2")
    assert beside.run("return femtorque.player.time") == pytest.approx(middle, abs=0.02)


def test_torque_is_a_colour_and_a_fault_a_mark_at_its_joint(broken, beside):
    share = np.abs(broken.torque[:, 0] / broken.facts["effort"][0])
    t, most = broken.t - broken.t[0], int(np.argmax(share))
    colour = """const link = femtorque.view.arm.joints.shoulder.moved.children.find(c => c.userData.kind === 'solid');
                return link.material.color.getHSL({})"""
    still, loaded = (beside.run(f"femtorque.seek({t[k]}); {colour}") for k in (5, most))
    assert share[most] > 0.1 and loaded["s"] > still["s"] + 0.05, "from grey to a colour"
    faulted = int(np.flatnonzero(broken.scalars["fault"])[0])
    joint = broken.joints[int(broken.scalars["fault_joint"][faulted])]
    assert beside.run(f"femtorque.seek({t[faulted] - 0.05}); return femtorque.view.marked.length") == 0
    assert beside.run(f"femtorque.seek({t[faulted] + 0.01}); return femtorque.view.marked.map(m => m.name)") == [joint]
    assert f"at joint {joint}" in beside.run("return document.getElementById('wrong').textContent")
    assert f"at joint {joint}" in beside.run("return document.getElementById('time').getAttribute('aria-valuetext')")


def test_differences_can_be_drawn_larger_than_they_are(broken, beside):
    beside.run("femtorque.seek(1.0)")
    q, desired = (beside.run(f"return femtorque.view.{who}.q") for who in ("arm", "others.ghost"))
    beside.run("const s = document.getElementById('apart'); s.value = '100'; s.dispatchEvent(new Event('change'))")
    larger = beside.run("return femtorque.view.arm.q")
    for joint in broken.joints:
        assert larger[joint] - desired[joint] == pytest.approx(100.0 * (q[joint] - desired[joint]), abs=1e-9)
    beside.run("const s = document.getElementById('apart'); s.value = '1'; s.dispatchEvent(new Event('change'))")


def test_the_page_can_be_worked_from_the_keyboard(beside):
    """The space bar starts the motion, arrow keys rotate the view, and every control has an accessible name."""
    beside.run("document.activeElement.blur(); femtorque.seek(0)")
    beside.run("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: ' ', bubbles: true}))")
    assert beside.run("return document.getElementById('play').textContent") == "Pause"
    beside.run("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: ' ', bubbles: true}))")
    assert beside.run("return document.getElementById('play').textContent") == "Play"
    beside.run("document.getElementById('view').dispatchEvent(new KeyboardEvent('keydown', {key: 'Home'}))")
    before = beside.run("return femtorque.view.camera.position.toArray()")
    beside.run("document.getElementById('view').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'}))")
    assert np.linalg.norm(np.subtract(beside.run("return femtorque.view.camera.position.toArray()"), before)) > 0.01
    beside.run("document.getElementById('view').dispatchEvent(new KeyboardEvent('keydown', {key: 'Home'}))")
    np.testing.assert_allclose(beside.run("return femtorque.view.camera.position.toArray()"), before, atol=1e-6)
    assert beside.run("return document.getElementById('view').tabIndex") == 0
    assert beside.run("return [...document.querySelectorAll('input, select, canvas[role=img], #view')].every("
                      "e => e.labels?.length || e.getAttribute('aria-label'))")


def test_a_log_without_an_arm_has_the_page_of_old_and_says_why(broken):
    text = report.page(replace(broken, arm=None))
    assert "No arm is shown: the log holds no description of one." in text and "THREE" not in text
    assert 'id="view"' not in text and "What was worst" in text


def test_columns_of_what_is_true_are_there_only_where_it_is_known(broken):
    assert "true error rms" in report.page(broken) and "true error rms" not in report.page(replace(broken, true=None))


def test_tables_hold_what_the_log_holds(played, tmp_path):
    run = read_log(played("good").path)
    export.write_export(run, tmp_path / "run.csv")
    export.write_export(run, tmp_path / "run.parquet")
    table = parquet.read_table(tmp_path / "run.parquet")
    assert table.schema.metadata[b"mechanism"] == b"three-link" and table.num_rows == len(run.t)
    np.testing.assert_array_equal(table["elbow.position"].to_numpy(), run.position[:, 1])
    np.testing.assert_array_equal(table["wrist.error"].to_numpy(), run.error[:, 2])
    assert table["state_name"].to_pylist() == list(run.state)
    with (tmp_path / "run.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_allclose([float(r["shoulder.torque"]) for r in rows], run.torque[:, 0], rtol=1e-8)
    with played("good").path.with_suffix(".status.csv").open(newline="") as file:
        beside = next(csv.reader(file))
    assert set(beside) <= set(rows[0]), "every column of the CSV that comes with the log"
    with pytest.raises(BadInput, match="must end in .csv or .parquet"):
        export.write_export(run, tmp_path / "run.xls")


def test_pyarrow_that_is_missing_is_named(played, here, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    shown = here("plot", played("good").path, "-o", tmp_path / "x.parquet")
    assert shown.returncode == 1 and "pip install 'pyarrow>=15'" in shown.stderr


def test_another_suffix_is_refused_before_anything_is_written(played, here, tmp_path):
    shown = here("plot", played("good").path, "-o", tmp_path / "x.html", "-o", tmp_path / "x.doc")
    assert shown.returncode == 2 and not (tmp_path / "x.html").exists()


def test_many_joints_show_the_worst(monkeypatch):
    one = a_run(T[:200], ACCELERATION[:200], NOISE[:200])
    wide = {name: np.repeat(getattr(one, name), 5, axis=1) for name in
            ("position", "target", "rate", "target_rate", "torque_ff", "torque", "duty")}
    wide["position"] = wide["position"] - np.array([0.0, 3e-3, 0.0, 1e-3, 2e-3])
    many = replace(one, joints=tuple(f"j{i}" for i in range(5)), prismatic=(False,) * 5, **wide,
                   facts={k: np.repeat(v, 5) for k, v in one.facts.items()})
    monkeypatch.setattr(report, "MOST", 2)
    assert report._shown(Findings(many)) == [1, 4]
    text = report.page(many)
    assert "The 2 joints with the largest errors are shown." in text and ">j0</td>" in text


def test_plots_without_anything_to_draw_are_left_out():
    """A joint that stands still has no curve over its velocity. A short motion has no spectrum."""
    one = a_run(T[:50], ACCELERATION[:50], NOISE[:50])
    still = {name: np.column_stack([getattr(one, name), np.zeros(50)]) for name in
             ("position", "target", "rate", "target_rate", "torque_ff", "torque", "duty")}
    two = replace(one, joints=("arm", "still"), prismatic=(False, False), **still,
                  facts={k: np.repeat(v, 2) for k, v in one.facts.items()})
    drawn = {section.title: [plot.title for plot in section.plots] for section in report._sections(Findings(two))}
    assert drawn["Model against measurement"] == ["arm"] and "Spectrum of the error" not in drawn
    assert drawn["Torque shares"] == ["arm", "still"]


def test_a_run_without_gains_is_said_to_have_no_feedback():
    """With unknown gains everything beyond feed-forward counts as feedback."""
    run = a_run(T, ACCELERATION, NOISE)
    run = replace(run, facts=run.facts | {"ku": np.zeros(1), "kv": np.zeros(1)})
    assert "No joint has gains: feed-forward alone moved them" in " ".join(Findings(run).sentences)
    assert not Findings(run).feedback.any()
    unknown = replace(run, facts=run.facts | {"ku": np.array([np.nan]), "kv": np.array([np.nan])},
                      torque=run.torque_ff + 0.1)
    np.testing.assert_allclose(Findings(unknown).feedback, 0.1)


def test_how_far_a_tip_bent_and_went_on_swinging_is_said():
    t = T[:200]
    run = a_run(t, np.ones_like(t), 0.0 * t, states=[*["TRACK"] * 150, *["HOLD"] * 50])
    bent = np.where(t < t[150], 4e-3 * np.sin(np.pi * t / t[150]), 1e-4 * np.sin(30.0 * t))
    said = " ".join(Findings(replace(run, tips={"fore": (t, bent)})).sentences)
    assert "The tip of fore bent by up to 4 mm, at 0.75 s, and went on swinging by 200 µm after the motion" in said
    assert "tip" not in " ".join(Findings(run).sentences)


def test_a_log_without_shapes_still_tells_how_far_tips_were_bent():
    def message(names, values):
        return SimpleNamespace(name=names, position=values)

    tips, shapes = _bent([(10**9, message(["fore"], [2e-3])), (2 * 10**9, message(["fore"], [3e-3]))])
    assert not shapes and np.array_equal(tips["fore"], [[1.0, 2.0], [2e-3, 3e-3]])
    names = ["a", *("a" + part for part in SHAPE)]
    tips, shapes = _bent([(10**9, message(names, [5e-3, 1e-3, 2e-3, 3e-3, 4e-3]))])
    assert list(tips) == ["a"] and shapes["a"][1].tolist() == [[1e-3, 2e-3, 3e-3, 4e-3]]


def test_a_run_of_a_flexible_arm_tells_of_its_tip(tmp_path):
    """The run is on the virtual board. The true tip position comes from the simulated plant."""
    mechanism = load_mechanism(ROOT / "mechanisms" / "flexible_arm.toml")
    motion = Trajectory.load(ROOT / "mechanisms" / "flexible_arm.csv", mechanism)
    play(mechanism, motion, log=tmp_path / "run.mcap")
    run = read_log(tmp_path / "run.mcap")
    seconds, bent = run.tips["fore"]
    assert len(seconds) > 50 and 1e-3 < np.abs(bent).max() < 1e-2 and np.all(np.isin(seconds, run.t + 0.0))
    assert "The tip of fore bent by up to " in " ".join(Findings(run).sentences)
    at, shape = run.shapes["fore"]
    assert np.array_equal(at, seconds) and 1e-3 < np.abs(shape[:, 0]).max() < 1e-2 and not np.any(shape[:, 2:])
    (tmp_path / "run.html").write_text(report.page(run))
    with chromium() as browser:
        browser.open(tmp_path / "run.html")
        larger = browser.run("return SCENE.motion.larger")
        assert f"bend as they did, drawn {larger} times as large" in browser.run("return document.body.textContent")
        k = int(np.argmax(np.abs(shape[:, 0])))
        browser.run(f"femtorque.seek({seconds[k] - run.t[0]})")
        drawn, seen = browser.run("const a = femtorque.view.others.true; return [a.bent.fore, a.root.visible]")
        assert drawn == pytest.approx(larger * abs(shape[k, 0]), rel=0.05) and seen
        assert browser.run("return [femtorque.view.arm.bent, femtorque.view.others.ghost.bent]") == [{}, {}]
