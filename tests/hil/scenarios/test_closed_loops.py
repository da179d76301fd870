"""Comparison of closed mechanisms by their tracking errors, over several starts."""

from types import SimpleNamespace

import numpy as np
import pytest

from femtorque.hil.scenarios.closed_loops import LAWS, WAITS, Played, example


def result(*rms):
    return SimpleNamespace(tracking_rms=np.array(rms))


def test_errors_under_the_closed_law_cover_all_starts():
    board = {law: result(3.0, 4.0) for law in LAWS}
    played = Played("four_bar", *example("four_bar", brief=True), board, {}, (result(5.0, 4.0), result(1.0, 4.0)))
    assert played.rms("PD + lambda") == pytest.approx([np.sqrt(35.0 / 3.0), 4.0])
    assert played.rms("PD") == pytest.approx([3.0, 4.0])


def test_starts_differ_by_parts_of_a_tick():
    mechanism, _ = example("three_rrr")
    phases = np.array(WAITS) * mechanism.control.rate_hz % 1.0
    assert len(set(np.round(phases, 6))) == len(WAITS)
