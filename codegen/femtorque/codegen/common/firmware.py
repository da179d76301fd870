"""Folders of the hand-written firmware and of the example mechanisms."""

from pathlib import Path

_PACKAGES = Path(__file__).resolve().parents[2]  # codegen/femtorque of a checkout, or the installed package femtorque
_CHECKOUT = _PACKAGES.parents[1]
ROOT = _CHECKOUT if (_CHECKOUT / "firmware" / "platformio.ini").is_file() else _PACKAGES
FIRMWARE, MECHANISMS = ROOT / "firmware", ROOT / "mechanisms"
PREBUILT = FIRMWARE / "images"  # images of examples, included only in a wheel: femtorque.codegen.toolchain.prebuilt


def house(name: str) -> Path:
    """Return the folder of the package femtorque.<name>: codegen, host or hil."""
    return ROOT / name if ROOT == _PACKAGES else ROOT / name / "femtorque" / name
