"""Where what was compiled once is kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """$FEMTORQUE_CACHE, else the user's cache directory."""
    if given := os.environ.get("FEMTORQUE_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "femtorque"
