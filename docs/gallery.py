"""Makes pages of virtual runs for the documentation site in build/gallery: `python docs/gallery.py`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from femtorque import Mechanism, Trajectory, report, virtual_board  # noqa: E402
from femtorque.codegen.common import MECHANISMS  # noqa: E402

RUNS = ("three_link", "six_axis", "five_bar", "stewart", "flexible_arm", "so101_sts")
OUT = ROOT / "build" / "gallery"


def main() -> None:
    """Play the motion of each example on a virtual board, and write its page."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name in RUNS:
        arm = Mechanism.load(MECHANISMS / f"{name}.toml")
        log = OUT / f"{name}.mcap"
        with virtual_board(arm) as board:
            board.home()
            board.stream(Trajectory.load(MECHANISMS / f"{name}.csv", arm), log=log)
        print(OUT / f"{name}.html", *report(log, OUT / f"{name}.html", force=True), sep="\n  ")


if __name__ == "__main__":
    main()
