"""Tests that a test fails if any element of the application's checks is removed. EQUIVALENT lists the exceptions, with
the reason why nothing changes.

`mutants.py` makes the mutants, and `mutation.py` runs the tests against them."""

import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from assurance.mutation.mutants import Mutator, Schemata
from assurance.mutation.mutation import TESTS
from assurance.proofs import sample
from femtorque.codegen.drive import application
from femtorque.codegen.toolchain import compiler

ROOT = Path(__file__).resolve().parents[2]
# tested files; mutation.py accepts other files on its command line
FILES = ("ft_safety.c", "ft_conditions.c", "ft_lab.c", "ft_law.c", "ft_knots.c", "ft_observer.c",
         "ft_watch.c", "ft_port.c",
         "ft_app.c", "ft_capture.c", "ft_report.c", "ft_heat.c")
# {files of drives on buses and of contact detection: their tests}
ON_BUSES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("ft_contact.c",): ("contact", "returns", "touches"),
    ("ft_mit.c", "ft_mini_cheetah.c", "ft_cubemars.c", "ft_damiao.c", "ft_robstride.c", "ft_field.h"): (
        "drive_frames",),
    ("ft_sts.c", "ft_feetech.c"): ("servo_packets", "servo_frames"),
    ("ft_travel.c",): ("travel",),
    ("ft_goal.c",): ("goal",),
    ("ft_bus.c",): ("bus", "bus_edges", "mixed_buses", "servos", "cutoff", "dynamixels"),
}
ALL = (*FILES, *(file for files in ON_BUSES for file in files))

# {file: {mutant: reason why the mutant changes nothing}}
EQUIVALENT: dict[str, dict[str, str]] = {
    "ft_safety.c": {
        "hold_here: s->source != FT_SOURCE_OFF: always":
            "without outputs this tick has already kept the motion at its place",
        "arm: ft_loops_first_mode(&c->step): left out": "the next step enters the mode of the motion, which is the "
                                                        "first",
        "probe: hold_here(s, c): left out":
            "a probe lets targets and step follow in every tick, and its law has no state",
        "go_back: hold_here(s, c): left out":
            "FLOAT lets targets and step follow in every tick, and its law has no state",
        "run_out: ft_control_contact(c)->way != 0u: always": "every other FOLLOW begins without a path",
        "table JOG: [FT_EVENT_SILENT] = { jog_no_more, JOG }: left out":
            "the last request is not younger than the last frame, so its time is over",
        "ft_safety_event: to->next == FAULT: always": "no way out of FAULT leaves the reaction at HOLD",
        "ft_safety_event: to->next == FAULT: always (2)": "no way out of FAULT leaves the reaction at PARK",
        "lie: s->reaction != FT_REACTION_PARK: never": "in FAULT only lying down can end",
        "lie: s->reaction = FT_REACTION_HOLD: left out":
            "the law that moved the joints also holds them until the brakes have closed",
        "lie: stay(s, c): left out": "the joints already stay there",
        "react: how == FT_REACTION_PARK: always": "no other reaction reads this state, and FOLLOW sets it at its start",
        "stays_held: s->state == HOLD: always": "the host is lost at rest only in HOLD",
        "stays_held: code == FT_FAULT_HOST_LOST: always": "the next tick finds a bad knot too",
        "dealt_with: s->reaction == FT_REACTION_PARK: always": "lying down does not change any other reaction",
        "dealt_with: s->state == FT_STATE_FAULT: always": "the reaction is PARK only in FAULT",
        "count_sags: s->sags <= FT_PARK_SAGS: always": "the count wraps after 49 days of a low supply",
        "at_rest: s->state != FOLLOW: always": "constant targets are at rest, so the fault comes a tick earlier",
        "table DISARMED: [FT_COMMAND_LOADER] = { outputs_off, LEAVING }: left out": "the outputs are already off",
        "table FAULT: [FT_COMMAND_LOADER] = { outputs_off, LEAVING }: left out": "refused while the outputs are on",
        "table ESTOP: [FT_COMMAND_LOADER] = { outputs_off, LEAVING }: left out": "the outputs are already off",
        "command: event > FT_EVENT_FOLLOW: never": "the link posts no such number",
        "at_rest: s->state != TRACK: always": "a motion is not settled from its first tick on",
        "at_rest: s->state != JOG: always": "a standing jog is at rest, so the fault comes a tick earlier",
        "listen_for_host: silent <= FT_HOST_LOST: always":
            "an armed arm is in FAULT long before the count wraps; otherwise no code reads the count",
        "ft_safety_tick: kinds != 0u: always": "every rule is of one of the kinds",
        "ft_safety_tick: motion_event != 0u: always": "no state knows event 0",
    },
    "ft_conditions.c": {
        "signs: ft_safety_sags(s) > FT_PARK_SAGS: boundary": "the rule checks the count too",
        "supply_not_low: ft_safety_sags(in->safety) > FT_PARK_SAGS: boundary":
            "the check begins a tick later, and another sign is present then",
        "standing: ft_size(in->seen->u[j]) <= ft_joint[j].rest: boundary":
            "a filtered velocity that is the bound in every bit",
        "resumable: !m->queue.flush: always": "a request for a flush leaves no motion paused",
        "knots_good: in->safety->alarms.set.of[FT_ALARM_KNOT] != 0u: always": "the condition is always true here",
        "knots_good: bad: always": "the condition is always true here",
        "ft_conditions_of_arm: { FT_COMMAND_ARM, FT_REFUSAL_ESTOP_ACTIVE, estop_released }: left out":
            "the state is ESTOP before the request is checked",
        "alarms: (a->set.of[FT_ALARM_MISSED] | a->set.of[FT_ALARM_MEMORY]) != 0: always":
            "a finding that does not exist has no effect",
        "alarms: a->set.of[FT_ALARM_BOARD] != 0u: always": "a finding that does not exist has no effect",
        "alarms: a->set.of[FT_ALARM_KNOT] != 0u && s->coming == FT_FAULT_NONE: always":
            "finds a fault that is already coming",
        "alarms: a->set.of[FT_ALARM_KNOT] != 0u: always": "a finding that does not exist has no effect",
        "alarms: s->coming == FT_FAULT_NONE: always": "finds a fault that is already coming",
        "alarms: a->set.any == 0u: never": "a finding that does not exist has no effect",
        "ft_suspects: kinds != 0u: always": "no rule of these kinds counts",
        "signs: !ft_safety_powered(s): never": "ft_counting() removes the findings that do not count",
        "signs: in->found->any: always": "a finding that does not exist has no effect",
        "signs: host_gone(s) || low(in->sensors) || high(in->sensors) || !ft_chip_outputs_enabled() || "
        "(FT_PARK_SUPPLY && ft_safety_sags(s) > FT_PARK_SAGS): always": "a finding that does not exist has no effect",
    },
    "ft_lab.c": {
        "plan_homing: stand(in->motion): left out": "the motion does not move until the brakes are open",
        "ft_lab_rest: lab->ticks = 0: left out": "each mode that counts sets the counter at its start",
        "ft_lab_rest: lab->search = FT_SOUGHT: left out": "only homing reads it, and homing begins with a search",
        "ft_lab_float: ft_lab_rest(lab): left out":
            "leading by hand does not read these values, and a jog sets them at its start",
        "ft_lab_seek: lab->pressed.ticks = 0: left out": "a tick without the condition restarts the streak",
        "stop_reached: lab->pressed.ticks = 0: left out": "a tick without the condition restarts the streak",
        "room: velocity > FT_C(0.0): boundary": "the rate is never 0 here",
        "allowed: left > distance: boundary": "a distance that is the bound in every bit",
        "stand: ft_motion_settled(m): never": "a count above the bound stays above it for 49 days",
        "plan_jog: lab->velocity != FT_C(0.0): never": "braking towards the other direction is equally fast",
        "come_back: lab->left <= FT_C(0.0): boundary": "a distance that is the bound in every bit",
        "come_back: lab->search = FT_SOUGHT: left out":
            "a joint that has come back has also come back in the next tick",
        "plan_homing: lab->search == FT_RETRACTING: always":
            "a joint that has come back has also come back in the next tick",
        "floating: at > c->upper: boundary": "at the limit the distance beyond it is 0",
        "floating: at < c->lower: boundary": "at the limit the distance beyond it is 0",
        "floating: fast > FT_C(0.0): boundary": "an excess speed of 0 gives a damping of 0",
        "most: state == FT_STATE_HOMING: always": "other modes begin without a search",
        "ft_lab_law: ft_size(torque) < BOUNDLESS: boundary": "a torque of exactly 1e30",
        "ft_lab_law: ft_size(volts) > in->bus_voltage: boundary": "a voltage that is the bound in every bit",
    },
    "ft_law.c": {
        "cut: ft_size(x) < BOUNDLESS: boundary": "a torque of exactly 1e30",
        "leads_back: at > c->upper: boundary": "the joint is beyond one of the limits here",
        "leads_back: torque > FT_C(0.0): boundary": "a torque of exactly 0",
        "leads_back: torque < FT_C(0.0): boundary": "a torque of exactly 0",
        "limit: ft_size(torque) <= c->effort: boundary": "a torque that is the bound in every bit",
        "supply: ft_size(volts) <= most: boundary": "a voltage that is the bound in every bit",
        "ft_law_tick: per_volt < BOUNDLESS: boundary": "a bus of exactly 1e-30 V",
        "ft_law_tick: FT_RARELY(!(per_volt < BOUNDLESS)): never":
            "this voltage is UNDER_VOLTAGE, under which no arm is held",
        "ft_law_tick: ft_found(found, &found->wild, 0): left out":
            "this voltage is UNDER_VOLTAGE, under which no arm is held",
    },
    "ft_contact.c": {
        "ft_contact_tick: !close(f, tau): never":
            "detection starts again in the next tick, and reports no torque and no touch until it has settled",
        "displacement: ft_size(way) < FT_C(1.0) / FT_HALF_RANGE: always":
            "the same tick notes this joint, so its torque no longer counts",
        "displacement: ft_size(way) < FT_C(1.0) / FT_HALF_RANGE: boundary": "a way that is the bound in every bit",
        "take: ft_size(r) < BOUNDLESS: boundary": "a torque of exactly 1e30",
        "take: most < BOUNDLESS: boundary": "a threshold of exactly 1e30",
        "take: j < found->wild: boundary": "each joint is checked once",
        "note: off > HALF: boundary": "a torque that is the bound in every bit",
        "note: off > FT_C(1.0): boundary": "a torque that is the bound in every bit",
        "ft_contact_quiet: ft_size(seen->u[j]) <= ft_joint[j].rest: boundary": "a rate that is the bound in every bit",
        "ft_contact_rest: !f->on: never": "it is already at rest",
        "ft_contact_tick: off > worst: boundary": "two joints with equal distances in every bit",
    },
    "ft_knots.c": {
        "ft_knots_take: bad(alarms, j): never": "bad() has noted the fault and returns false",
        "size: x < FT_C(0.0): boundary": "-0 has the size of 0",
        "inside: size(k->velocity[j]) <= most: boundary": "a rate that is the bound in every bit",
        "inside: size(k->acceleration[j]) < FT_C(1e30): boundary": "an acceleration of exactly 1e30",
        "smooth: size(ft_segment_velocity(p, FT_C(0.25) * T * (ft_real)i)) <= FT_C(1.05) * c->speed: boundary":
            "a rate that is the bound in every bit",
        "smooth: jump <= FT_C(0.1) * c->speed: boundary": "a jump that is the bound in every bit",
        "smooth: ft_segment_span(p) <= c->span: boundary": "a span that is the bound in every bit",
    },
    "ft_observer.c": {
        "doubt: ft_size(o->u[j]) <= ft_joint[j].overspeed: boundary": "a filtered rate that is the bound in every bit",
    },
    "ft_watch.c": {
        "ft_watch_code: at < image.size: one round less": "the bound is one byte less, but the last piece is longer",
        "ft_watch_code: left < START_PIECE: boundary": "a last piece of full size is the whole rest",
        "look_at_code: left < CODE_PIECE: boundary": "a last piece of full size is the whole rest",
        "look_at_constants: left < PIECE: boundary": "a last piece of full size is the whole rest",
        "look_at_constants: left < PIECE: always": "a whole table in one round gives the same result in a longer round",
    },
    "ft_port.c": {
        "dispatch: case FT_MSG_SENSE: left out": "no image under these tests has its plant at the host",
        "on_target: to->safety->state == FT_STATE_FOLLOW: always": "the first target of FOLLOW clears earlier targets",
        "send: ft_msg_put_u16(frame + 1, 0): left out": "the bytes are already 0",
        "send_due: !rx.ident_due: always": "without room for one message there is no room for the other",
        "post: ft_motion_prepare(&to->control->motion): left out": "the tick forms these numbers, and takes longer",
        "ft_port_idle: ft_motion_prepare(m): left out": "the tick forms these numbers, and takes longer",
        "ft_port_idle: ft_motion_prepare(m): left out (2)": "the tick forms these numbers, and takes longer",
        "take_frame: frame[0] != FT_MSG_SENSE: always": "a board with encoders has no SENSE",
        "end_of_frame: !rx.too_long: always": "a frame that is too long is not empty",
        "end_of_frame: !rx.too_long: always (2)":
            "the buffer is longer than any good frame, so a frame that fills it is bad",
        "take_byte: rx.too_long = true: left out":
            "the buffer is longer than any good frame, so a frame that fills it is bad",
        "receive: n < sizeof chunk: never": "the remaining rounds bring no bytes",
    },
    "ft_app.c": {
        "plan: source != FT_SOURCE_OFF: always": "without a lab mode the plan of the lab follows the joints too",
        "observe: found->any || tick == 0u: always": "finding nothing twice changes nothing",
        "account: t->cycles > t->cycles_max: boundary": "both values are equal",
        "ft_app_idle: ft_chip_wait(): left out": "the main loop runs without sleeping",
    },
    "ft_capture.c": {
        "ft_capture_start: ft_capture_on = false: left out (2)":
            "a tick in between takes a sample that no longer counts",
        "count: taken < FT_CAPTURE_SAMPLES: boundary": "the count is equal either way",
    },
    "ft_heat.c": {
        "follow: share > 1.0f: boundary": "1 is 1",
        "follow: warm.heat[i] > (warm.over[i] ? COOL : TOO_WARM): boundary": "a heat that is the bound in every bit",
    },
    "ft_report.c": {
        "copy_time: tick > 0u: always": "no STATUS is due before the first tick",
        "copy_time: tick > 0u: boundary": "no STATUS is due before the first tick",
        "ft_report_status: tick != time->tick: always": "after any number of copies the last copy is whole",
        "copy_text: length < room: boundary": "the length is equal either way",
        "ft_report_about: h.resets < UINT16_MAX: boundary": "65535 is 65535",
    },
    "ft_cubemars.c": {"ft_cubemars_hear: f->data[6] > COLDEST: boundary": "0 deg C either way"},
    "ft_bus.c": {
        "wrapped: left >= turn - turn / 2: boundary": "half a turn is as far either way",
        "wrapped: left < -(turn / 2): boundary": "half a turn is as far either way",
        "halves_of: ft_family_wraps(i): never": "within_turn() removes whole turns",
        "take_beat: d->state != FT_BUS_SILENT: always": "without an answer the same tick silences the drive again",
        "take_rest: !b->on: always": "the count of ticks is 0 while the outputs are on",
        "take: IS_WIRE(bus): always": "no drive on CAN counts as running",
        "rest: IS_WIRE(ft_drive[i].bus): always": "no drive on CAN counts as running",
        "silence: d->health = FT_BUS_SILENT: left out": "silenced again in every tick without heartbeats",
        "aim: low < high: boundary": "the limits differ",
        "aim: low < high: boundary (2)": "the limits differ",
        "ft_bus_form: b->since < ASKED_SINCE: always": "a larger count means the same",
        "ft_bus_form: b->since < ASKED_SINCE: boundary": "a larger count means the same",
        "mark_unpowered: b->drive[i].age = FT_SILENT_TICKS: left out": "unpowered() refuses ARM until then",
        "unpowered: !b->cutoff.on && IS_WIRE(ft_drive[i].bus): never": "mark_unpowered() has silenced the servos",
        "ft_bus_heard_of: unpowered(b, i): never": "mark_unpowered() has silenced the servos",
        "ft_bus_supply: state == FT_STATE_FAULT: always": "ESTOP and LEAVING cut it anyway; others latch no fault",
        "within_turn: away < 0: boundary": "0 rounds to 0",
        "take: said.volts = 0u: left out": "no drive on CAN uses the voltage",
        "ft_bus_tell: w->echoes < UINT8_MAX: boundary": "255 is 255",
        "forget: d->sure = false: left out":
            "the settings are requested again: in the same tick the drive rests and clears this flag",
        "silence: d->state != FT_BUS_SILENT: always":
            "a zero that is set during the silence is cleared when the drive answers",
        "note: homed[joint] = false: left out": "the joint is not armed until the drive answers, which sets the flag",
        "guess: ft_size(counts) <= (ft_real)ft_joint[j].counts: boundary": "a rate that is the bound in every bit",
        "moved: d->answered: never (2)": "for a servo within its turn, place plus travel is the present place",
        "ft_bus_find: !b->on: never": "ft_counting() removes the findings that do not count",
        "inside: (uint32_t)c->seen.coarse[j] - (uint32_t)ft_joint[j].lower <= ft_joint[j].room: boundary":
            "a position that is the bound in every bit",
        "share: told > LOW * b->supply: boundary": "a voltage that is the bound in every bit",
        "share: told < HIGH * b->supply: boundary": "a voltage that is the bound in every bit",
        "command: d->waited = 0: left out":
            "too long a wait is a fault; clearing the fault lets the drive rest, which resets the wait",
        "within: a - b <= most: boundary": "a difference that is the bound in every bit",
        "within: b - a <= most: boundary": "a difference that is the bound in every bit",
    },
    "ft_sts.c": {
        "ft_sts_pack: count < FT_WIRE_MOST: boundary": "both counts are equal",
    },
    "ft_feetech.c": {
        "ft_feetech_command: wanted > most: boundary": "the bound is the bound",
        "ft_feetech_command: wanted < -most: boundary": "the bound is the bound",
        "ft_feetech_command: wanted < 0.0f: boundary": "-0 has the size of 0",
        "ft_feetech_command: wanted < 0.0f: boundary (2)": "-0 is 0",
        "ft_feetech_command: wanted < 0.0f: boundary (3)": "without steps there is no direction",
    },
    "ft_goal.c": {
        "clamp: x < least: boundary": "the bound is the same number",
        "clamp: x > most: boundary": "the bound is the same number",
        "ahead: c->share < l->most: boundary": "the bound is the same number",
        "fits: duty < 0.0f: boundary": "-0 has the size of 0",
        "fits: duty - load <= apart: boundary": "a load that is the bound in every bit",
        "fits: load - duty <= apart: boundary": "a load that is the bound in every bit",
        "ft_goal_strains: g->strained < PATIENCE: boundary": "a count of 6 is as strained as 5",
    },
    "ft_travel.c": {
        "size: x < 0.0f: boundary": "-0 has the size of 0",
        "seeming: size(t->away) >= MOST * size(t->went): boundary": "a distance that is the bound in every bit",
        "judge: size(t->went - t->away) > allowed(t, range): boundary": "a distance that is the bound in every bit",
        "patience: size(t->away) < STILL: boundary": "a distance that is the bound in every bit",
        "ft_travel_tick: size(t->away) > FAR: boundary": "a distance that is the bound in every bit",
        "ft_travel_tick: answered: always (3)": "only an answer moves it on",
    },
    "ft_field.h": {
        "ft_field_encode: x < r->low: boundary": "the bound is the bound",
        "ft_field_encode: x > r->high: boundary": "the bound is the bound",
        "ft_field_carry: left <= step: boundary": "a remainder that is a whole step in every bit",
        "ft_field_carry: left >= -step: boundary": "a remainder that is a whole step in every bit",
    },
}


def campaign(folder: Path, *arguments: str) -> list[dict]:
    """Return the outcomes of the mutants. killer: the test that failed, or ""."""
    out, known = folder / "outcome.json", folder / "known.json"
    known.write_text(json.dumps([mutant for named in EQUIVALENT.values() for mutant in named]))
    done = subprocess.run([sys.executable, "-m", "assurance.mutation.mutation", out, *arguments, "--known", known],
                          cwd=ROOT,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(out.read_text())


def alive(outcomes: list[dict]) -> set[tuple[str, str]]:
    return {(o["file"], o["mutant"]) for o in outcomes if not o["killer"]}


def named() -> set[tuple[str, str]]:
    return {(file, mutant) for file, mutants in EQUIVALENT.items() for mutant in mutants}


# ---- the mutants ------------------------------------------------------------------------------------

SAMPLE = """
#define TWICE(x) ((x) < 2 ? (x) : 2)
/* if (comment) */
static int count(const int *a, int n)
{
    int i, found = 0;

    for (i = 0; i < n; i++)
        if (a[i] >= 0 && !(a[i] == 7))
            found++;
    if (TWO)
        note();
    FT_STORED();
    return found > 3 || found == 1;
}

static void nothing(void) { }
static const row table[] = { { 1, count }, { 2, nothing } };
"""


def test_the_mutants_of_a_few_lines():
    assert [str(m) for m in Mutator("sample.c", SAMPLE).found] == [
        "count: i < n: one round less",
        "count: a[i] >= 0 && !(a[i] == 7): always", "count: a[i] >= 0 && !(a[i] == 7): never",
        "count: a[i] >= 0: always", "count: a[i] >= 0: boundary", "count: !(a[i] == 7): always",
        "count: found++: left out", "count: note(): left out",
        "count: found > 3 || found == 1: always", "count: found > 3 || found == 1: never",
        "count: found > 3: never", "count: found > 3: boundary", "count: found == 1: never",
        "table: { 1, count }: left out",
    ]


def test_that_a_mutant_changes_what_it_says(tmp_path):
    """The sample marks the correct mutants as different, and returns the expected value under each mutant."""
    source = "#define TWO 0\n#define FT_STORED()\n#define note()\n" + SAMPLE.partition("static void nothing")[0]
    main = """
#include <stdio.h>
int main(void)
{
    static const int a[] = { 1, 0, 7, -1, 3, 5 };
    printf("%d ", count(a, 6));
    for (ft_mutant = 1; ft_mutant < 14; ft_mutant++)
        printf("%d", ft_mutant_hit[ft_mutant]);
    for (ft_mutant = 1; ft_mutant < 14; ft_mutant++)
        printf("%s%d", ft_mutant == 1 ? " " : "", count(a, 6));
    return 0;
}
"""
    for name, text in Schemata({"sample.c": source}).put_into({"sample.c": source}).items():
        (tmp_path / name).write_text(text + (main if name == "sample.c" else ""))
    subprocess.run([compiler(), "-w", "sample.c", "ft_mutate.c", "-o", "sample"], cwd=tmp_path, check=True)
    told = subprocess.run([tmp_path / "sample"], capture_output=True, text=True, check=True).stdout
    assert told == "1 1111111001100 0101010110011"


def test_that_mutants_have_names_of_their_own():
    schemata = Schemata({name: application()[name].read_text() for name in ALL})
    names = Counter((m.file, str(m)) for m in schemata.mutants)
    assert max(names.values()) == 1 and len(names) > 1500
    assert named() <= set(names)


# ---- the tests against the mutants -------------------------------------------------------------------------


def test_that_a_mutant_that_no_test_sees_is_told(tmp_path):
    """The tests of the pace do not test states, so some mutants must survive."""
    outcomes = campaign(tmp_path, "ft_observer.c", "--tests", "pace")
    assert len(alive(outcomes)) == len(outcomes) > 10


def test_that_a_guard_or_a_row_of_the_safety_tables_taken_away_turns_a_test_red(tmp_path):
    """This is a sample of `make bench`: safety conditions that are never true, requests and faults without a row."""
    outcomes = campaign(
        tmp_path, "ft_safety.c", "ft_conditions.c", "--tests", "safety", "brake", "heat", "link", "follow", "park",
        "--match", "refused or (a_fault and not knot) or reports or dropped or lost_host or bad_knot_in or powers_up"
                   " or sought or drops_the_outputs or low_supply or faults_are_counted or "
                   "brakes_are_open"
                   " or overloaded_motor or its_rom or whose_rom or lies_down_within or asked_for or short_dip"
                   " or takes_over or lost_in_motion or held_arm or brakes_hold",
        "--like", "^(command|permitted|take_request|fault|take_coming): .*: never"
                  "|^ft_(conditions|faults): (?!.*(LOOPS|MODE|HOMING))")
    assert alive(outcomes) <= named()
    assert len(outcomes) > 50


def test_that_a_check_of_what_drives_say_taken_away_turns_a_test_red(tmp_path):
    """This is a sample for buses: recognition and decoding of frames."""
    outcomes = campaign(tmp_path, "ft_damiao.c", "ft_robstride.c", "--tests", "drive_frames",
                        "--like", "_hear: .*: (always|never)|^is_setting: .*: never")
    assert alive(outcomes) <= named()
    assert len(outcomes) > 15


def test_that_mutants_that_the_tree_chooses_turn_a_test_red(tmp_path):
    """This is a sample of `make bench`: one file of drives with quick tests, and twenty of its mutants. The digest of
    the source tree determines the choice. The test takes about 10 s of processor time."""
    quick = [files for files, tests in ON_BUSES.items() if "bus" not in tests]
    files, *_ = sorted(quick, key=lambda files: sample.place(files[0], sample.tree()))
    mutants = Schemata({name: application()[name].read_text() for name in files}).mutants
    chosen = sorted(map(str, mutants), key=lambda name: sample.place(name, sample.tree()))[:20]
    like = f"^({'|'.join(map(re.escape, chosen))})$"
    outcomes = campaign(tmp_path, *files, "--tests", *ON_BUSES[files], "--like", like)
    assert alive(outcomes) <= named()
    assert len(outcomes) >= 20


@pytest.mark.bench
@pytest.mark.parametrize(("files", "tests"), [(FILES, TESTS), *ON_BUSES.items()], ids=lambda names: names[0])
def test_that_whatever_is_taken_away_turns_a_test_red_or_changes_nothing(tmp_path, files, tests):
    """If an unlisted mutant survives, a test is missing. A listed mutant that is killed must leave the list."""
    start = time.monotonic()
    outcomes = campaign(tmp_path, *files, "--tests", *tests)
    for file in files:
        of_file = [o for o in outcomes if o["file"] == file]
        print(f"{file}: {len(of_file)} mutants, {len(of_file) - len(alive(of_file))} turn a test red, "
              f"{len(EQUIVALENT.get(file, {}))} change nothing")
    print(f"in {time.monotonic() - start:.0f} s")
    assert alive(outcomes) == {(file, mutant) for file, mutant in named() if file in files}
