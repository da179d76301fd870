"""The reference pages of docs/, made from the tables that the code itself runs on: `python docs/generate.py`.

A test holds the pages in the repository against what this makes: change a table, run it again.
"""

import inspect
import json
import math
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen  # noqa: E402
from pydantic import BaseModel  # noqa: E402

import femtorque  # noqa: E402
from femtorque.codegen.board import Board  # noqa: E402
from femtorque.codegen.board import line_divider  # noqa: E402
from femtorque.codegen.board import uses  # noqa: E402
from femtorque.codegen.board import board_names, load_board  # noqa: E402
from femtorque.codegen.board.chip import Can  # noqa: E402
from femtorque.codegen.board.fieldbus import bits  # noqa: E402
from femtorque.codegen.board.reader import BOARDS  # noqa: E402
from femtorque.codegen.board.voltage_levels import bears  # noqa: E402
from femtorque.codegen.drive import DATA_BITRATES  # noqa: E402
from femtorque.codegen.drive import Wire  # noqa: E402
from femtorque.codegen.drive import bus_load  # noqa: E402
from femtorque.codegen.drive import DRIVES, FAMILIES  # noqa: E402
from femtorque.codegen.drive.budget import servo_load  # noqa: E402
from femtorque.codegen.drive.catalogue import CATALOGUE, SERVOS  # noqa: E402
from femtorque.codegen.emit.blink import PATTERNS, WORDS  # noqa: E402
from femtorque.codegen.mechanism import MOTORS, Sold  # noqa: E402
from femtorque.codegen.mechanism.schema import LARGEST, MechanismTable, _table_in  # noqa: E402
from femtorque.codegen.wire import codec, messages  # noqa: E402

sys.path.insert(0, str(ROOT / "docs"))
from links import relinked  # noqa: E402

GENERATED = "<!-- made by docs/generate.py; change the tables it reads, not this page -->\n"

def pages() -> dict[str, str]:
    """{file name: text} of every page but faults.md, which docs.faults_page makes."""
    return {"mechanism-files.md": mechanism_files(), "boards.md": boards(), "protocol.md": protocol(), "api.md": api(),
            "drives.md": drives(), "motors.md": motors(), "package.md": package(),
            "../examples/three_link.ipynb": notebook(ROOT / "examples" / "three_link.py")}


def table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Markdown; a bar in a cell is escaped."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in lines) + "\n"


# -- package index ----------------------------------------------------------------------------------------------------


def package() -> str:
    """README for a package index, where the files beside it are not: links go to the repository that pyproject.toml
    names, and are their words alone while it names none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project.get("urls", {}).get("Repository")

    def moved(target: str) -> str | None:
        if target.startswith(("https://", "http://")):
            return target
        return None if repository is None else f"{repository}/blob/main/{target}"

    return GENERATED + relinked((ROOT / "README.md").read_text(encoding="utf-8"), moved)


# -- notebook ---------------------------------------------------------------------------------------------------------


def notebook(script: Path) -> str:
    """A script in percent format as a notebook of Jupyter's."""
    cells: list[dict[str, Any]] = []
    for number, cell in enumerate(re.split(r"^# %%", script.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]):
        head, _, text = cell.partition("\n")
        words = head.strip() == "[markdown]"
        lines = [re.sub(r"^# ?", "", line) if words else line for line in text.strip().split("\n")]
        own: dict[str, Any] = {} if words else {"execution_count": None, "outputs": []}
        cells.append({"cell_type": "markdown" if words else "code", "id": f"cell-{number}", "metadata": {}, **own,
                      "source": [f"{line}\n" for line in lines[:-1]] + lines[-1:]})
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
             "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


# -- drives -----------------------------------------------------------------------------------------------------------


def drives() -> str:
    """The catalogue, and how much of a bus it takes."""
    on_can = sorted((family for family in FAMILIES.values() if family.wire is None),
                    key=lambda family: family.notes.count("no"))
    torques = _listed([family.title for family in on_can if not family.torque_known])
    places = _listed([family.title for family in on_can if not family.position_known])
    text = GENERATED + """# Drives on a bus

Arms are built today with drives that close `kp (q_d - q) + kd (q_d' - q') + torque` themselves and are told these five
over CAN. (Feetech's servos and Dynamixel's are [at the end](#servos-on-one-wire).) A joint of a
[mechanism file](mechanism-files.md) names one:

```toml
[[bus]]
name = "can1"
kind = "can-fd"

[[joint]]
name = "elbow"
drive = { type = "damiao-4340", bus = "can1", id = 3 }
```

`femtorque check` counts the bits of every frame, the stuffed ones too, says how busy each bus is and how long after its
tick a command is with its drive, and refuses a rate that the bus does not bear. `build` makes the firmware for Damiao's
drives, on classic CAN and on CAN FD, for RobStride's in their own protocol, for CubeMars' AK drives in their MIT mode
(those of the generation V3 have other frames, and do not understand these), for drives with the mini-cheetah's
firmware, for moteus controllers on CAN FD, and for ODrive's S1, Pro and Micro by CANSimple.

The bus has the name that the board file gives it (`[can]` of [boards](boards.md)); pins, controller and the parts of a
bit follow. No bit rate is made nearly: one that the controller's clock does not give exactly is refused.

## What the board does with drives

Each tick sends one frame to every drive, and every drive answers with its state. What a tick computes leaves at the
start of the next one, so that the time between two commands does not depend on how long a tick computes. Frames that
have not gone by then are dropped: a late command is worth nothing. With `pd = "board"` drives get torques alone; with
`pd = "drive"`, position, velocity, kp, kd and the torque of the motion, about the middle of the interval in which they
hold them. A coarse torque field gets what rounding left over in the tick before, so that no torque is lost on average.

With the outputs off the frame is the one that disables a drive, in every tick, whatever the drive said last. It is
answered, too, which tells where the joint is. Until a drive has said how it is set, every other frame asks: its ranges,
its mode, its own time limit without commands, which is set to 20 ms (10 ticks at least) and read back, not stored; of a
Damiao the firmware too, which `monitor` shows and `drive.firmware` can fix (the number of its register `sw_ver`), and
of a moteus (three numbers, as `1.1.0`), and of an ODrive that it is no older. The other families tell the bus no
firmware: RobStride keeps its own as a text that only its maker's program reads. A drive
that is set otherwise than the file says is not armed (`DRIVE_SETTING`), and both values are told. A drive that forgets
without power what was set is asked for it once more when it says that it is enabled, and commanded only then: a dip of
its supply that is too short for it to be missed has cost it its time limit (`DRIVE_FAULT`). Until then it gives no
torque: what carries the arm must carry it for these few ticks, too.

""" + table(("family", "tells its ranges", "tells whether it is enabled", "its own error", "without commands"),
                [(family.title, *family.notes) for family in on_can]) + f"""
Ranges that drives do not report show in motion. The position of a RobStride's states is held against the one that a
parameter has without a scale, at first and four times a second while the outputs are off: away from zero a wrong range
shows. The velocities of all drives that cannot be asked for their range are summed up and held against their positions:
a range that is off by a fifth shows as soon as the joint has gone half a radian, by hand too. What no one can know
before it moves is the range of the torque of {torques}, and the range of position of
{places}: turn the joint by hand by an angle that you know (`femtorque bringup` asks for it), and let
it carry a weight that you know.

A Damiao answers under the identifier in its register 7, `MST_ID`, which is 0 as it comes. `reply` is what the file
expects, `id` + 16 where it says nothing, as OpenArm's tools set it: give each drive its own `MST_ID` with the maker's
program, or, of one drive alone on its bus, write `reply = 0`. Until then its frames count as nobody's, and
`DRIVE_SILENT` says how many have come. It also says when the board hears nothing but errors on a bus, as where
something holds it dominant while the board was not sending: then its controller is not off.

What a CubeMars drive's error number means depends on its firmware: the words are those of the manual V1.0.8 (1 over
temperature to 6 phase unbalance); some count as VESC does (1 over voltage, 2 under voltage, 3 gate driver, 4 over
current, 5 and 6 too hot), and no reply says which it is. A RobStride that cannot read a parameter says so, and is not
armed (`DRIVE_SETTING`).

A drive that does not tell whether it is enabled is taken to be so once it has answered four frames that say so. When
one stops by itself, its joint stays behind, and that is what is noticed. `femtorque check` names the joints whose
drives do not stop by themselves: the e-stop loop must cut their supply, not only tell the board.

The mini-cheetah's firmware of 2021 to July 2023 (`fsm.c` before commit 3586419) stops commutating after `CAN_TIMEOUT`
and leaves the three voltages as they are: the motor holds what it held, less of it the farther it is turned, brakes
what turns it, and gets warm. Until May 2022 (b983cca) it then does not leave its mode by the frame that says so,
either, because its measure of the current stands still too. With the outputs off every eighth frame to such a drive is
therefore a command of nothing, which lets it commutate, and leave. While the board is dead or the cable is off nothing
but its supply ends it. Later firmware goes on with the next command.

A moteus drives any motor. `torque` is that motor's, behind its gear, and stands in each command as the largest that it
may give. `kp` and `kd` are its own configuration, over 2 pi: `servo.pid_position.kp` is in N m a turn. They come as
0.64 N m/rad and 0.008 N m s/rad, which is next to nothing: configure what your arm needs and write that into the file;
commands take shares of it, in steps of 1/127. A file that leaves the loop to the drive without naming both is refused,
and `init` writes `pd = "board"`, which needs neither. The planning of its own that it comes with (50 turns/s^2) each
command switches off. Its target moves on with the velocity of a command until the next one comes, so each begins half a
tick before its middle. Its number is 1 to 118; on a bus with numbers up to 7 five of them go at 1 kHz, as their answers
are short, else four. The board is number 119 (0x77), so that what the maker's tools ask on the same bus (as number 0)
is not taken for its own.

Its registers tell little of its configuration: the board asks for the version of the registers' meaning, the firmware
and, where the joint has its zero at power-up, for the home state, which must be 2: a position of the output, by
`motor_position.output.reference_source`. The rest no register tells, and it is not read when the board arms: it is
compared when the arm is brought up, by what the maker's tool prints through its own adapter.

    moteus_tool -t 1,2,3 --dump-config > told.txt
    femtorque bringup arm.toml --port auto --settings told.txt --write

Nothing moves, and nothing is written, if one is another than the file says; each is named. By value: `kp` and `kd` of
`servo.pid_position` (with `pd = "drive"`), its `sign`, `ilimit` (0, or an integral fights the model) and
`max_desired_rate` (0), `servo.inertia_feedforward` (0), `servo.voltage_mode_control` and `fixed_voltage_mode` (0),
`servo.max_position_slip` and `max_velocity_slip` (nan), `servo.max_velocity` (no less than the joint's),
`servo.timeout_mode` (0, 12 or 15), and `servopos.position_min` and `_max` (0.01 turns as it comes, which the drive
holds itself: nan, or not within the joint's limits). What is the motor's own is held by marks, which `--write` puts
into the file as `configured`, and which belong to the image: poles, phases, Kv, the three sources of position, the one
that commutates, the output, the gear inside, the largest current, the two numbers of the time-out. From then on one
that is another is named; its old value is not kept. Who means it to be another takes `configured` out of the file.
Until the next time nobody notices what is changed in a drive; nor does the tool tell whether what it prints is stored
there, or will be forgotten with the supply. The file must be of that day: print it anew each time.

After 20 ms without a command, a time that each command brings, it is in its mode 11. As it comes it then damps, by the
share of kd that it was given last (none with `pd = "board"`) and with 5 N m at most, and it obeys nothing until it is
stopped. The board stops it in every tick in which its outputs are off, and arms only drives that say that they are
stopped. A stop forgets faults too: the board reports the last one until it arms again.

ODrive's S1, Pro and Micro (firmware 0.6) take torques by CANSimple, and the board closes the loop. (The board
`odrive-v3.6` is another thing: there this firmware runs on ODrive's own hardware.) Those with firmware 0.5 are not
armed, and no key of the file changes that. They do nothing when they are asked for their version (message 0,
`can_simple.cpp`), so a wrong file would show nowhere; errors of motor, encoder and controller are in messages of
their own there, of which 0.6 has none, and a heartbeat's last bytes mean something else. ARM is refused
(`DRIVE_SETTING`), and `monitor` and `bringup` say why: "it does not tell its version, as those with firmware 0.5".
Each tick brings one its torque, and a remote frame that asks where it is; the answer is what it knows at that moment.
Of three at 1 kHz the law has positions that are 0.71, 0.66 and 0.36 ms old, and less in the one tick of ten with
heartbeats, as questions come later there; `check` bounds it. The law compares each with the target of its own time, by
an age that the image has as a constant ([below](#a-position-has-an-age)). Whether it is in closed loop, and its errors,
come unasked by heartbeats: the board knows of an error 10 ms late, gives no torque for as long after it has enabled a
drive, and takes one for silent that has sent none for 50 ms. Where the heartbeats of all three drives of a bus meet in
one tick, its last frames may go one tick later. While the outputs are off, frames that make it idle take turns with its
mode (torque, passed through) and with a torque of none.

An ODrive takes any motor: `torque` is that motor's, `gear` the stage behind it (`mechanisms/odrive_arm.toml` is an arm
of three). Its owner sets, and nobody can ask for
on the bus, as the numbers for it (SDO) are others in each firmware:

- `can.config.baud_rate` 1000000, `axis0.config.can.node_id` as the file's `id`, 0 to 62;
- `axis0.config.can.heartbeat_msg_rate_ms` 10, which comes as 100: with that it is silent. The other rates, as
  `encoder_msg_rate_ms`, 0: what comes unasked is taken for an answer (the drive's `late` counts);
- `axis0.config.enable_watchdog` True and `watchdog_timeout` 0.02. It comes without: then it goes on with its last
  torque when the board is silent, and the loop of the e-stop must cut its supply;
- `axis0.controller.config.enable_torque_mode_vel_limit` False, or `vel_limit` and `vel_gain` such that it never acts.
  As it comes torque fades towards `vel_limit`, which is `FOLLOWING` or less damping than was asked for;
- `vel_limit`, above which it stops with an error, limits of current and of torque, and the motor's torque constant: a
  wrong one makes every torque wrong by its factor.

Nor does it say whether it has kept its zero: as it comes it counts from where it was switched on. So its joint is told
where it is (`home`) after each power-up, and has no `zero`. A torque is sent as the four bytes that it has, as many
programs do; the maker's table (DBC) gives the message eight.

Drives keep no turns without power: one reads within half a turn of its zero when it comes up. A joint whose limits are
within half a turn of zero has its zero thereby; any other one is told where it is (`home`), as after its drive
was silent, or was switched on anew, which shows in its not being enabled any more: then it is asked for all its
settings again, too, since its time limit is not stored in it. Where the drive's own zero is not the joint's, `zero` is
what it tells there, in rad of its output: `femtorque bringup --zero --write` puts it into the file, beside `sign`. In
the drive nothing is stored.

Where a belt or another stage is between a drive and its joint, `gear` has the turns of the drive's output to one turn
of the joint, above zero: 3 for a belt of 3:1. Which way the drive turns is `sign`'s to say. Limits, gains and friction
are the joint's as ever; `position`, `velocity`, `torque`, `kp`, `kd`, `inertia` and `zero` are the drive's own, as its
maker tells them. Behind a gear of 3 a joint has a third of the drive's range of position and of its speed, three times
its torque, nine times its kp, its kd and its rotor's inertia. A turn of the drive is a third of the joint's: only a
joint whose limits are within a sixth of a turn of zero has its zero at power-up, `check` names the others. What a drive
has stored is held against its own ranges, and both values are told in its own units. `bringup` finds the gear when the
joint is turned by hand by the angle that it asks for, and drives no joint whose gear is not right yet: `--write` puts
the nearest usual gear into the file (whole numbers up to 10, halves up to 5, 1:2 and 1:4), as far as it is within 5 %
of what the hand has shown, which is told. Of any other count the teeth.

Faults: `DRIVE_SILENT` after 5 ms without an answer (5 ticks at least), `DRIVE_FAULT` for its own error or when it is
not enabled any more, `BUS_OFF`. Each disables all drives. With the reaction `brake` the others damp, by `kv` as far as
they can. An e-stop is seen by the tick, by software, and disables them with frames: where that is not enough the loop
must cut their supply. When the board itself dies a drive stops by its own time limit, if it has one (see the table).

## What it is worth

![The same motion by PD of the drives, by a PC at 125 Hz, and by this firmware](drives.png)

The arm of `mechanisms/openarm_like.toml`, seven Damiao drives on one bus of CAN FD, plays the same motion with the same
gains on the virtual board: with the drives' PD alone (the image without feed-forward, at 1 kHz), by a PC that asks the
drives at 125 Hz where they are, adds the arm's weight and sends all of it over the bus, and by the image. The PC's loop
wakes late by 0.5 ms in the mean, needs 2 ms, and is held up for 10 ms once in a hundred rounds: chosen, not measured.

| | rms error in motion, mrad | at rest, worst, mrad | no host for 0.4 s: off the path, rad; fastest, rad/s |
| --- | --- | --- | --- |
| PD of the drives | 3.4, 41.6, 20.5, 19.4, 5.3, 10.1, 7.0 | 21.0 | |
| PC at 125 Hz with gravity | 5.9, 5.5, 6.6, 10.9, 6.5, 4.7, 5.6 | 0.72 | 0.33; 15.5 |
| this firmware | 0.20, 0.30, 0.40, 0.14, 0.22, 0.24, 0.33 | 0.21 | 0.0013; 2.1 |
| a board without delay that knows the arm exactly | 0.05, 0.07, 0.05, 0.06, 0.06, 0.05, 0.05 | 0.38 | |

The last row is told in the drives' fields, whose steps of position are 0.38 mrad: less cannot be held at rest. Planned
are at most 2.2 rad/s: the drives keep the PC's last command while it does nothing, and leap after it; the board stops
on its path and goes on from there (`--resume`). Arm and model are the same here, without friction or an unknown
load: what real arms keep of this is not known. The whole tick takes 5477 instructions in the mean, the bus is busy for
70 % of the time. `make bench` measures all of it.

Five moteus controllers in the first five joints of that arm, on one bus at 1 kHz, play the same motion (the bus is busy
for 88 % of the time); the PC sends the frames of the `moteus` package. Root mean squares in motion, mrad: PD of the
drives 3.6, 42.0, 21.1, 19.4, 1.5; the PC at 125 Hz 4.1, 3.4, 4.8, 9.5, 3.1; this firmware 0.04, 0.09, 0.19, 0.36,
0.46 (`assurance/campaigns/test_five_moteus.py`).

### Beside set points of a PC

Most arms of these three families get set points from a PC over a USB adapter, and each drive closes its own loop. The
same virtual drives, wires and joints (`aloha_like` with its backlash), the same motions, root mean squares of the whole
motion in mrad, true positions (`assurance/campaigns/test_from_a_pc.py`):

| arm | by | error | beside its own delay |
| --- | --- | --- | --- |
| `mechanisms/aloha_like.toml`, Dynamixel | position mode, 50 Hz | 131, 117, 84, 113, 50, 127 | 39, 90, 40, 13, 15, 36 |
| | PD alone, 1 kHz | 26.3, 45.2, 22.7, 17.9, 11.4, 20.1 | |
| | this firmware | 2.1, 1.0, 1.0, 1.6, 0.7, 1.8 | |
| five moteus, as above | position and velocity, 50 Hz | 3.7, 37.8, 17.8, 18.8, 2.4 | 7.4, 33.6, 18.3, 16.6, 7.6 |
| | PD of the drives, 1 kHz | 3.1, 38.0, 18.4, 17.5, 1.4 | |
| | this firmware | 0.03, 0.08, 0.17, 0.32, 0.40 | |
| `mechanisms/odrive_arm.toml`, ODrive | position mode, 100 Hz | 107, 76, 80 | 23, 41, 11 |
| | the same with velocity, the file's gains | 22.3, 18.2, 16.2 | 10.8, 15.1, 8.8 |
| | PD alone, 1 kHz | 13.4, 14.7, 10.1 | |
| | this firmware | 1.3, 0.9, 0.5 | |

Beside its own delay: errors beside the motion as it was one fixed time before, the best one, since a follower that is
late alone is not off its path. Rates and what is sent: ALOHA's own program (`DT = 0.02`, goal positions without a
profile); moteus' example of several drives (`multiservo.py`, 20 ms); ros2_control's own rate and ODrive's plugin for
it, which sends positions alone for a controller of positions. Packets are those of `dynamixel-sdk` and `moteus`,
messages those of the table in `odrive-can`. Gains are the drives' as they come (Dynamixel's P 800; ODrive's 20, 1/6 and
1/3, with its integral), but moteus' are the file's, since those that it comes with hold no arm. ODrive's limit of
velocity, 2 turns/s as it comes, is raised. Chosen: the PC's lateness as above, and 1 ms for one way of the adapter. In
which steps of duty a Dynamixel's P gain is, no manual says: `hil/drives/families/dynamixel/servo.py` has what it was
held against.

## A position has an age

Where the board closes the loop over a bus (`pd = "board"`, servos on PWM), the position that the law has is as old as
the wire makes it. The image has that age of each joint, by its place on the bus, as frames of usual contents take it:
`codegen/drive/budget.py` counts them in the order in which identifiers let them pass. The law then compares position
and velocity with those of the target at that time. A target that rests has no age. The time for which a drive or servo
has had its position itself before it is asked is not in it: of Feetech's and Dynamixel's up to a millisecond.

True errors on the virtual board, mrad rms, without regard to the age and with it:

| arm | without | with |
| --- | --- | --- |
| `odrive_arm`, 0.70, 0.65 and 0.38 ms | 1.28, 0.92, 0.53 | 0.14, 0.05, 0.06 |
| the same, age taken a quarter of a tick too short | | 0.51, 0.38, 0.37 |
| the same, a quarter too long | | 0.39, 0.30, 0.27 |
| `aloha_like`, 0.74 ms | 2.1, 1.0, 1.0, 1.6, 0.7, 1.8 | 1.2, 0.5, 0.5, 1.0, 0.4, 1.1 |
| `so101_sts`, with backlash, 2.1 ms | 6.7, 3.4, 2.9, 2.4, 6.8, 6.5 | 5.9, 3.0, 2.5, 2.2, 6.9, 6.6 |

Arms whose drives close their loops need none of it: a drive knows where it is.

## Drives on the virtual board

`femtorque hil` runs the same image on a model of the chip's controller, a wire on which every frame takes its bits and
the lowest identifier goes first, and models of the drives: their frames, written from other sources than the firmware's
and tried with other people's clients (`damiao-motor`, `robstride`, `moteus`); inner loops at 20 to 40 kHz with a
current that follows at 1 kHz, of a moteus at 200 Hz, as its calibration sets it; positions of one turn; own time
limits, faults and heat. Of the drives' current loops and rotors little is published: what was chosen is marked in
`hil/drives/`. No drive has been on a real bus with this firmware.
What goes wrong there has names for `--fault`:

| `--fault` | what goes wrong | what the board makes of it |
| --- | --- | --- |
| `drive-silent` | a drive's cable comes off | `DRIVE_SILENT` |
| `drive-late` | a drive answers 1.5 ms late | goes on; the drive's `late` counts |
| `drive-rescaled` | a drive is set to another range | not armed, `DRIVE_SETTING`: both values |
| `drive-ails` | a drive is too hot | `DRIVE_FAULT`, with the drive's own word for it |
| `drive-restarts` | a drive has no supply for 0.2 s | `DRIVE_SILENT`; it has to be placed again |
| `bus-babble` | a node floods the bus | `DRIVE_SILENT`: no answer gets through |
| `bus-foreign` | another node sends under a drive's name | `ENCODER`, or `DRIVE_SILENT` where frames meet |
| `bus-short` | the wires touch for 50 ms | `BUS_OFF`; the controller is let back, which is counted |
| `bus-held` | something holds the bus dominant for 50 ms | `BUS_OFF` if the board was sending, else `DRIVE_SILENT` |
| `bus-open-end` | a terminator is unplugged | goes on; frames are repeated, the bus's errors count |

On a wire of servos all that keeps answers away is `DRIVE_SILENT`. A fault disables all drives that hear it: servos on a
wire that is flooded hear nothing, and keep their duty until their supply is cut, which the board does where it
[can](#a-supply-that-the-board-cuts). `monitor` shows what is counted.

`femtorque hil drives MECH` runs the drives and what they turn alone, without a board, in real time: each bus is a
serial adapter for CAN (slcan), as a terminal and at a TCP port, which it prints. python-can opens it with
`interface="slcan"` and `channel="/dev/pts/N"` or `channel="socket://127.0.0.1:PORT"`. So other people's programs can be
tried before they are on an arm: `damiao scan --bustype slcan --channel /dev/pts/N` finds the drives and reads all their
registers (`tests/hil/board/test_drives_alone.py`), and `moteus_tool --force-transport pythoncan --can-iface slcan
--can-chan /dev/pts/N -t 1 --info` reads a moteus. At the TCP port programs that poll get their answers late, a byte a
poll, since pyserial tells of a socket only whether anything waits. Python-can's own virtual buses are not used:
`virtual` lives in one process, the kernel's vcan needs root, and `udp_multicast` sends datagrams out of the machine,
which may get lost or change places.

Ranges are settings of the drive, not only of its kind, and published tables disagree. With a wrong one every torque and
every damping is wrong by the same factor. Read them out of your own drive; `drive.velocity`, say, overrides the
catalogue. The rotor, at the drive's output, is often heavier than the links that it turns: `init --drive` writes it as
`inertia` where it is published, `check` warns where the file has none, and the virtual drive has it all the same.

"""
    ranges = [(f"`{d.name}`", f"{d.position:g}", f"{d.velocity:g}", f"{d.torque:g}", f"{d.kp:g}", f"{d.kd:g}",
               f"{d.inertia:g}" if d.inertia else "", "yes" if d.fd else "no", d.note) for d in CATALOGUE]
    text += table(("type", "position, rad", "velocity, rad/s", "torque, N m", "kp", "kd", "rotor, kg m²",
                   "CAN FD", "elsewhere"),
                  ranges)
    text += """
## What a bus bears

One command and one reply a tick, and a question where a drive tells its state only then, with the pauses between
frames. Worst: no contents take longer, and it fits into a tick; beside the longest of 500 random rounds a tenth of the
bus is kept free.

"""
    rows = []
    for what, wire, name in (("Damiao, CubeMars, mini-cheetah; CAN 1 Mbit/s", Wire("can", 1e6), "damiao-4310"),
                             ("RobStride; CAN 1 Mbit/s", Wire("can", 1e6), "robstride-02"),
                             ("Damiao; CAN FD 1 / 5 Mbit/s", Wire("can-fd", 1e6, 5e6), "damiao-4310"),
                             ("moteus, numbers 1 to 7; CAN FD 1 / 5 Mbit/s", Wire("can-fd", 1e6, 5e6), "moteus-r4"),
                             ("ODrive, with heartbeats; CAN 1 Mbit/s", Wire("can", 1e6), "odrive-s1")):
        loads = [bus_load(wire, [(k, DRIVES[name]) for k in range(1, n + 1)]) for n in range(1, 9)]
        rows.append((what, f"{1e6 * loads[0].mean:.0f}, {1e6 * loads[0].worst:.0f}",
                     *(f"{one.fastest:.0f}" for one in loads[2:7])))
    text += table(("drives", "one, us: mean, worst", *(f"{n} drives, Hz" for n in range(3, 8))), rows)
    text += """
CAN FD's data phase has a rate of its own. Of the rates that Damiao's register 35 has a controller makes those that its
clock gives exactly, with 8 quanta a bit at least; `check` refuses the others and names the nearest one. The G4 makes up
for the delay of its transceiver where a quantum is of one or two clocks; bits of longer ones are sampled later than the
slowest transceiver for CAN FD needs (255 ns, ISO 11898-2:2016). None of these bits has been on a real bus.

In CAN FD each node changes the rate at its own sample point, so the board takes that of the family. Damiao's own is not
published: openarm_can sets 75 % in both phases and works, and the board samples no later. A moteus
has 67.1 % and 70.6 % (its fw/fdcan.cc), and so has the board: """ + _of_moteus() + """
A board that sampled at 75 % would read none of a moteus' frames. `check` refuses a bus with drives of both families. A
PC's adapter needs the drives' sample points too (`sample-point` and `dsample-point` of `ip link`).

"""
    chips = [load_board(name).chip for name in ("f405rg-4", "nucleo-g474re-6")]
    cans = {chip.part: next(iter(chip.cans.values())) for chip in chips}
    return text + table(("Mbit/s", *(f"{part}, bits of {can.clock_hz / 1e6:g} MHz" for part, can in cans.items())),
                        [(f"{rate / 1e6:g}", *(_made(can, rate) for can in cans.values()))
                         for rate in (1_000_000, *DATA_BITRATES)]) + servos()


def _of_moteus() -> str:
    """Bits of a G4 for a moteus."""
    can, samples = next(iter(load_board("nucleo-g474re-6").chip.cans.values())), FAMILIES["moteus"].samples
    assert samples is not None
    made = [bits(can, rate, fast, at) for rate, fast, at in zip((1_000_000, 5_000_000), (False, True), samples,
                                                                strict=True)]
    return " and ".join(f"{m.quanta} quanta sampled at {m.sample_point:.1%}" for m in made if m) + " on a G4."


def _listed(names: list[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _made(can: Can, rate: int) -> str:
    """Clocks and quanta of a bit for Damiao's drives: at 1 Mbit/s of arbitration, above it of the data phase."""
    fast = rate > 1_000_000
    if fast and can.data is None:
        return "no: classic CAN alone"
    samples = FAMILIES["damiao"].samples if can.data else None
    made = bits(can, rate, fast, samples and samples[fast])
    if made is None:
        return f"no: {can.clock_hz / rate:g} clocks a bit"
    most = can.data.compensated if fast and can.data else None
    how = "" if most is None else ", compensated" if made.prescaler <= most else ", not compensated"
    return f"{made.quanta} quanta of {made.prescaler}, sampled at {made.sample_point:.1%}{how}"


def servos() -> str:
    """Servos on a half-duplex wire: what they are, and how much of it they take."""
    text = """
## Servos on one wire

Feetech's STS servos have no torque to ask for. In their PWM mode they are brushed motors with a bridge, a gear and an
encoder of one turn, which is what the control law inverts: the board closes the loop and gives each a duty.

```toml
[[bus]]
name = "servos"
kind = "sts"

[[joint]]
name = "elbow_flex"
drive = { type = "feetech-sts3215-12v", bus = "servos", id = 3 }
```

`zero` is the count that the servo tells at the joint's zero, `offset` the position offset that is stored in it (a
calibration by other tools stores one), `limit` the torque limit that it is set to, `firmware` the version that it must
have; without it any will do. `femtorque bringup --zero --write` finds the first three, and `sign`, and puts them into
the file: nothing is stored in a servo. A joint must stay within half a turn of its zero, behind a `gear` (above) within
half a turn of the servo. A table `motor` beside `drive` stands for the catalogue's motor, its `gear` for the one inside
the servo: measure yours (`femtorque identify`).

Servos are set up by the board as they come, until their power is gone: it closes the lock, so that nothing is stored,
lets them answer at once and puts them into PWM mode. What is their owner's it only reads: model, position limits, which
must leave the joint its room, position offset, torque limit, firmware. One that is set otherwise is not armed
(`DRIVE_SETTING`, with both values). A duty is made of the law's voltage and the voltage that the servo tells; what
rounding to a thousandth leaves over is carried on. While the outputs are off every tick brings no duty and switches the
motors off; they are switched on with no duty and get one once they have said that they are on, and that the lock is
closed still, which without power it is not. Whether they are on they are asked again every eighth tick, then without a
position. What switches them off waits for the next tick's first packet, at most.

What the board sends comes back to its receiver. Where something else does, nothing that came in the tick is believed:
somebody else talks, or the wire is shorted. Faults: `DRIVE_SILENT` as above; `DRIVE_FAULT` for the error bits of an
answer (voltage, encoder, over temperature, over current, angle, overload) and for a motor that is not on any more. A
servo's own protections (registers 13 to 16, 19, 28, 34 to 38) stay as they are. What ailed one is told until it is
enabled again, also where it is over as soon as its motor is off. A supply that fails is `DRIVE_FAULT` if a servo says
so before the board has measured it, else `UNDER_VOLTAGE`.

On the virtual board servos come with 0.5 ms before each answer, in position mode, open to be stored in; they look at
encoder and registers once a millisecond, turn nothing below 1.6 % of duty, and short the motor at none: what is not
published and was chosen is named in `hil/drives/families/feetech/servo.py`. They get warm, and let go for heat, for
current and for load as Feetech's memory table has it. Their gears have a degree of play, as was measured of an
STS3215, between the rotor and the output, on which the encoder is: `hil/plant/backlash.py`.

The wire is one pin of the board (`[half_duplex]` of [boards](boards.md)), open drain, with a pull-up of 1 to 2 kOhm to
3.3 V; the chip itself does not pull. No level of the wire was found published: measure it on the servos alone. Where it
is above 3.3 V, only a pin that bears 5 V may be on it ([boards](boards.md)), while the chip has power. Servos and board
need a common ground. A servo has no time limit without commands. When the board dies, its
watchdog resets it, and the first packets after that take the duties away; when the wire is cut or flooded, each servo
keeps its last duty until its supply is cut or its own overload protection lets go. The loop of the e-stop must cut
their supply, and the board should be able to.

### A supply that the board cuts

```toml
[safety.cutoff]
within_s = 0.03                 # for which the board waits until all servos have said that they are off
off_s = 0.2                     # for which the supply stays off
```

With this table an output of the board (`[cutoff]` of [boards](boards.md)) switches the supply of all servos. It is low,
and the supply is off, in reset, in the boot loader, with the e-stop, and for `off_s` after each start; it comes on in
DISARMED. From when a servo may not run any more, or is silent while it runs, it has `within_s` to say that its motor is
off, asked for the register that switches it; else the supply of all goes off, and stays off until the fault is cleared.
So it does at once where a joint is not where its servo says, or does not go as it should (`ENCODER`, `ENCODER_STUCK`,
`FOLLOWING`, `POSITION`, `OVERSPEED`, with the reaction `coast`): another servo may have answered. Servos without supply
lose their duty and come up switched off; ARM is refused (`DRIVE_SILENT`) until they have, and the host waits for that.
So every case of the campaign ends without a voltage at any servo's motor, also those in which none of them hears the
board (`make bench`). A processor that hangs, or that a debugger halts, is reset by its watchdog, nominally after 0.1 s,
and the output falls: the firmware takes back in each tick what a debugger sets to stop the watchdog as it connects.
Only one that sets it within a tick of the halt, or in it, leaves the supply on. Without the table `check` warns, and
`hil` says of what goes on: "outputs are NOT safe: joint shoulder_pan keeps its last duty until the supply is cut".

```
 12 V --- fuse --- e-stop loop --- relay contact (normally open) ---+--- servos' red wire

 board's pin ---+--- 1 kOhm --- gate of a small N-MOSFET, drain to the relay's coil (diode across it), source to ground
                |
             10 kOhm to ground: off while the pin floats
```

A high-side switch with a logic input does the same without wear. The contact must break the stall current of all
servos at once. Put large capacitors on the supply's side of it: servos go on for as long as those behind it last.
`within_s` is counted in ticks, at least six: a servo is told, asked and has answered in three.

"""
    return text + _servo_table("feetech") + _after_feetech() + dynamixels()


def _servo_table(name: str) -> str:
    """The servos of a family."""
    rows = [(f"`{d.name}`", f"{d.servo.volts:g}", f"{d.velocity:.3g}", f"{d.torque:.3g}", f"{d.servo.R:.3g}",
             f"{d.servo.K * d.servo.gear:.4g}", f"{d.servo.gear:g}", f"{d.servo.inertia * d.servo.gear**2:.3g}",
             f"{d.servo.viscous:.3g}, {d.servo.coulomb:.3g}", d.note)
            for d in SERVOS if d.servo and d.family == name]
    return table(("type", "V", "velocity, rad/s", "torque, N m", "R, ohm", "K gear, N m/A", "gear", "rotor, kg m²",
                  "friction, N m s/rad, N m", "sources"), rows)


def _wire_load(wire: Wire, name: str, counts: Sequence[int]) -> str:
    """Load of a half-duplex wire by so many servos of a kind."""
    found = [(n, servo_load(wire, n * [DRIVES[name]])) for n in counts]
    return table(("servos", "a tick at most, us", "ticks a second"),
                 [(n, f"{1e6 * one.worst:.0f}", f"{one.fastest:.0f}") for n, one in found])


def dynamixels() -> str:
    """Dynamixel X on a half-duplex wire."""
    text = """
## Dynamixel X on one wire

ROBOTIS' Dynamixel X speak protocol 2.0 on one wire, as ALOHA's arms have them. Those that measure their motor's
current take one: the board closes the loop, and gives each the current that makes the law's torque, in current mode
(register 11: 0). Those without a sensor (XL430, XC430) get duties in PWM mode (16), as Feetech's do. XL330 and XC330
are refused by name. Their current is that of the supply, not of the motor. And in current mode their bus watchdog does
not stop them: it latches, and the motor goes on; ROBOTIS has reproduced that with all its servos of that size
(forum.robotis.com, thread 4814). Whether a later firmware mends it was not found.

```toml
[[bus]]
name = "servos"
kind = "dynamixel"
bitrate = 2_000_000

[[joint]]
name = "elbow"
drive = { type = "dynamixel-xm540-w270", bus = "servos", id = 3 }
```

`mechanisms/aloha_like.toml` is an arm of six. Keys are those of Feetech's servos: `zero` is a count, 2048 where none
is given; `offset` is the homing offset that is stored in the servo; `limit` its current limit (of duties its PWM
limit), as a share of the largest one that there is; `firmware` the oldest version that will do, 46 at least. A table
`motor` beside `drive` says its K, and with it how much torque an ampere makes: stall torque by stall current is too
much of one where the gear takes a part. Give numbers and bit rate by ROBOTIS' tool; all servos of a wire have one
rate. Which of them a board makes, within half a per cent:

"""
    boards = [load_board(name) for name in ("f405rg-4", "f405rg-6", "nucleo-g474re-6")]
    text += table(("Mbit/s", *(f"`{board.name}`" for board in boards)),
                  [(f"{rate / 1e6:g}", *(_wire_rate(board, rate) for board in boards))
                   for rate in (1_000_000, 2_000_000, 3_000_000, 4_000_000)])
    text += """
Before it is armed each servo is read, and what is wrong is named: model, drive mode (turned round, or switched on by
a goal), shutdown (it must let go for overload, shock and heat), homing offset, PWM limit, current limit, firmware.
The board sets the watchdog (register 98: two steps of 20 ms, more with slower ticks), the status return level, the
operating mode, the largest duty and the return delay. Mode and delay are stored in the servo, which takes them only
while its motor is off; each is written only where it is another. Another mode sets the goal to the current limit:
every tick gives a current of none before a motor is switched on, in an earlier packet.

Servos come with 0.5 ms before each answer, which does not fit into a tick. So none is asked with the others before it
has been asked alone, with the others silent, and has said that its delay is zero and which firmware it has. From then
on all answer in one packet (fast sync read) with current, velocity and position, every eighth tick with the register
that switches the motor and the error register instead, every 128th with voltage and temperature. A servo that is
missing ends that packet: those behind it are silent too until, some ticks later, it is left out. One whose firmware
does not know the question is asked with the plain one (sync read), and so are all others then, one half of them at a
time: so it can be named, not armed.

When the board is silent for the watchdog's time a servo gives nothing, and takes no goal until the board has written
zero to its watchdog. So nothing needs to cut the supply, and `check` does not warn. While no law makes torques the
board damps, by the velocity that the servo tells. Faults: `DRIVE_SILENT`; `DRIVE_FAULT` for the bits of register 70
(voltage, over temperature, encoder, electrical shock, overload), until that was read `hardware error`, and for a
motor that is not on any more; they end with a reboot of the servo, which the board asks for while it is disarmed.

**The wire is not only a matter of bytes.** X-T servos and XL430 have one wire of 5 V, X-R ones RS-485. A wire of 5 V
needs a buffer that shifts levels between it and the board's pin: `check` and `bringup` name those servos. The pin is
open drain, with a pull-up outside, as the chip itself does not pull: at 2 Mbit/s a bit takes 0.5 us, and 1 kOhm with
100 pF of cable and servos need 0.1 us of it for each rising edge, more with more cable: expect to need a driver.

A board file names one as `transceiver` of its wire, with the pins of its receiver and of its driver's enable, as
`nucleo-g474-can` does for RS-485; a buffer for the wire of X-T servos is switched alike (ROBOTIS' circuits have a
direction pin in both). The USART of an STM32G4 switches it, from a bit before the first byte to a bit after the last:
0.5 us each at 2 Mbit/s, of the 20 us that a servo is taken to need before it answers. Its receiver may stay on, which
shows the board who else talks, or be off while it sends. The USARTs of an STM32F4 switch none, and software would let
go too late: the tick itself lasts longer than a servo waits. There, and on a pin of its own, what drives the wire has
to find its direction by itself, from the level of the pin.

No servo has been on it. The virtual one (`hil/drives/families/dynamixel/servo.py`) is held against ROBOTIS' own
client (`dynamixel-sdk`), and names there what is not published and was chosen: above all when within a millisecond a
goal is taken over, and how a current follows. Friction and rotors of the table are estimates but where a source is
named in `codegen/drive/families/dynamixel/__init__.py`.

"""
    text += _servo_table("dynamixel")
    text += """
A tick at most, with the motors switched and all answers in one packet, 20 us before it and 3 us between parts
(estimates: measure yours), a tenth of the wire kept free; XM430 at 2 Mbit/s:

"""
    return text + _wire_load(Wire("dynamixel", 2e6), "dynamixel-xm430-w350", (1, 2, 4, 6, 7, 12))


def _wire_rate(board: Board, rate: int) -> str:
    """Clocks a bit, of a board's first half-duplex wire."""
    usart = board.chip.usarts[next(iter(board.half_duplex.values())).usart]
    made = line_divider(usart, usart.clock_hz, rate)
    return "no" if made is None else f"{made} clocks"


def _after_feetech() -> str:
    """Load of a wire of Feetech's servos."""
    text = """
A tick sends all duties in one packet, and asks all servos for position, speed, load, voltage and temperature in
another; each answer brings the servo's error bits. Bytes at 1 Mbit/s, and 40 us that a
servo is taken to need before each answer (an estimate: measure yours), a tenth of the wire kept free:

"""
    return text + _wire_load(Wire("sts", 1e6), "feetech-sts3215-12v", (1, 2, 3, 4, 6, 7, 12))


# -- mechanism files --------------------------------------------------------------------------------------------------


def mechanism_files() -> str:
    """Every key, table by table."""
    text = GENERATED + """# Mechanism files

A mechanism file is TOML in SI units and radians. `femtorque init NAME` writes a commented one, `femtorque check` says
what it makes of it. A complete example is [mechanisms/three_link.toml](../mechanisms/three_link.toml). A URDF file
alone is a mechanism without motors; its `<mimic>` joints follow their leaders. What is not a key here is refused, with
the nearest one that is.

`femtorque init NAME --from X.urdf` takes links and joints of a URDF: `--chain A:B` lets only the joints between two
links move, `--lock JOINT=value` holds one, `--board` and `--motor` choose what drives them ([motors](motors.md)), or
`--drive` a drive or servo on a bus ([drives](drives.md)).
`init` and `check` say what no real mechanism is like: a link in the middle without mass, lengths in millimetres,
inertias that do not go with their mass, limits that only fill the format, motors and gears that no one sells, a
follower that is locked beside its leader, a legged robot's trunk that stands on the ground.

"""
    return text + "\n".join(_sections("", MechanismTable))


def _sections(path: str, kind: type[BaseModel]) -> list[str]:
    rows, below = [], []
    for name, field in kind.model_fields.items():
        key, inner = f"{path}.{name}".lstrip("."), _table_in(field.annotation)
        if inner is not None:
            below += _sections(key, inner)
            continue
        default = "required" if field.is_required() else _default(field.default)
        annotation = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        rows.append((f"`{name}`", _type(annotation), default, field.description or ""))
    said = inspect.cleandoc(vars(kind).get("__doc__") or "").replace("\n", " ")
    title = f"{_heading(path)}\n\n{said}\n\n".replace("\n\n\n\n", "\n\n")
    return [title + table(("key", "type", "default", "meaning"), rows), *below]


def _heading(path: str) -> str:
    if not path:
        return "## The mechanism"
    parts = path.split(".")
    if len(parts) == 1:
        return (f"## `[[{path}]]`"
                if get_origin(MechanismTable.model_fields[path].annotation) is list else f"## `[{path}]`")
    return f"### `{'.'.join(parts[1:])} = {{ ... }}` of a {parts[0]}"


def _default(value: Any) -> str:
    return "" if value is None else f"`{str(value).lower() if isinstance(value, bool) else repr(value)}`".replace("'",
                                                                                                                  '"')


def _type(annotation: Any) -> str:
    """In words: what may stand there."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _bounded(_type(arguments[0]), arguments[1:])
    if origin in (Union, UnionType):
        return " or ".join(_type(a) for a in arguments if a is not type(None))
    if origin is Literal:
        return ", ".join(f"`{str(a).lower() if isinstance(a, bool) else a}`" for a in arguments)
    if origin is list:
        return f"array of {_plural(_type(arguments[0]))}"
    if origin is dict:
        return f"table of {_plural(_type(arguments[1]))}"
    return {int: "whole number", float: "number", str: "text", bool: "true or false"}[annotation]


def _plural(words: str) -> str:
    first, _, rest = words.partition(" ")
    return {"number": "numbers", "text": "texts", "whole": "whole numbers"}.get(first, words) + (
        f" {rest}" if rest and first != "whole" else "")


def _bounded(words: str, metadata: tuple[Any, ...]) -> str:
    bounds: list[str] = []
    flat = [m for item in metadata
            for m in (item.metadata if hasattr(item, "metadata") and not hasattr(item, "ge") else [item])]
    for m in flat:
        if isinstance(m, MinLen) and words.startswith("array of"):
            words = words.replace("array of", f"array of {m.min_length}", 1)
        for kind, attribute, sign in ((Gt, "gt", ">"), (Ge, "ge", "≥"), (Lt, "lt", "<"), (Le, "le", "≤")):
            if isinstance(m, kind) and abs(getattr(m, attribute)) < LARGEST:
                bounds.append(f"{sign} {getattr(m, attribute):g}")
        if isinstance(m, MaxLen) and words == "text":
            bounds.append(f"at most {m.max_length} characters")
    return f"{words} {', '.join(bounds)}".rstrip()


# -- boards -----------------------------------------------------------------------------------------------------------


VERIFIED = """
## Verified against

What the boards' registers, pins and sequences were held against. No hardware has run any of it: what is left to see on
silicon is in [first-power-up.md](first-power-up.md).

""" + table(("board or family", "what", "source"), [
    ("STM32F405", "addresses and bits of every register that is named",
     "ST's SVD of the F41x as pyocd carries it, by test; "
                                                                         "RM0090 where that is wrong"),
    ("STM32G474", "the same", "RM0440 by section, a table in tests/firmware, by test; CMSIS stm32g474xx.h"),
    ("both", "values after reset of every register that is touched",
     "ST's SVD and headers, hil/chip/*/reset_values.txt"),
    ("both", "pins, alternate functions and converter inputs of the LQFP64", "ST's STM32_open_pin_data"),
    ("both", "core registers", "ARM DDI 0403E; pyocd's debugger, by test"),
    ("both", "unique number", "UID_BASE of stm32f405xx.h and stm32g474xx.h; RM0090 39.1, RM0440 48.1"),
    ("both", "option bytes, brown-out levels, keys", "RM0090 3.6 and 3.9.5; RM0440 3.4.1; openocd's stm32l4x driver"),
    ("both", "pins of the boot loader in ROM, and which way it pulls",
     "AN2606, pin by pin: tables 75 (STM32F40xxx, V9) and 117 (STM32G47xxx) of a revision of 2023 or later"),
    ("both", "jump into the boot loader: reset, word kept in RAM, stack and entry from 0x1FFF0000",
     "ODrive (early start-up) and Klipper do it so"),
    ("both", "boot loader's protocol", "AN3155"),
    ("STM32F405", "DMA streams and channels", "RM0090 tables 42 and 43"),
    ("STM32G474", "debug port kept on in FLASH_ACR; boost by way of half the speed",
     "RM0440 3.7.1, 6.1.5; Klipper's pull request 5927"),
    ("both", "timers that stop with the core, sleep that keeps the debug port",
     "RM0090 38.16, RM0440 47.8; openocd's target scripts"),
    ("both", "timers: repetition, centred PWM, break, encoder mode, triggers", "RM0090 17 to 19, RM0440 28 to 30"),
    ("both", "a timer with a break that a debugger has stopped drops its outputs",
     "RM0440 28.3.31; that the F405's do so too, ODrive's firmware relies on"),
    ("both", "USART, half duplex too, and DMA; watchdog", "RM0090 30, 10 and 21; RM0440 37, 12, 13 and 43"),
    ("both", "CAN and CAN FD: controllers, pins, bit timing",
     "RM0090 32, RM0440 44 and Bosch's M_CAN; DS8626 table 9, DS12288 table 13"),
    ("both", "levels of the voltage detector; how far HSI and LSI may be off; 2 MHz on PC13 to PC15",
     "data sheets DS8626 and DS12288"),
    ("STM32F405", "LSI at channel 4 of TIM5 (TI4_RMP)", "RM0090 18.4.21"),
    ("both", "waiting for flash, as ticks are counted", "RM0090 3.5, RM0440 3.3"),
    ("odrive-v3.6", "pins, half bridges, shunts and their sign, gate driver's lines",
     "ODrive's main.h, board.cpp and motor.cpp"),
    ("odrive-v3.6", "gate driver: frames, registers, set-up times, latched shut-down",
     "TI's DRV8301 data sheet and ODrive's driver"),
    ("odrive-v3.6", "gate driver: forgets when its supply dips, and tells of chopping on nOCTW alone",
     "TI's forum, threads 184722 and 624720"),
    ("odrive-v3.6",
     "in the boot loader the ROM pulls PB10 and PB11 (brake resistor) up; boards from v3.5 on hold them down",
     "ODrive's start-up code"),
    ("robomaster-c", "pins, crystal of 12 MHz, transceivers on CAN1 and CAN2",
     "RoboMaster's Development-Board-C-Examples, standard_robot.ioc and main.h; mambo's robomaster_board_c.dts"),
    ("nucleo-g474re-6", "link on the ST-LINK's port, crystal of 24 MHz", "UM2505"),
    ("STM32F405", "pins that bear 5 V: all but PA4 and PA5", "DS8626, pin table (FT and TTa)"),
    ("STM32G474", "pins that bear 5 V", "DS12288, pin table (FT and TT), by two public copies of it; PC0 to PC3 in "
     "neither, and so taken for pins of 3.6 V"),
    ("both", "no pull where a signal is above the supply", "notes of the operating conditions in ST's data "
     "sheets, read in that of the STM32L431"),
    ("f405rg-4, f405rg-6, nucleo-g474re-6", "wake_us: at most 1 ms until a bridge may be driven; fault lines that are "
     "low asleep or on waking up", "Pololu's page of its G2 drivers (0J72); TI's forum, 476973 (DRV8801), and SLVSHI4A "
     "(DRV81545). What the G2's own fault line does asleep was not found"),
    ("nucleo-g474re-6, nucleo-g474-can", "places on the headers", "Zephyr's st_morpho_connector.dtsi and "
     "arduino_r3_connector.dtsi; not compared with UM2505"),
    ("robomaster-c", "positions and printed names of connectors", "not found: find them with a continuity tester"),
    ("STM32G474", "inputs of ADC1 and ADC2, by channel", "STM32G474R(B-C-E)Tx.xml of ST's STM32_open_pin_data"),
    ("STM32G474", "trigger of injected channels by TIM1, sampling times", "ST's stm32g4xx_ll_adc.h"),
    ("STM32G474", "at most 3.125 clocks from the trigger to the sample (2.125 where nothing else is converted)",
     "DS12288 rev 4, table 66, as another design for the chip quotes it"),
    ("STM32F405", "3 clocks from the trigger to the sample, at most",
     "DS8626, table of the ADC, by memory (RM0090 13.3.9 refers to it; no second source was found): step 14 of "
     "[first-power-up.md](first-power-up.md) shows it"),
    ("STM32G474", "LSI at the input of TIM16 (TISEL 6); filter of the break inputs",
     "ST's stm32g4xx_hal_tim_ex.h and stm32g4xx_ll_tim.h"),
    ("f405rg-4, nucleo-g474re-6",
     "ACS725LLCTR-20AB: ±20 A, 66 mV/A about half of 3.3 V, which both follow the supply; how near "
     "to the rails it comes was not found, but loops trip at 17.2 A, within its range",
     "other firmware for the same part"),
    ("f405rg-4, f405rg-6", "Olimex' STM32-H405: crystal of 8 MHz, LED on PC12, button on PA0",
     "Zephyr's olimex_stm32_h405.dts, NuttX's board.h"),
]) + """
"""


FASTEST = (  # mechanism, board, drive, kHz that `build` finds, rounded down: tests/hil/cost/test_measure.py
    ("three_link", "f405rg-4", "voltage", 7.7),
    ("three_link", "f405rg-6", "voltage", 7.6),
    ("three_link", "nucleo-g474re-6", "voltage", 6.5),
    ("six_axis", "f405rg-6", "voltage", 4.6),
    ("six_axis", "nucleo-g474re-6", "voltage", 3.7),
    ("three_link", "f405rg-4", "current", 3.9),
    ("three_link", "nucleo-g474re-6", "current", 3.0),
    ("three_link", "odrive-v3.6", "current", 5.8),
)

LIGHT = """
## Wiring

![Supply, ground, e-stop loop, bridges, encoders and the divider of the motors' supply](wiring.svg)

- **One ground.** Grounds of board, bridges, encoders, supply and of every isolated part are one, by a thick wire of
  their own from the bridges to the supply; a board that hangs on the host's USB alone has none in common with the
  bridges.
- **Levels.** Every signal is 0 to 3.3 V unless the table of the board says 5 V. Pins of 3.6 V (TT in ST's pin tables)
  are destroyed by 5 V at once; those that bear 5 V do so while the chip has power, and only with their pulls off:
  write `pull = "float"` into that encoder of the board file, and give outputs that only pull low a resistor of their
  own to 3.3 V. Hall encoders of gear motors are mostly supplied with 5 V and give it out.
- **Pull-downs.** 10 kΩ from every PWM and direction pin to ground, 10 kΩ from e-stop inputs, and one on enable by
  what pulls it up: below 0.4 V in reset needs at most 0.13 of all pull-ups to 3.3 V in parallel (0.08 to 5 V), and no
  less than 1 kΩ, since the pin must lift it. Without pull-ups: 10 kΩ. Pololu's G2 modules pull SLP up themselves;
  three in parallel have a third of one's resistance. Its value was not found: measure it, from SLP to the module's
  logic supply. Of 100 kΩ each, three ask for at most 4.3 kΩ; of 10 kΩ each, 430 Ω, which is too little: put an
  N-channel transistor there, its gate pulled to 3.3 V through 10 kΩ and pulled low by a second one from the pin, or a
  gate with a push-pull output.
- **Fault line.** The open outputs of all bridges on one wire; the chip pulls it up.
- **Current.** `drive = "current"` needs sensors of both signs in the motors' lines. The CS output of Pololu's G2
  cannot serve: it shows one polarity above an offset of 50 mV, and nothing while the bridge brakes.

## What the LED shows

Boards with `[led]` show their state in patterns of 2 s. The main loop makes them: where they stop, it has stopped.

""" + table(("state", "LED"), [(f"`{name}`", WORDS[pattern]) for name, pattern in PATTERNS.items()]) + """
"""

RATES = """
## How fast a board may tick

`femtorque build` works out how long the longest tick of an image may take and refuses a mechanism whose
`control.rate_hz` has no room for it; it and `check` print the highest rate that has. These count every way through code
that no tick has come to, so that what ticks are seen to take would fit about twice as often. Cycles that peripherals
and DMA keep the processor waiting on their buses are in none of these numbers: on a board `femtorque monitor` shows the
worst tick by the chip's own counter. The longest tick is one in FOLLOW, in which every joint catches up with its
reference. On `odrive-v3.6`, which drives two motors, one of the three joints is locked.

""" + table(("mechanism", "board", "drive", "ticks at up to"), [
    (f"`{mechanism}`", f"`{board}`", drive, f"{khz:g} kHz") for mechanism, board, drive, khz in FASTEST]) + """
"""


def boards() -> str:
    """Every board file, its comment and its pins."""
    text = GENERATED + """# Boards

A board file says which pins, timers and DMA streams of a chip serve what. A mechanism file names one by `[board] use`.
To bring a board of your own, copy the nearest file in [firmware/boards](../firmware/boards) and change its pins: what
the chip cannot do is refused by name when the file is read. What happens in which order is in
[firmware/README.md](../firmware/README.md).

## Flashing

`femtorque flash --via stlink` needs three wires and NRST; where a chip cannot be got hold of it tries again under
reset. `--via dfu` and `--via uart` use the boot loader that ST put into the chip's ROM (application note AN2606). It is
entered with BOOT0 high at reset. A board that runs femtorque, is disarmed and answers at `--port` is sent there by
`flash` itself, by a reset that leaves every output off; a board that holds its joints refuses, and so does one whose
enable or brake pin the ROM would pull the wrong way. There, switch the motors' supply off before you hold BOOT0 high.
While the boot loader runs, nothing watches the e-stop, and its own pins drive or pull, PWM and direction pins among
them (on `nucleo-g474re-6` PB14 is driven high): it is the pull-down on enable that keeps the drivers off.

A chip leaves the factory with its brown-out reset at the lowest level, far below what it is specified for at full
speed. `flash` says which level is set; `flash --via stlink --bor` writes level 3 into the option bytes, and nothing
else of them. Nothing is written there without it. Read-out protection is never set: whoever has the debug port has the
flash. The link knows no passwords either: whoever has the cable, the TCP port of a virtual board or the UDP address has
the arm.

"""
    text += table(("board", "ROM hears the link", "ROM at other pins (TX, RX)", "sent there by `flash`"), [
        (f"`{name}`", *_loader(load_board(name))) for name in board_names()])
    text += LIGHT + RATES + VERIFIED
    for name in board_names():
        path = BOARDS / f"{name}.toml"
        source = path.read_text(encoding="utf-8")
        head = [line.removeprefix("#").removeprefix(" ") for line in source[:source.index("name =")].splitlines()]
        raw = tomllib.loads(source)
        channels = raw.pop("channel", [])
        raw.pop("headers", None)
        facts = [(f"`{key}`", f"`{value}`") for key, value in _flat(raw) if key != "name"]
        text += f"\n## {name}\n\n" + "\n".join(head).strip()
        text += f"\n\n[firmware/boards/{name}.toml](../firmware/boards/{name}.toml)\n\n"
        text += table(("key", "value"), facts)
        if channels:
            columns = list(dict.fromkeys(key for channel in channels for key, _ in _flat(channel)))
            rows = [(number, *(dict(_flat(channel)).get(key, "") for key in columns)) for number,
                    channel in enumerate(channels)]
            text += "\n" + table(("channel", *columns), rows)
        text += _wiring(load_board(name))
    return text


def _wiring(board: Board) -> str:
    """Describe where every signal leaves the board."""
    levels = {pin: bears(board, channel.encoder.pins, channel.encoder.pull)
              for channel in board.channels for pin in channel.encoder.pins}
    rows = []
    for use in uses(board):
        if not use.is_pin or use.key.startswith(("low.", "gate_driver.")):
            continue
        what = use.label if use.channel is None else f"channel {use.channel}: {use.label}"
        way = "out" if use.mode.startswith("output") or use.moves else "both ways" if use.mode == "open_drain" else (
            "out" if use.signal.endswith(("_TX", "_DE")) else "in")
        if use.mode == "open_drain":
            levels[use.resource] = bears(board, [use.resource], use.pull)
        place = (board.headers.get(use.resource, ""),) if board.headers else ()
        rows.append((what, f"`{use.resource}`", *place, way, levels.get(use.resource, "3.3 V")))
    return "\n" + table(("signal", "pin", *(("on the board",) if board.headers else ()), "", "highest level"), rows)


def _loader(board: Board) -> tuple[str, str, str]:
    """Describe how the boot loader in ROM is reached on a board, and whether it may be entered."""
    used = board.source.read_text(encoding="utf-8").partition("[reserved]")[0]
    taken = set(re.findall(r'"(P[A-I]\d+)"', used))
    others = [f"{name} {tx}, {rx}" for name, tx, rx in board.chip.rom.usarts if not {tx, rx} & taken]
    return (f"yes, {board.loader_usart}: `--via uart`" if board.loader_usart else f"no ({board.link.usart})",
            "; ".join([*others, *(["USB: `--via dfu`"] if "USB_DM" in board.reserved else [])]) or "none free",
            "yes" if board.loader_safe else f"no: it pulls at {', '.join(board.loader_pulls)}")


def _flat(raw: dict[str, Any], path: str = "") -> list[tuple[str, Any]]:
    found = []
    for key, value in raw.items():
        here = f"{path}{key}"
        found += _flat(value, f"{here}.") if isinstance(value, dict) else [(here, value)]
    return found


# -- motors -----------------------------------------------------------------------------------------------------------


def motors() -> str:
    """The catalogue, with sources."""
    def told(value: float | None, unit: str = "") -> str:
        return "unknown" if value is None or math.isinf(value) else f"{value:.3g}{unit}"

    def row(sold: Sold) -> tuple[str, ...]:
        return (f"`{sold.name}`", sold.what, f"{sold.volts:g}",
                *(f"{x:.3g}" for x in (sold.R, 1e3 * sold.L, 1e3 * sold.K)),
                told(sold.inertia), f"{sold.gear:g}", f"{sold.efficiency:.0%}", told(sold.torque),
                told(sold.continuous),
                told(sold.thermal_s), str(sold.counts or "none"), sold.source, sold.worked_out)

    return GENERATED + """# Motors that are sold

A few brushed motors and gear motors, to begin a mechanism file with: `femtorque motors` lists them,
`femtorque init --from X.urdf --board BOARD --motor NAME` puts one at every joint, `femtorque check` names one where a
file's motor is like none that is sold. The numbers are those of the source beside each; what a sheet leaves out is
worked out as said, or missing: an unknown inertia of a rotor stands as 0 in the file, and `femtorque identify`
measures it. What a gear loses at stall is written as dry friction. Data sheets change: look at that of your motor.

""" + table(("name", "what", "V", "R, ohm", "L, mH", "K, mN m/A", "rotor, kg m²", "gear", "efficiency",
             "continuous output, N m",
             "continuous current, A", "winding, s", "counts per turn of the motor", "source", "worked out"),
            [row(sold) for sold in MOTORS])


# -- wire protocol ----------------------------------------------------------------------------------------------------


def protocol() -> str:
    """Frame, messages, numbers."""
    frame = (messages.__doc__ or "").split("\n\n", 1)[1].strip()
    text = GENERATED + f"""# The wire, protocol {messages.PROTOCOL}

One table, [codegen/wire/messages.py](../codegen/femtorque/codegen/wire/messages.py), makes the Python codec, the C
on the chip and this
page. A serial line of 8 data bits, no parity, one stop bit, at the baud rate of the board file.

{frame}

`J` is the number of joints, in the order of IDENT's mechanism. STATUS comes {messages.STATUS_HZ} times per second.

"""
    for message in messages.MESSAGES:
        sizes = [codec.payload_size(message, joints) for joints in (1, 6)]
        payload = f"{sizes[0]} bytes" if sizes[0] == sizes[1] else f"{sizes[0]} bytes of one joint, {sizes[1]} of six"
        text += f"## {message.name}, type {message.type}, to the {message.to}\n\n{message.doc} Payload: {payload}.\n\n"
        if message.fields:
            rows = [(f"`{f.name}`", f.type + ("" if f.length == 1 else f"[{f.length}]"), f.doc) for f in message.fields]
            text += table(("field", "type", "meaning"), rows) + "\n"
    for title, numbers, what in (
        ("States", messages.STATES, "STATUS.state"), ("Commands", messages.COMMANDS, "COMMAND.command"),
        ("Flags", messages.FLAGS, "bits of STATUS.flags"), ("Limits", messages.LIMITS, "bits of STATUS.limits"),
        ("Phases of FOLLOW", messages.FOLLOW_PHASES, "FOLLOWED.phase"),
        ("Touches", messages.FELT_TOUCHED, "bits of FELT.touched"),
        ("Limits in FOLLOW", messages.FOLLOW_LIMITS, "bits of FOLLOWED.limits"),
    ):
        text += f"## {title}\n\n{what}\n\n" + table(("name", "number", "meaning"), [
            (f"`{name}`", row[0], row[1]) for name, row in numbers.items()]) + "\n"
    text += "## Reset causes\n\nIDENT.reset_cause\n\n" + table(("name", "number"), [
        (f"`{name}`", number) for name, number in messages.RESETS.items()])
    return text


# -- Python -----------------------------------------------------------------------------------------------------------


class _Bare(str):
    """An annotation as it stands in the source, without quotes."""

    __repr__ = str.__str__


def api() -> str:
    """Every name of femtorque.__all__, from its docstring."""
    text = GENERATED + f"""# The Python API

The names that `from femtorque import ...` gives, version {femtorque.__version__}. Whatever else can be imported may
change without notice. [A notebook](../examples/three_link.ipynb) shows them at work. Positions are rad or m,
times s, torques N m or N; arrays have one column per joint, in the order of the mechanism file.

"""
    return text + "\n".join(_described(name, getattr(femtorque, name)) for name in sorted(femtorque.__all__))


def _described(name: str, thing: Any) -> str:
    shown = name if inspect.isclass(thing) else f"{name}{_signature(thing)}"
    text = f"## {name}\n\n" + (f"`{shown}`\n\n" if shown != name else "") + _prose(thing)
    if not inspect.isclass(thing):
        return text
    return text + "".join(_member(method, vars(thing)[method]) for method in vars(thing) if not method.startswith("_"))


def _member(name: str, member: Any) -> str:
    """A method or property of its own; fields are in the docstring of the class."""
    if isinstance(member, property):
        return f"\n### `.{name}`\n\n{_prose(member)}"
    function = getattr(member, "__func__", member)
    if not inspect.isfunction(function):
        return ""
    return f"\n### `.{name}{_signature(function)}`\n\n{_prose(function)}"


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    parameters = [p.replace(annotation=_Bare(p.annotation) if isinstance(p.annotation, str) else p.annotation,
                            default=_Bare("...") if inspect.isfunction(p.default) else p.default)
                  for p in signature.parameters.values() if p.name not in ("self", "cls")]
    returned = signature.return_annotation
    return str(signature.replace(parameters=parameters,
                                 return_annotation=_Bare(returned) if isinstance(returned, str) else returned))


def _prose(thing: Any) -> str:
    """A docstring as Markdown: what is typed becomes a block of code."""
    blocks = inspect.cleandoc(thing.__doc__ or "").split("\n\n")
    return "\n\n".join(_code(block) if block.startswith(">>>") else block for block in blocks) + "\n"


def _code(block: str) -> str:
    lines = [re.sub(r"^(>>>|\.\.\.) ?", "", line) if line.startswith((">>>", "...")) else f"# {line}"
             for line in block.splitlines()]
    return "```python\n" + "\n".join(lines) + "\n```"


def main() -> None:
    """Write every page beside this file."""
    for name, text in pages().items():
        (ROOT / "docs" / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
