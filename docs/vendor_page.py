"""docs/vendor.md, from the last results of ST's drivers and from the mistakes that the virtual chip refuses. Run
`python docs/vendor_page.py`, or `make vendor`, which also makes the page."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from assurance.vendor.run import RESULTS, SOURCES, TABLE, clones, models  # noqa: E402
from femtorque.hil.chip.refused_mistakes import STRICTER  # noqa: E402
from links import filled  # noqa: E402

PAGE = ROOT / "docs" / "vendor.md"

PRESENT = "The virtual chips are as they were then, but for comments."
EARLIER = "The virtual chips have changed since: these results are of earlier ones, until `make vendor` has run again."

WHAT = {
    "fdcan.c": "two controllers on one wire: FIFO and queue, 64 bytes with faster data, filters, extended, full, "
               "order, a lost frame, nobody answers, abort, stop, start",
    "bxcan.c": "two controllers on one wire: order of requests and of names, both FIFOs, extended, overrun, ESR when "
               "nobody answers, abort, stop, start, sleep",
    "timer.c": "repetition counter and preload, centred counting on either side, break, with automatic return and "
               "without",
    "adc.c": "injected channels by TIM1's trigger: calibration, values, order, moments, stop",
    "uart.c": "half duplex with DMA: echo, answer, end of sending, idle line, waiting in vain",
    "flash.c": "keys and locks, erasing and programming and their times, what is refused, the brown-out level",
    "iwdg.c": "feeding, the reset and its time, reset flags",
}


def render() -> str:
    """Return docs/vendor.md with its tables made from the results."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    programs = results["programs"]
    rows = "\n".join(f"| {name} | {WHAT[TABLE[name].file]} | {row['found']} of {row['awaited']}"
                     f"{': ' + row['refused'] if row['refused'] else ''} |" for name, row in programs.items())
    differ = [name for name, row in programs.items() if row["refused"] or row["found"] != row["awaited"]]
    outcome = f"Different: {', '.join(differ)}." if differ else "Nothing differs."
    return filled(PAGE, {
        "clones": "\n".join(clones(Path("vendor"), SOURCES)) + "\n",
        "commits": "".join(f"- `{name}` {commit}\n" for name, commit in results["commits"].items()),
        "results": f"| program | tries | as awaited |\n|---|---|---|\n{rows}\n\n"
                   f"{outcome} {PRESENT if results['models'] == models() else EARLIER}\n",
        "stricter": "| name | refused |\n|---|---|\n" + "".join(
            f"| {name} | {text} |\n" for name, text in STRICTER.items())})


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8", newline="\n")
