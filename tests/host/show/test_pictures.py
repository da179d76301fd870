"""Tests pictures: each colour has one meaning, colours differ visibly, no texts or lines overlap, and curves zoom."""

import ast
import json
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from femtorque.codegen.common import BadInput, colours
from femtorque.host.record import log as logs
from femtorque.host.show import compare, curves, report
from tests.host.show.test_report import ACCELERATION, NOISE, RATE, T, a_run
from tests.support.browser import chromium
from tests.support.suite import ROOT

# Colour vision without one kind of cones: Machado, Oliveira and Fernandes (2009), severity 1, linear sRGB.
SEEN = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
APART = 15.0  # CIE76; about 2.3 is a just noticeable difference


def lab(colour, seen):
    """Return CIE L*a*b* (D65) of an sRGB colour as the eye `seen` sees the colour (IEC 61966-2-1, CIE 15)."""
    c = np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.clip(np.array(SEEN[seen]) @ np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4), 0.0, 1.0)
    to_xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                       [0.0193339, 0.1191920, 0.9503041]])
    x = to_xyz @ linear / np.array([0.95047, 1.0, 1.08883])
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16.0 / 116.0)
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


@pytest.mark.parametrize("seen", SEEN)
def test_eight_joints_can_be_told_apart_by_every_kind_of_eye(seen):
    for a, b in combinations(colours.joints(8), 2):
        assert np.linalg.norm(lab(a, seen) - lab(b, seen)) > APART, (a, b)


@pytest.mark.parametrize("colour", colours.joints(8))
def test_every_joint_is_seen_on_white(colour):
    assert lab(colour, "normal")[0] < 75.0


def test_what_lies_in_one_plot_can_be_told_apart():
    for together in ((colours.DESIRED, colours.MEASURED, colours.TRUE), (colours.ERROR, colours.TRUE),
                     (colours.FEED_FORWARD, colours.FEEDBACK, colours.REST, colours.ALL)):
        for seen in SEEN:
            for a, b in combinations(together, 2):
                assert np.linalg.norm(lab(a, seen) - lab(b, seen)) > APART, (seen, a, b)


def test_the_live_page_means_the_same_by_a_colour_as_reports():
    page = (ROOT / "host" / "femtorque" / "host" / "show" / "templates" / "monitor.html.j2").read_text()
    names = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", page.split("@media (prefers-color-scheme")[0]))
    for name, colour in (("desired", colours.DESIRED), ("measured", colours.MEASURED), ("error", colours.ERROR),
                         ("pd", colours.FEEDBACK), ("feedforward", colours.FEED_FORWARD),
                         ("rest", colours.REST), ("torque", colours.ALL)):
        assert names[name].upper() == colour, name


def test_no_picture_has_colours_of_its_own_for_joints():
    """No picture may use matplotlib's colour maps or its default colour cycle."""
    for path in (path for room in ("codegen", "host", "hil") for path in (ROOT / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"viridis|[\"']C\d[\"']|color=f\"C\{|get_cmap", text), path
        for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)
                     and ast.unparse(node.func).endswith((".loglog", ".semilogy", ".scatter", ".bar"))):
            assert {"color", "facecolor"} & {word.arg for word in call.keywords}, (path, call.lineno)


@pytest.fixture
def log():
    """Return a run in which the plant's true positions are 1 mrad off the encoders' readings."""
    run = a_run(T, ACCELERATION, 0.1 * RATE + NOISE, error=1e-3 * np.sin(9.0 * T))
    return replace(run, true=run.position + 1e-3, begun="2026-05-04T12:30:05+02:00",
                   notes={"trajectory": "motions/wave.csv", "port": "/dev/ttyACM0"})


OVERLAPS = """
  const boxes = [...document.querySelectorAll("h1, h2, p, figcaption, canvas, .at, table, li")]
    .map(e => [e, e.getBoundingClientRect()]);
  const hits = [];
  for (const [a, p] of boxes) for (const [b, q] of boxes)
    if (a !== b && !a.contains(b) && !b.contains(a) && p.width * p.height * q.width * q.height > 0 &&
        p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1)
      hits.push(a.tagName + " " + b.tagName);
  return hits"""


@pytest.mark.parametrize("width", [420, 900, 1600])
def test_nothing_overlaps_and_nothing_sticks_out_at_any_width(log, width, tmp_path):
    report.write_report(log, tmp_path / "run.html")
    compare.write_comparison(compare.compared_runs([(tmp_path / "a.mcap", log), (tmp_path / "b.mcap", log)]),
                             tmp_path / "two.html")
    with chromium() as browser:
        for page in ("run.html", "two.html"):
            browser.open(tmp_path / page)
            browser._call("goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
                "width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}})
            assert browser.run("return document.documentElement.scrollWidth") <= width
            assert browser.run(OVERLAPS) == []
            assert not browser.console()


def test_curves_can_be_zoomed_and_those_of_one_time_together(log, tmp_path):
    report.write_report(log, tmp_path / "run.html")
    drag = """
      const c = plots[0].canvas, r = c.getBoundingClientRect();
      c.setPointerCapture = () => {};
      const at = (kind, x) => c.dispatchEvent(new PointerEvent(kind, {
        clientX: r.left + x * r.width, clientY: r.top + 40, pointerId: 1, bubbles: true}));
      at("pointerdown", 0.4); at("pointermove", 0.6); at("pointerup", 0.6);
      return plots.map(p => [p.plot.group, ...p.range()])"""
    with chromium() as browser:
        browser.open(tmp_path / "run.html")
        whole = browser.run("return plots[0].range()")
        assert whole == pytest.approx([0.0, 5.99])
        zoomed = browser.run(drag)
        begin, end = zoomed[0][1:]
        assert 1.0 < begin < 2.8 and 2.8 < end < 4.5
        assert all([a, b] == [begin, end] for group, a, b in zoomed if group == "t")
        assert all([a, b] != [begin, end] for group, a, b in zoomed if group != "t")
        browser.run("plots[0].canvas.dispatchEvent(new MouseEvent('dblclick'))")
        assert browser.run("return plots[0].range()") == whole
        browser.run("const c = plots[0].canvas; c.dispatchEvent(new PointerEvent('pointermove', {clientX: "
                    "c.getBoundingClientRect().left + 200, clientY: c.getBoundingClientRect().top + 20}))")
        assert re.search(r"t [\d.]+: desired -?[\d.]+, true -?[\d.]+, measured", browser.run(
            "return document.querySelector('.at').textContent")), "the values under the pointer"
        assert not browser.console()


def test_the_page_names_date_motion_and_port(log):
    text = report.page(log)
    assert "2026-05-04 12:30:05+02:00" in text and "motions/wave.csv" in text and "/dev/ttyACM0" in text


def test_a_long_run_makes_no_large_page_and_keeps_its_peaks():
    x = np.linspace(0.0, 600.0, 60_000)
    y = np.sin(x)
    y[31_234] = 7.0
    points = curves.thinned(x, y)
    assert len(points) <= curves.MOST and max(p[1] for p in points) == 7.0
    assert curves.thinned(np.array([0.0, 1.0, 2.0]), np.array([1.0, np.nan, 3.0])) == [[0.0, 1.0], [2.0, 3.0]]


def test_two_runs_are_compared_joint_by_joint(tmp_path):
    near, far = (a_run(T, ACCELERATION, NOISE, error=size * np.sin(9.0 * T)) for size in (1e-3, 3e-3))
    pair = compare.compared_runs([(tmp_path / "before.mcap", far), (tmp_path / "after.mcap", near)])
    said = compare.comparison_sentences(pair)
    words = r"arm: after tracked best, 0\.7\d* mrad rms; before was 3 times as far off, 2\.1\d* mrad rms\."
    assert re.match(words, said[-1]), said
    assert "tracked alike" in compare.comparison_sentences(compare.compared_runs([(tmp_path / "a", near),
                                                                                  (tmp_path / "b", near)]))[-1]
    fine = compare.compared_runs([(tmp_path / name, a_run(T, ACCELERATION, NOISE, error=size * np.sin(9.0 * T)))
                                  for name, size in (("a", 2e-4), ("b", 4e-4))])
    assert "alike" in (last := compare.comparison_sentences(fine)[-1]) and last.endswith("is the encoder's resolution.")
    text = compare.page(pair)
    assert text.count("<td>arm</td>") == 2 and "before" in text and "after" in text
    with pytest.raises(BadInput, match="runs of one arm can be compared"):
        compare.compared_runs([(tmp_path / "a", near), (tmp_path / "b", replace(near, joints=("leg",)))])


def test_the_command_compares_and_replaces_nothing(here, tmp_path, monkeypatch):
    run = a_run(T, ACCELERATION, NOISE)
    monkeypatch.setattr(logs, "read_log", lambda path: run)
    done = here("plot", tmp_path / "a.mcap", tmp_path / "b.mcap", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["files"] == [str(tmp_path / "a-b.html")]
    (tmp_path / "a-b.html").write_text((tmp_path / "a-b.html").read_text() + "changed")
    again = here("plot", tmp_path / "a.mcap", tmp_path / "b.mcap")
    assert again.returncode == 2 and "is there already" in again.stderr
    assert here("plot", tmp_path / "a.mcap", tmp_path / "b.mcap", "-o", tmp_path / "x.png").returncode == 2
