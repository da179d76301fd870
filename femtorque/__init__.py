"""Firmware for a robot arm's motor board, and a moving arm, from the description of one robot mechanism.

The names in `__all__`, such as `Mechanism` and `Board`, are for scripts and notebooks. See examples/three_link.py.
`main` is the command line."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from femtorque.codegen.common import BadInput, Refused
    from femtorque.codegen.motion import Trajectory
    from femtorque.hil.play import virtual_board
    from femtorque.host.api import Mechanism, plan_motion, report
    from femtorque.host.board import Board

__version__ = "0.3.0"
__all__ = ["BadInput", "Board", "Mechanism", "Refused", "Trajectory", "plan_motion", "report", "virtual_board"]

# In a checkout, codegen, host and hil are packages in separate folders. An installed femtorque contains these packages.
__path__ += [str(place) for house in ("codegen", "host", "hil")
             if (place := Path(__file__).resolve().parents[1] / house / "femtorque").is_dir()]

_HOMES = {"BadInput": "femtorque.codegen.common.errors", "Refused": "femtorque.codegen.common.errors",
          "Mechanism": "femtorque.host.api", "Trajectory": "femtorque.codegen.motion.trajectory",
          "Board": "femtorque.host.board", "plan_motion": "femtorque.host.api", "report": "femtorque.host.api",
          "virtual_board": "femtorque.hil.play.api"}


def __getattr__(name: str) -> Any:
    """Import a name of the Python API at the name's first use, so that the command line starts quickly."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'femtorque' has no attribute {name!r}")


def main(arguments: list[str] | None = None) -> None:
    """Run one verb of the command line, as `femtorque VERB ...` does, and exit with its status."""
    try:
        from femtorque import command_line
    except KeyboardInterrupt:  # Ctrl-C during the import, before `main` can handle it
        sys.exit("femtorque: interrupted")
    command_line.main(arguments)
