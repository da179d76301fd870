"""docs/vendor.md, from what ST's drivers found last and from what the virtual chip is stricter about: run
`python docs/vendor_page.py`, or `make vendor`, which does so too."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from assurance.vendor.run import RESULTS, SOURCES, TABLE, clones, models  # noqa: E402
from femtorque.hil.chip.refused_mistakes import STRICTER  # noqa: E402

PAGE = ROOT / "docs" / "vendor.md"

HEAD = """\
# ST's own drivers on the virtual chips

Made by `python docs/vendor_page.py` from `assurance/vendor/results.json` and `hil/chip/refused_mistakes.py`; do not
edit.

The virtual chips are written from reference manuals, and the firmware by the same hands. ST's drivers (HAL) are other
people's code, true on millions of chips. `make vendor VENDOR=<folder>` compiles small programs against them
(`assurance/vendor/programs/`), with ST's start-up code, runs them as images, and compares what the drivers return and
what the programs measure with what users of the HAL have on silicon. A difference ends it with status 1. The drivers
are not part of this tree:

{clones}

None of this is a chip: what a driver does not look at, no driver judges, and times are known as far as the programs
measure them.

## Results

With these commits:

{commits}

| program | tries | as awaited |
|---|---|---|
{rows}

{outcome} {age}

The ways of these drivers that the firmware does not have are held by `tests/hil/chip/test_vendors_ways.py`, without
them. Not tried: interrupts of DMA, of a USART's single bytes and of transmitted events, loop back, regular conversions,
timers' capture and slave modes, power-saving modes, all of which the models refuse; write and read protection of flash,
which they do not have.

## Stricter than silicon, on purpose

The virtual chip refuses these, and ends a run with a line that says what and where. Each has its test in
`tests/hil/chip/test_refused_mistakes.py`.

| name | refused |
|---|---|
{stricter}
"""

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
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    programs = results["programs"]
    rows = "\n".join(f"| {name} | {WHAT[TABLE[name].file]} | {row['found']} of {row['awaited']}"
                     f"{': ' + row['refused'] if row['refused'] else ''} |" for name, row in programs.items())
    differ = [name for name, row in programs.items() if row["refused"] or row["found"] != row["awaited"]]
    return HEAD.format(
        clones="\n".join(clones(Path("vendor"), SOURCES)), rows=rows,
        commits="\n".join(f"- `{name}` {commit}" for name, commit in results["commits"].items()),
        age=PRESENT if results["models"] == models() else EARLIER,
        outcome=f"Different: {', '.join(differ)}." if differ else "Nothing differs.",
        stricter="\n".join(f"| {name} | {text} |" for name, text in STRICTER.items()))


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8", newline="\n")
