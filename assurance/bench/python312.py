"""A Python 3.12 beside the one that runs the tests: ROS 2's wheels and newer releases of LeRobot are for it alone."""

import subprocess
import sys
from pathlib import Path


def found() -> Path | None:
    """An interpreter of 3.12 in the path, or among pyenv's; None where none is."""
    for name in ("python3.12", *sorted((Path.home() / ".pyenv" / "versions").glob("3.12*/bin/python"))):
        try:
            done = subprocess.run([name, "-c", "import sys, venv; print(sys.version_info[:2], sys.executable)"],
                                  capture_output=True, text=True, timeout=20)
        except OSError:
            continue
        if done.returncode == 0 and done.stdout.startswith("(3, 12) "):
            return Path(done.stdout.split(") ")[1].strip())
    return Path(sys.executable) if sys.version_info[:2] == (3, 12) else None
