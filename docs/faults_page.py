"""docs/faults.md, from the tables of femtorque.codegen.wire.messages: run `python docs/faults_page.py` after changing
them."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from femtorque.codegen.control.constants import BUS_HIGH, BUS_LOW, FOLLOWING_S, HOST_LOST, STOP_S  # noqa: E402
from femtorque.codegen.control.drives import SILENT_S, SILENT_TICKS  # noqa: E402
from femtorque.codegen.control.park import SAGS_S  # noqa: E402
from femtorque.codegen.mechanism import Control, Safety  # noqa: E402
from femtorque.codegen.wire import messages  # noqa: E402
from femtorque.codegen.wire.in_words import class_of  # noqa: E402

PAGE = ROOT / "docs" / "faults.md"

HEAD = """\
# States, faults and refusals

Made from the tables of `codegen/wire/messages.py` by `python docs/faults_page.py`; do not edit.

A fault is latched: the first one is kept with the first joint that it concerns, named by host and log, told in IDENT
after a reset, and cleared by CLEAR once its cause is gone. A limit is no fault: `limits` in STATUS says which one acts
while the motion goes on. What is asked for in a state that does not allow it, or without what it needs, is refused by
name and changes nothing.

## What is done about a fault

`[safety]` of the mechanism file chooses one reaction for each class; the first one listed is the default, but for
`host`: there sensors, drivers and law are as good as before, so an arm that has a pose to lie in goes there, one with a
joint whose weight is more than its friction holds is held by default, and any other one coasts. `femtorque check` says
what falls when. A fault that comes while another is latched can only take away more: park gives way to hold, hold to
brake, brake to coast. While the motors brake,
faults of supply, drivers, buses, currents and memory go on counting; those of encoders and motion do not, as braking
rests on no encoder and makes no torque of its own, nor do HOST_LOST and OVERLOAD, which are there to stop a motion.

    [safety]
    host = "coast"         # though gravity loads it: it drops its load when the cable is pulled
    motion = "brake"

Holding brakes, closed without power, hang on one output of the board (`[brake]` of its file) and are used where the
mechanism file gives their times:

    [safety.brake]
    release_s = 0.03       # until they are open: START, JOG and FLOAT are refused for so long after ARM
    engage_s = 0.05        # until they have closed: for so long the motors go on holding

They open once the joints are held, by ARM or SEEK, and stay closed in PROBE, which holds none. DISARM, and faults that
the board waits with until the arm stands (HOST_LOST, KNOT) or that are to be held, first let them close and switch the
outputs off when they have. With an e-stop, a reset and every other fault they are let go together with the outputs: the
arm falls for `engage_s` then, so keep that short, and wire their supply through the e-stop loop.

## Lying down

    [safety.park]
    pose = { shoulder = -1.57, elbow = 0.0, wrist = 0.0 }
    heat = true            # for OVER_TEMPERATURE and OVERLOAD too
    supply_v = 20.0        # and where the supply stays below this for 20 ms: LOW_SUPPLY

With a pose the board itself brings the arm there before it lets go: for a lost host or a bad knot, and for heat and a
low supply where the file asks for it. It stops on its path first; then every joint goes to its place by the governor of
[FOLLOW](live.md), at `speed` times the velocity, acceleration and jerk that targets sent live may ask for, with the
torque that this motion needs. Each joint stays between where it was and its place, so that no limit is left on the way;
`check` refuses a pose outside, and closed loops, which do not close everywhere within limits. When the joints are there
brakes close, where there are some, and the outputs go off. Half as long again as the longest way takes, and 0.5 s, is
the most that all of it may take: then the motors are let go wherever the joints are.

The arm moves without being asked to, and nobody looks at what stands in the way: keep it free of people and things.
With [`[feel]`](lab.md#feeling-a-touch) and a reaction but "none" an arm that is touched on its way waits. With "stop"
it is held where it was touched; with "float" and "return" a hand moves it aside. Letting go would drop the arm onto
the one who touches it, and holding still presses no harder. When it has been at rest for a second and nothing was
felt, it goes on. For want of a host alone (HOST_LOST, KNOT) it waits for as long as the touch lasts, since nothing
else is wrong. Heat and a low supply do not wait: the time to lie down goes on, and at its end the motors are let go,
touched or not. So it is, too, if they come later. An arm that misjudges its weight by more than half of a joint's
`contact` feels that as a touch when it stands: identify it first.

Choose a pose that the arm stays in without motors; `check` says what gravity loads there. E-stop and DISARM end
it at once, and so does, as its class says, every fault of encoders, drives, drivers, currents
or the arm's motion: an arm that cannot feel or drive a joint moves no further. CLEAR is refused on the way (PARKING).

"""


def render() -> str:
    """The whole page."""
    control, safety = Control(), Safety()
    parts = [HEAD,
             _table(("reaction", "what it does"), [(f"`{k}`", doc) for k, (_, doc) in messages.REACTIONS.items()]),
             "\n", _table(("class", "reactions", "about"), [
                 (f"`{name}`", ", ".join(f"`{r}`" for r in allowed), about)
                 for name, (_, allowed, about) in messages.FAULT_CLASSES.items()]),
             _after(control), NOT_SEEN, "\n## States\n\n",
             _table(("state", "what it is"), [(k, doc) for k, (_, doc) in messages.STATES.items()]),
             "\n## Faults\n\n",
             _table(("fault", "number", "class", "what it means", "found", "what to do"), [
                 (name, str(number), class_of(name), meaning, _found(safety).get(name, "at start"), mend)
                 for name, (number, meaning, mend) in messages.FAULTS.items() if number]),
             "\n## Refusals\n\n",
             _table(("refusal", "number", "what it means", "what to do"), [
                 (name, str(number), meaning, mend) for name,
                 (number, meaning, mend) in messages.REFUSALS.items() if number]),
             "\n## Limits\n\n",
             _table(("limit", "what acts"), [(k, doc) for k, (_, doc) in messages.LIMITS.items()])]
    return "".join(parts)


NOT_SEEN = """
What is not seen: an encoder whose lines both fall off while its joint is held reads as a joint at rest. Nothing
contradicts it until the joint has been given all that it may have for `stuck_s` (ENCODER_STUCK), or has to move
(FOLLOWING): a load that changes meanwhile moves the joint unseen. Current and duty cannot tell the two apart without
knowing the load. An e-stop that software samples (`odrive-v3.6`, and the tick's own look on every board) is believed
at once, on one sample: interference stops the arm rather than not. A kilohm and 100 nF at the pin keep what PWM
couples into the loop away from it.

On a bus with drives a fault is named by what the board sees, and one name stands for several causes. A drive that is
unplugged, without supply or unheard because a node floods the bus is DRIVE_SILENT; one that sends under another's name
is ENCODER; wires that touch are BUS_OFF; a drive on another scale is not armed (DRIVE_SETTING). Late or lost answers
and a missing terminator are counted and shown by `monitor` long before they are a fault.
[Drives](drives.md#drives-on-the-virtual-board) has the table, cause by cause.

With live targets the joints of closed loops brake before a singular pose, and the limit LOOPS in FOLLOWED says so
([closed loops](live.md#closed-loops)). A streamed motion has no such bound, and neither has a mechanism with modes:
there the pose is the fault LOOPS_SINGULAR.
"""


def _after(control: Control) -> str:
    lost = control.host_timeout_s * HOST_LOST
    return f"""
A host that is silent for `host_timeout_s` ({control.host_timeout_s:g} s) ends in two stages: the arm is stopped along
its path within {STOP_S:g} s and held (a floating arm is held where it is, a jog ends, homing and probing end without
power); after {HOST_LOST} times that ({lost:g} s) it is the fault HOST_LOST.

## An arm whose host is gone

With the reaction `hold`, and without brakes that hold it, an arm whose host is lost is in the state HELD: the joints
are held as in HOLD, and the fault HOST_LOST is reported, counted and remembered. The next host takes the arm over by
ARM: the state is HOLD then, the fault is over, and the outputs are off for no moment. Nothing else is looked at before,
as nothing changes for the motors: the causes for which ARM is refused elsewhere are watched in HELD as in HOLD. DISARM
lets the arm go. Every other command is refused (WRONG_STATE), and so is CLEAR, which would let go.

- A host of another mechanism or version can do nothing: its frames carry another tag, and `femtorque` compares the
  whole digest first. A host that only looks (`monitor`), or does not arm, changes nothing.
- Nothing that the last host sent is played. The board has forgotten its knots and takes no new ones, nor targets; after
  ARM the arm stands until there is a START, FOLLOW, JOG or FLOAT. Gains that the last host overlaid and the mode are as
  they were, and STATUS shows both.
- From ARM on the board listens for the new host as it did for the last one.
- From the command line `femtorque float` and Ctrl-C let a held arm go while somebody supports it.
- Any other fault has the effect that it has in HOLD, takes the place of HOST_LOST, and is cleared as everywhere: after
  CLEAR the arm is without power.

With brakes the arm is in FAULT, and its brakes hold it through CLEAR and ARM. An arm with a pose to lie in goes there;
on its way CLEAR and ARM are refused, and once it lies they lift it from there. An arm that coasts or brakes has been
let go already.
"""


def _found(safety: Safety) -> dict[str, str]:
    """When each fault is found, where that is not at the start alone."""
    tick, slow = "in the tick", "between two ticks"
    return {
        "CLOCK": "at start; a crystal that stops later resets the chip into it",
        "CODE": "at start, and round and round while running",
        "STACK": slow,
        "SUPPLY": "at once: outputs safe, then a reset into it; at start, if it is not there within 0.2 s",
        "CONFIGURATION": "at start, and round and round while running",
        "TICK_OVERRUN": tick, "NOT_FINITE": tick, "ENCODER": tick, "OVERSPEED": tick, "POSITION": tick, "BREAK": tick,
        "OVER_CURRENT": "in the current loop", "CURRENT_SENSOR": tick, "CURRENT_SIGN": "in the current loop",
        "CURRENT_LOOP": "in the current loop",
        "LOW_SUPPLY": f"after {SAGS_S:g} s below `supply_v` of [safety.park]; the arm stops on its path first",
        "UNDER_VOLTAGE": f"{tick}, below {BUS_LOW:.0%} of `bus_voltage`",
        "OVER_VOLTAGE": f"{tick}, above {BUS_HIGH:.0%} of `bus_voltage`, or above what the board can measure",
        "FOLLOWING": f"after {FOLLOWING_S:g} s too far away",
        "ENCODER_STUCK": f"after `stuck_s` ({safety.stuck_s:g} s) without a count",
        "OVER_TEMPERATURE": f"{slow}, above `temperature_max` ({safety.temperature_max:g} deg C)",
        "OVERLOAD": f"{slow}, by a model of the current's square; the arm stops on its path first",
        "DRIVER": slow, "KNOT": "when it comes; the arm stops on its path first",
        "HOST_LOST": "see above", "LOOPS_SINGULAR": tick, "MODE": tick,
        "DRIVE_FAULT": tick, "BUS_OFF": tick,
        "DRIVE_SILENT": f"after {SILENT_S:g} s without an answer, {SILENT_TICKS} ticks at least",
        "HOMING": "when `travel` or its time is used up",
        "HARD_FAULT": "at once: outputs safe, then a reset into it",
        "WATCHDOG": "by the watchdog, which resets into it",
    }


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") or " " for cell in row) + " |\n" for row in lines)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8", newline="\n")
