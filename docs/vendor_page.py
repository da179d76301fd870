"""Makes docs/vendor.md from the last results of ST's drivers: `python docs/vendor_page.py`, also by `make vendor`."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from assurance.vendor.run import RESULTS, TABLE, models  # noqa: E402
from links import filled  # noqa: E402

PAGE = ROOT / "docs" / "vendor.md"

PRESENT = "Since these runs the virtual chips have not changed, except for comments."
EARLIER = "The virtual chips have changed since these runs: run `make vendor` again for results of the present chips."

WHAT = {
    "fdcan.c": "two controllers on one bus: FIFO and queue, 64 bytes with a faster data phase, filters, extended "
               "identifiers, full FIFO, order, lost frame, no acknowledge, abort, stop, start",
    "bxcan.c": "two controllers on one bus: order of requests and of identifiers, both FIFOs, extended identifiers, "
               "overrun, ESR without acknowledge, abort, stop, start, sleep",
    "timer.c": "repetition counter and preload, centre-aligned counting with updates at the top or bottom, break with "
               "and without automatic restart",
    "adc.c": "injected channels by TIM1's trigger: calibration, values, order, sampling times, stop",
    "uart.c": "half duplex with DMA: echo, answer, end of transmission, idle line, timeout",
    "flash.c": "keys and locks, erasing and programming and their durations, refused operations, brown-out level",
    "iwdg.c": "refresh, reset and its time, reset flags",
}


def render() -> str:
    """Return the text of docs/vendor.md, with tables from the last results."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    programs = results["programs"]
    found: dict[str, list[str]] = {}
    for name, row in programs.items():
        found.setdefault(TABLE[name].file, []).append(
            f"{name} {row['found']} of {row['awaited']}{': ' + row['refused'] if row['refused'] else ''}")
    rows = "\n".join(f"| {WHAT[file]} | {', '.join(those)} |" for file, those in found.items())
    differ = [name for name, row in programs.items() if row["refused"] or row["found"] != row["awaited"]]
    outcome = f"Different: {', '.join(differ)}." if differ else "Nothing differs."
    return filled(PAGE, {
        "commits": "".join(f"- `{name}` {commit}\n" for name, commit in results["commits"].items()),
        "results": f"| tested properties | program, results as expected |\n|---|---|\n{rows}\n\n"
                   f"{outcome} {PRESENT if results['models'] == models() else EARLIER}\n"})


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8", newline="\n")
