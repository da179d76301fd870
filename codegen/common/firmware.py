"""Folders of the hand-written firmware and of the example mechanisms."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent  # the checkout, or the installed package
FIRMWARE, MECHANISMS = ROOT / "firmware", ROOT / "mechanisms"
PREBUILT = FIRMWARE / "images"  # images of examples, in a wheel alone: femtorque.codegen.toolchain.prebuilt

