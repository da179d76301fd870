"""The code of the demonstration, for one pair of runs at the paper's 10 ms."""

import io
import shutil

import numpy as np
import pytest
from rich.console import Console

from femtorque.codegen.common import BadInput
from femtorque.hil.scenarios import demo


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "BUILD", tmp_path_factory.mktemp("build"))
        return [demo.measure(demo.Case("three_link_10ms.toml", 1.0, ff)) for ff in (False, True)]


def test_feed_forward_divides_the_error_by_ten_at_ten_milliseconds(outcomes):
    alone, with_feedforward = outcomes
    assert alone.good and with_feedforward.good
    assert with_feedforward.result["bit_identical"] is True
    assert np.all(with_feedforward.rms < 0.1 * alone.rms)


def test_the_errors_shown_equal_those_of_the_curves(outcomes):
    for outcome in outcomes:
        np.testing.assert_allclose(np.sqrt(np.mean((outcome.target - outcome.actual) ** 2, axis=0)),
                                   outcome.rms, rtol=1e-9)
        assert outcome.t[-1] == pytest.approx(3.0, abs=0.05)


def test_tables_and_summary_fit_a_terminal_and_name_every_joint(outcomes):
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(demo.tracking_table(outcomes), demo.run_table(outcomes))
    text = console.export_text()
    assert all(name in text for name in ("shoulder", "elbow", "wrist", "10 ms", "bit for bit", "equal"))
    assert "…" not in text
    assert any("has at most 0.0" in line for line in demo.summary(outcomes))


def test_the_sweep_covers_both_rates_three_gains_and_both_laws():
    cases = demo.cases(sweep=True)
    assert len(cases) == len(set(cases)) == 12
    assert demo.cases(sweep=False) == cases[:2]
    full, half = demo.Case("three_link.toml", 1.0, True).mechanism, demo.Case("three_link.toml", 0.5, True).mechanism
    for a, b in zip(full.moving, half.moving, strict=True):
        assert b.gains.ku == 0.5 * a.gains.ku and b.gains.kv == 0.5 * a.gains.kv


def test_the_demo_copies_its_example_plays_it_and_writes_pages(tmp_path, monkeypatch):
    """The second run uses the pages of the first run."""
    monkeypatch.chdir(tmp_path)
    seen = []
    done = demo.demonstrate(tmp_path, page=True, on_progress=lambda *at: seen.append(at[:2]))
    assert done.good and seen == [(0, 2), (1, 2), (2, 2)]
    assert all(path.is_file() for path in done.files) and len(done.files) == 6
    text = (tmp_path / demo.PAGE).read_text(encoding="utf-8")
    assert "demo-feed-forward tracked best" in text and "demo-pd was" in text
    assert "<canvas" in (tmp_path / demo.ARM).read_text(encoding="utf-8")
    with pytest.raises(BadInput, match="--force"):
        demo.demonstrate(tmp_path, page=True)


def test_a_file_of_the_examples_name_is_never_replaced(tmp_path):
    (tmp_path / demo.EXAMPLE.name).write_text("mine")
    with pytest.raises(BadInput, match="is there already and is not the example"):
        demo.demonstrate(tmp_path)
    assert (tmp_path / demo.EXAMPLE.name).read_text() == "mine" and len(list(tmp_path.iterdir())) == 1
    shutil.copy(demo.EXAMPLE, tmp_path)
    assert demo._copied(demo.EXAMPLE, tmp_path) == tmp_path / demo.EXAMPLE.name
