"""Tests that docs/faults.md says when each fault is found."""

import runpy

from femtorque.codegen.wire import messages
from tests.support.suite import ROOT


def test_that_every_fault_is_said_to_be_found_somewhere(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    known = made["_found"](made["Safety"]())
    assert set(known) <= set(messages.FAULTS)
    assert set(messages.FAULTS) - set(known) == {
        "NONE", "CHIP", "CRYSTAL", "PWM_UPDATE", "TICK_TIMER", "CONVERTER"}  # found at start alone
