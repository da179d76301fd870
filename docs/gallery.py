"""Makes pages of virtual runs for the documentation site in build/gallery: `python docs/gallery.py`."""

import os
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from femtorque import Mechanism, Trajectory, report, virtual_board  # noqa: E402

RUNS = ("three_link", "six_axis", "five_bar", "stewart", "flexible_arm", "so101_sts")
ARMS, OUT = Path("mechanisms"), Path("build", "gallery")


def main() -> None:
    """Play the motion of each example on a virtual board, and write its page."""
    os.chdir(ROOT)  # pages name the file of their motion
    OUT.mkdir(parents=True, exist_ok=True)
    for name in RUNS:
        arm = Mechanism.load(ARMS / f"{name}.toml")
        if arm.board and arm.board.use == "compute":  # drives no motors
            arm = replace(arm, board=replace(arm.board, use="f405rg-6"))
        log = OUT / f"{name}.mcap"
        with virtual_board(arm) as board:
            board.home()
            board.stream(Trajectory.load(ARMS / f"{name}.csv", arm), log=log)
        print(OUT / f"{name}.html", *report(log, OUT / f"{name}.html", force=True), sep="\n  ")


if __name__ == "__main__":
    main()
