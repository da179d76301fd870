"""Tests that the search for the cheapest step stores its results, and that a stored result gives the same graph without
a search."""


import numpy as np

from femtorque.codegen.emit import step
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.step import search
from tests.support.oracle import random_tree


def arm() -> Mechanism:
    return random_tree(np.random.default_rng(11), 5)


def test_a_step_is_searched_for_once_and_kept(tmp_path, monkeypatch):
    """Other processes use the stored result. A damaged file of a killed process is replaced."""
    monkeypatch.setenv("FEMTORQUE_CACHE", str(tmp_path))
    searched, cheapest = [], search.cheapest
    monkeypatch.setattr(search, "cheapest", lambda *how: searched.append(how) or cheapest(*how))
    first = step.render(Model.of(arm()))
    assert step.render(Model.of(arm())) == first and len(searched) == 1
    for file in tmp_path.rglob(search.FILE):
        file.write_text('{"choices": [')
    assert step.render(Model.of(arm())) == first and len(searched) == 2
    monkeypatch.setattr(search, "EFFORT", 0)
    step.render(Model.of(arm()))  # the cache key contains the effort of the search
    assert len(searched) == 3


def test_a_search_needs_no_cache(tmp_path, monkeypatch):
    kept = step.render(Model.of(arm()))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FEMTORQUE_CACHE", str(tmp_path / "file"))
    assert step.render(Model.of(arm())) == kept
