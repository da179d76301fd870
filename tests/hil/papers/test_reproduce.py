"""The page of `femtorque reproduce`: its list, its report of a number that fails, and its appearance in a browser."""

import base64
import html
import io
import re
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.hil.papers import reproduce
from femtorque.hil.papers.finding import Finding, Number
from femtorque.hil.papers.two_link import TwoLink
from tests.support import oracle
from tests.support.browser import WIDTH, Browser, chromium
from tests.support.suite import HANG, ROOT

QUICK = ("isobe-fig-4", "isobe-fig-5", "plexus-fig-1", "chapter-two-link")  # without an image and a long simulation


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> reproduce.Reproduction:
    """Return the whole page. The fixture computes only the fast figures and replaces each other figure by a number."""
    subjects = tuple(s if s.make is None or s.name in QUICK else replace(s, make=lambda short: Finding(
        (Number("not looked at here", "", "", None),))) for s in reproduce.SUBJECTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "SUBJECTS", subjects)
        return reproduce.reproduce(out=tmp_path_factory.mktemp("page"), short=True)


def looked_at(browser: Browser, report: reproduce.Reproduction, shot: Path) -> None:
    """Check that the page has all pictures and link targets, no console message and nothing wider than itself."""
    browser.open(report.page)
    images = browser.run("return [...document.images].map(i => [i.complete, i.naturalWidth, i.alt])")
    assert len(images) == sum(len(p.finding.pictures) for p in report.parts if p.finding is not None)
    assert all(complete and width > 300 and alt for complete, width, alt in images)
    assert browser.run("return document.documentElement.scrollWidth") <= WIDTH
    assert not browser.run("return [...document.links].filter(a => !document.querySelector(a.hash)).map(a => a.hash)")
    assert browser.console() == []
    pixels = imread(browser.screenshot(shot))
    assert pixels.shape[1] == WIDTH and pixels.shape[0] > 2000
    assert 0.001 < np.mean(pixels[:, :, :3].min(axis=2) < 0.5) < 0.3  # some pixels are dark, but not all


def test_the_page_in_a_browser_has_no_broken_image_and_no_console_error(report, tmp_path):
    with chromium() as browser:
        looked_at(browser, report, tmp_path / "page.png")
        broken = tmp_path / "broken.html"
        broken.write_text('<link rel="icon" href="data:,"><img src="nowhere.png" alt="x"><script>nonsense()</script>')
        browser.open(broken)
        assert browser.run("return document.images[0].naturalWidth") == 0
        assert any("nonsense" in line["message"] for line in browser.console())


def test_the_quick_subjects_hold(report):
    made = {part.subject.name: part for part in report.parts}
    for name in QUICK:
        assert made[name].status in ("reproduced", "reproduced in kind"), made[name].data()
        assert made[name].finding.pictures
        assert any(number.good for number in made[name].finding.numbers)


def test_the_page_lists_every_paper_figure_and_gap_and_needs_nothing_else(report):
    text = report.page.read_text(encoding="utf-8")
    for subject in reproduce.SUBJECTS:
        assert f'id="{subject.name}"' in text
    for paper in ("Isobe", "Lepareux", "Tsujita", "textbook"):
        assert paper in text
    assert text.count("What differs from the paper") == sum(s.make is not None for s in reproduce.SUBJECTS)
    for gap in reproduce.GAPS:
        assert (gap in text) == any(s.differs.startswith(gap) for s in reproduce.SUBJECTS)
    assert "static\nsag" in text or "static sag" in text  # an error of the paper that is not reproduced yet
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    for url in re.findall(r'src="data:image/png;base64,([^"]+)"', text):
        assert imread(io.BytesIO(base64.b64decode(url))).shape[1] > 300


def test_every_gap_says_why():
    for subject in reproduce.SUBJECTS:
        assert len(subject.differs) > 20
        assert subject.make is not None or subject.differs.startswith((*reproduce.GAPS, "a drawing", "not a figure of"))
        assert subject.paper in {paper.key for paper in reproduce.PAPERS}


def test_a_number_that_does_not_hold_is_shown_clearly(tmp_path, monkeypatch):
    bad = Finding((Number("a number", "2", "at most 1", False), Number("shown", "3", "", None)))
    subject = replace(reproduce.chosen("plexus-fig-1")[0], make=lambda short: bad)
    monkeypatch.setattr(reproduce, "SUBJECTS", (subject,))
    report = reproduce.reproduce(out=tmp_path)
    assert not report.good and not report.data()["good"]
    assert report.data()["subjects"][0]["status"] == "NOT reproduced"
    assert "NOT reproduced" in report.page.read_text(encoding="utf-8")


def test_a_paper_or_a_figure_can_be_asked_for_and_nothing_else():
    assert [s.name for s in reproduce.chosen("chapter")] == ["chapter-two-link"]
    assert len(reproduce.chosen("tsujita")) == 8 and len(reproduce.chosen(None)) == len(reproduce.SUBJECTS)
    with pytest.raises(BadInput, match="neither a figure nor a paper; did you mean 'isobe-fig-4'"):
        reproduce.chosen("isobe-fig4")


@pytest.mark.parametrize("folder", ["file/folder", "taken"])
def test_a_page_that_cannot_be_written_is_bad_input_before_anything_is_made(tmp_path, folder):
    (tmp_path / "file").write_text("")
    (tmp_path / "taken" / reproduce.PAGE).mkdir(parents=True)
    with pytest.raises(BadInput, match="cannot be written"):
        reproduce.reproduce("tsujita", tmp_path / folder, on_progress=lambda name: pytest.fail(f"{name} was begun"))


def test_a_long_figure_reports_progress_in_lines(tmp_path, monkeypatch):
    """Each figure prints lines from its beginning on. A page of one figure has the figure's title."""
    monkeypatch.setattr(reproduce, "BEAT", 1e-3)
    told, twice = [], threading.Event()

    def make(short):
        assert twice.wait(HANG)
        return None

    def heard(line):
        told.append(line)
        if len(told) > 2:
            twice.set()

    subject = replace(next(s for s in reproduce.SUBJECTS if s.name == "isobe-eq-16"), make=make)
    monkeypatch.setattr(reproduce, "SUBJECTS", (subject,))
    report = reproduce.reproduce("isobe-eq-16", tmp_path, on_progress=heard)
    assert told[0] == "1 of 1: isobe-eq-16" and re.fullmatch(r"1 of 1: isobe-eq-16: \d+ s so far", told[1])
    assert f"<title>{subject.title}, reproduced</title>" in html.unescape(report.page.read_text(encoding="utf-8"))


# ---- references of the page


def test_the_closed_form_of_the_example_is_that_of_pinocchio():
    mechanism = load_mechanism(ROOT / "mechanisms" / "two_link.toml")
    rng = np.random.default_rng(3)
    q, qd, qdd = rng.uniform(-3.0, 3.0, (3, 40, 2))
    np.testing.assert_allclose(TwoLink.of(mechanism).torque(q, qd, qdd),
                               oracle.rnea(oracle.pinocchio_of(mechanism), q, qd, qdd),
                               atol=1e-12)
    with pytest.raises(BadInput, match="is not two links"):
        TwoLink.of(load_mechanism(ROOT / "mechanisms" / "three_link.toml"))


def test_the_object_of_six_axis_line_goes_straight_without_turning():
    mechanism = load_mechanism(ROOT / "mechanisms" / "six_axis_line.toml")
    motion = Trajectory.load(ROOT / "mechanisms" / "six_axis_line.csv", mechanism)
    model = oracle.pinocchio_of(mechanism)
    data, grip = model.createData(), np.asarray(mechanism.payloads[0].com)
    places, turns = [], []
    for q in motion.at(np.linspace(0.0, motion.duration, 61))[0]:
        oracle.pin.forwardKinematics(model, data, q)
        places.append(data.oMi[6].act(grip))
        turns.append(data.oMi[6].rotation.copy())
    way = places[-1] - places[0]
    assert np.linalg.norm(way) == pytest.approx(0.5, abs=1e-6)
    assert np.abs(np.cross(np.array(places) - places[0], way / 0.5)).max() < 1e-6
    assert np.abs(np.array(turns) - turns[0]).max() < 1e-6
