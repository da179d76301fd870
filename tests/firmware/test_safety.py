"""Tests of every cell of the state table, every refusal and every fault, with causes that robots can have."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.control import constants as control_source
from femtorque.codegen.mechanism import Home
from femtorque.codegen.mechanism.description import Brake
from femtorque.codegen.model import Model
from femtorque.codegen.motion import Knots
from femtorque.codegen.wire import (
    Command, Float, Follow, Gains, Hello, Jog, Knot, Poll, Probe, Seek, Target, messages, to_wire)
from tests.firmware.app import App, changed, in_hold, replace as patch, three_link
from tests.firmware.streaming import three_link_knots
from tests.support import oracle
from tests.support.boards import driven

STATES = {name: row[0] for name, row in messages.STATES.items()}
COMMANDS = {name: row[0] for name, row in messages.COMMANDS.items()}
EVENTS = {"HOME": 9, "FLOAT": 10, "JOG": 11, "SEEK": 12, "PROBE": 13, "GAINS": 14,
          "FOLLOW": 15, "PASSED": 16, "PAUSED": 17, "ENDED": 18, "SILENT": 19, "LEFT": 20, "FAULT": 21, "ESTOP": 22}
DRIVEN = ("HOLD", "TRACK", "HOMING", "FLOAT", "JOG", "PROBE", "CLOSING", "FOLLOW", "HELD")  # with outputs on

# Effect of a request whose conditions are met: the states that allow the request, and the next state from each of these
# states. In FAULT the reason of a refusal is the latched fault, in ESTOP the e-stop, and in other states the wrong
# state.
COMMAND_TABLE = {
    "ARM": {"DISARMED": "HOLD", "HOMING": "HOLD", "HELD": "HOLD"},
    "DISARM": {state: state if state in ("BOOT", "CHECK", "FAULT", "ESTOP", "LEAVING") else "DISARMED"
               for state in STATES},
    "START": {"HOLD": "TRACK"},
    "STOP": {"HOLD": "HOLD", "TRACK": "TRACK", "HOMING": "DISARMED", "FLOAT": "HOLD", "JOG": "JOG",
             "PROBE": "DISARMED", "FOLLOW": "FOLLOW"},
    "RESUME": {"HOLD": "TRACK"},
    "FLUSH": {"DISARMED": "DISARMED", "HOLD": "HOLD"},
    "CLEAR": {"FAULT": "DISARMED", "ESTOP": "DISARMED"},
    "LOADER": {"DISARMED": "LEAVING", "FAULT": "LEAVING", "ESTOP": "LEAVING"},
    "HOME": {"DISARMED": "DISARMED"},
    "FLOAT": {"HOLD": "FLOAT", "FLOAT": "FLOAT"},
    "JOG": {"HOLD": "JOG", "JOG": "JOG"},
    "SEEK": {"DISARMED": "HOMING", "HOMING": "HOMING"},
    "PROBE": {"DISARMED": "PROBE", "PROBE": "PROBE"},
    "GAINS": {"DISARMED": "DISARMED", "HOLD": "HOLD"},
    "FOLLOW": {"HOLD": "FOLLOW"},
}
REFUSED = {"FAULT": "FAULT_LATCHED", "ESTOP": "ESTOP_ACTIVE"}
# Effect of the board's events: the states that each event changes, and the next state.
EVENT_TABLE = {
    "PASSED": {"BOOT": "CHECK", "CHECK": "DISARMED", "CLOSING": "DISARMED"},
    "PAUSED": {"TRACK": "HOLD", "JOG": "HOLD", "FOLLOW": "HOLD", "PROBE": "DISARMED"},
    "ENDED": {"TRACK": "HOLD", "FOLLOW": "HOLD"},
    "SILENT": {"HOMING": "DISARMED", "FLOAT": "HOLD", "PROBE": "DISARMED"},
    "LEFT": {"HOLD": "HELD"},
    "FAULT": {state: "FAULT" for state in STATES if state not in ("ESTOP", "LEAVING")},
    "ESTOP": {state: "ESTOP" for state in STATES if state != "LEAVING"},
}


def in_lab(**safety):
    """Return the three-link arm with gain overlay. The zero of its first joint is at a stop."""
    mechanism = changed(encoder={"zero": "stop"}, home=Home(at=-1.57))
    return replace(mechanism, safety=replace(mechanism.safety, gain_overlay=(0.5, 2.0), **safety))


def request(app, event):
    """Return a valid message for an event of EVENTS."""
    token = app.token % 255 + 1
    return Command(token, COMMANDS[event]) if event in COMMANDS else {
        "FLOAT": Float(token, 50), "JOG": Jog(token, 0, 0.5), "SEEK": Seek(token, 0), "PROBE": Probe(token, 0, 0.0),
        "GAINS": Gains(token, 0, 32, 128, 64), "FOLLOW": Follow(token, messages.FOLLOW_AUTO, 20_000),
    }[event]


def knot(i, flags=0):
    """Return the knot of the three-link motion with this number."""
    k = three_link_knots()
    return Knot(flags, k.position[i].tolist(), k.rate[i].tolist(), k.acceleration[i].tolist())


JUMP = Knot(0, [0] * 3, [0.0] * 3, [0.0] * 3)  # far from the three-link motion


def tracking(app, knots=250, end=True):
    app.ready()
    app.start(three_link_knots(), most=knots, end=end)
    app.run(100)
    assert app.state == "TRACK"


def jumping(mechanism=None, **how):
    """Return a board that plays a motion and has received a bad knot."""
    app = App(mechanism, **how)
    tracking(app, knots=150, end=False)
    app.send(JUMP, seq=150)
    return app


def paused(app):
    tracking(app)
    assert app.command("STOP") == "NONE"
    app.run(300)
    assert app.state == "HOLD"


def faulted(app):
    app.lib.ft_app_missed()
    app.run(1)
    assert app.state == "FAULT"


def stopped(app):
    app.chip.estop = 1
    app.run(1)
    app.chip.estop = 0
    assert app.state == "ESTOP"


def homing(app):
    """Seek the first joint's zero to the end. The joint does not move, so it seems to be at its stop."""
    assert app.home() == "NONE"
    assert app.ask(request(app, "SEEK")) == "NONE"
    app.run(1200, follow=False)
    assert app.state == "HOMING" and app.flags == {"HOMED", "OUTPUTS"}


def floating(app):
    app.ready()
    assert app.ask(request(app, "FLOAT")) == "NONE"


def jogging(app):
    app.ready()
    assert app.ask(request(app, "JOG")) == "NONE"


def following(app):
    """Follow a moving target."""
    app.ready()
    assert app.ask(request(app, "FOLLOW")) == "NONE"
    start = app.status.target
    for i in range(12):
        wire = [x + i * 2**23 for x in start]
        app.send(Target(0, 0, 20_000 * i, 0, wire, [0.0] * 3))
        app.run(20)


def probing(app):
    assert app.home() == "NONE"
    assert app.ask(request(app, "PROBE")) == "NONE"


def leaving(app):
    assert app.command("LOADER") == "NONE"


def in_state(state, event=None, drive="voltage"):
    """Return an app in this state that meets all conditions of the event."""
    how = {"CLOSING": {"brake": Brake(0.2, 0.3)}, "HELD": {"host": "hold"}}.get(state, {})
    app = App(driven(in_lab(**how), drive))
    if state in ("BOOT", "CHECK"):
        app.lib.fake_state(STATES[state])
    elif state == "DISARMED":
        assert app.home() == "NONE"
    elif state == "HOLD" and event == "RESUME":
        paused(app)
    elif state == "HOLD":
        app.ready()
        app.stream(three_link_knots(), most=250)
    else:
        {"TRACK": tracking, "FAULT": faulted, "ESTOP": stopped, "HOMING": homing, "FLOAT": floating, "JOG": jogging,
         "PROBE": probing, "CLOSING": closing, "LEAVING": leaving,
         "FOLLOW": following, "HELD": left}[state](app)
    assert app.state == state or state in ("BOOT", "CHECK")
    return app


def left(app):
    """Lose the host in the middle of a motion, and hold."""
    tracking(app, knots=150, end=False)
    app.run(1100, alive=False)


def closing(app):
    app.ready()
    assert app.command("DISARM") == "NONE"


@pytest.mark.parametrize("event", COMMAND_TABLE)
def test_every_command_in_every_state(event):
    for state in STATES:
        app = in_state(state, event)
        refusal = app.home() if event == "HOME" else app.ask(request(app, event))
        then = COMMAND_TABLE[event].get(state)
        wanted = ("NONE", then) if then else (REFUSED.get(state, "WRONG_STATE"), state)
        assert (refusal, app.state) == wanted, state
        assert app.chip.outputs == (app.state in DRIVEN) and app.chip.shown == STATES[app.state], state


@pytest.mark.parametrize("event", EVENT_TABLE)
def test_every_event_in_every_state(event):
    for state in STATES:
        app, then = in_state(state), EVENT_TABLE[event].get(state, state)
        safe = app.chip.safe
        app.lib.fake_event(EVENTS[event])
        assert app.name(messages.STATES, app.lib.fake_state_now()) == then, state
        assert app.chip.safe - safe == (then in ("FAULT", "ESTOP", "DISARMED")
                                        and state not in ("CHECK" if event == "PASSED" else "", then)
                                        or (event, state) == ("PASSED", "FAULT")), state  # held by brakes first
        assert app.chip.outputs == (app.state in DRIVEN), state


def test_that_both_tables_cover_the_whole_message_table():
    assert set(COMMAND_TABLE) == set(COMMANDS) | {m.name for m in messages.MESSAGES if m.fields
                                                  and m.fields[0].name == "token"} - {"COMMAND"}
    assert len(COMMAND_TABLE) + len(EVENT_TABLE) == max(EVENTS.values())


# ---- the boot loader in ROM -------------------------------------------------------------------------


def test_that_the_board_leaves_for_its_rom_a_tenth_of_a_second_after_it_has_said_so():
    app = in_state("DISARMED")
    app.post("LOADER")
    app.run(100)
    assert app.chip.left == 0 and app.status.state == STATES["LEAVING"] and app.status.command_token == app.token
    app.run(1)
    assert app.chip.left == 1 and app.chip.outputs == 0


def test_that_a_fault_that_holds_the_joints_keeps_it_from_its_rom():
    app = in_hold(in_lab(motion="hold"))
    app.lib.fake_shift(0, 1 << 29)
    app.run(300, follow=False)
    assert app.state == "FAULT" and app.chip.outputs == 1
    assert app.command("LOADER") == "WRONG_STATE" and app.state == "FAULT"
    assert app.command("DISARM") == "NONE" and app.chip.outputs == 0
    assert app.command("LOADER") == "NONE" and app.state == "LEAVING"


def test_that_a_board_whose_rom_pulls_at_the_enable_pin_stays():
    app = in_state("DISARMED")
    app.chip.no_loader = 1
    assert app.command("LOADER") == "NO_LOADER" and app.state == "DISARMED"
    app.run(300)
    assert app.chip.left == 0


# ---- start ------------------------------------------------------------------------------------------


def test_that_targets_follow_the_joints_while_the_outputs_are_off():
    app = in_state("DISARMED")
    for _ in range(20):
        app.chip.counts[1] += 7
        record = app.run(1)
        assert np.array_equal(record["target"], record["position"])


@pytest.mark.parametrize("fault, mends, chip", [
    ("CLOCK", False, {"errors": 1}), ("CHIP", False, {"errors": 2}), ("CHIP", False, {"errors": 4}),
    ("CHIP", False, {"errors": 16}), ("CONVERTER", False, {"errors": 32}), ("CRYSTAL", False, {"errors": 64}),
    ("SUPPLY", True, {"errors": 128}), ("PWM_UPDATE", False, {"errors": 256}), ("TICK_TIMER", False, {"errors": 512}),
    ("HARD_FAULT", True, {"errors": 8}), ("WATCHDOG", True, {"reset_cause": messages.RESETS["WATCHDOG"]}),
])
def test_that_what_went_wrong_before_the_first_tick_is_a_fault(fault, mends, chip):
    app = App(**chip)
    assert (app.state, app.fault[0]) == ("FAULT", fault)
    assert app.command("ARM") == "FAULT_LATCHED"
    assert app.command("CLEAR") == ("NONE" if mends else "FAULT_LATCHED")
    assert app.state == ("DISARMED" if mends else "FAULT")
    assert app.chip.outputs == 0


def flipped(name):
    """Return a patch that flips one bit of the first joint's constants."""
    def flip(text):
        at = next(m.end() for m in re.finditer(rf"\.{name} = -?", text))
        return text[:at] + str(int(text[at]) ^ 1) + text[at + 1:]
    return flip


@pytest.mark.parametrize("name", ["lower", "seek_ticks", "per_torque"])
def test_that_a_flipped_bit_in_the_constants_is_a_fault(name):
    app = App(patches={"ft_config.c": flipped(name)})
    assert app.fault[0] == "CONFIGURATION"
    assert app.command("CLEAR") == "FAULT_LATCHED"


def test_that_the_last_fault_outlives_a_reset_until_it_is_cleared():
    app = App()
    faulted(app)
    assert app.chip.remembered == messages.FAULTS["TICK_OVERRUN"][0]
    again = App(remembered=app.chip.remembered)
    again.send(Hello())
    again.run(1)
    assert again.ident.last_fault == messages.FAULTS["TICK_OVERRUN"][0]
    assert again.state == "DISARMED"
    assert app.command("CLEAR") == "NONE"
    assert app.chip.remembered == 0


# ---- refusals ---------------------------------------------------------------------------------------


def test_that_arming_is_refused_by_name():
    app = App()
    assert app.command("ARM") == "NOT_HOMED"
    assert app.home() == "NONE"
    app.chip.estop = 1
    assert app.command("ARM") == "ESTOP_ACTIVE"
    assert app.command("CLEAR") == "ESTOP_ACTIVE"
    app.chip.estop = 0
    assert app.command("CLEAR") == "NONE"
    moving(app, 2)
    assert app.command("ARM") == "MOVING" and app.status.refusal_joint == 2
    app.run(200)
    assert app.command("ARM") == "NONE" and app.state == "HOLD"


def moving(app, joint):
    """Turn a joint. The joint still moves when the next command is executed."""
    for _ in range(100):
        app.chip.counts[joint] += 2
        app.run(1)
    app.chip.counts[joint] += 4


def limits_of(app, joint, beyond=0):
    """Return the lowest and the highest wire position of a joint. beyond: shift outwards, coarse units."""
    row = control_source.joint_constants(app.mechanism, app.joints[joint])
    return (row.lower - beyond) * control_source.COARSE, (row.upper + beyond) * control_source.COARSE


@pytest.mark.parametrize("joint", range(3))
@pytest.mark.parametrize("side", [0, 1])
def test_that_each_joint_may_be_armed_a_little_beyond_its_limit_and_no_further(joint, side):
    """Half as far as POSITION allows: 25 mrad. The last place is a quarter of a turn further out."""
    app = App(changed(limits={"lower": -1.6, "upper": 1.6}))
    spare = round(0.05 / (2.0 * np.pi) * 2**24) // 2
    start = to_wire([j.start for j in app.joints], app.joints).tolist()
    at = limits_of(app, joint, spare)[side]
    out = -control_source.COARSE if side == 0 else control_source.COARSE
    for position, refusal in (at, "NONE"), (at + out, "OUTSIDE_LIMITS"), (at + 2**22 * out, "OUTSIDE_LIMITS"):
        assert app.ask(messages.Home(app.token % 255 + 1,
                                  [position if j == joint else q for j, q in enumerate(start)])) == "NONE"
        assert app.command("ARM") == refusal
        assert refusal == "NONE" or app.status.refusal_joint == joint
        assert app.command("DISARM") == "NONE"
        app.run(200)


@pytest.mark.parametrize("joint", range(3))
def test_that_a_motion_may_begin_as_far_away_as_told_and_no_further(joint):
    app = in_hold()
    knots, held = three_link_knots(), app.see().target
    most = control_source.joint_constants(app.mechanism, app.joints[joint]).start
    for away, refusal in ((most + 1, "START_POSE"), (most, "NONE")):
        offset = [held[j] - int(knots.position[0, j]) + (away if j == joint else 0) for j in range(3)]
        app.stream(Knots(knots.position + np.int32(offset), knots.rate, knots.acceleration), most=250)
        assert app.command("START") == refusal
        assert refusal == "NONE" or app.status.refusal_joint == joint
        assert app.command("FLUSH") == ("NONE" if refusal != "NONE" else "WRONG_STATE")


def test_that_a_motion_paused_in_its_first_segment_is_not_started_again():
    slow = replace(three_link(), control=replace(three_link().control, knot_hz=5))
    app = in_hold(slow)
    start = np.array([j.start for j in app.joints])
    motion, t = oracle.quintic(start, start + 0.3, 2.0), np.arange(11) / 5
    app.stream(Knots(to_wire(motion(t), app.joints), motion.rate(t).astype(np.float32),
                     motion.acceleration(t).astype(np.float32)))
    buffered = app.see().buffered
    assert app.command("START") == "NONE"
    assert app.command("STOP") == "NONE"
    app.run(300)
    assert (app.state, app.status.buffered) == ("HOLD", buffered)
    assert app.command("START") == "NOTHING_BUFFERED"
    assert app.command("RESUME") == "NONE"


@pytest.mark.parametrize("share, fault, beyond", [(control_source.BUS_LOW, "UNDER_VOLTAGE", -np.inf),
                                                  (control_source.BUS_HIGH, "OVER_VOLTAGE", np.inf)])
def test_that_the_bus_may_be_as_low_and_as_high_as_told_and_no_further(share, fault, beyond):
    app = App()
    assert app.home() == "NONE"
    edge = np.float32(share * 24.0)
    app.chip.bus_voltage = np.nextafter(edge, np.float32(beyond))
    assert app.command("ARM") == "BUS_VOLTAGE"
    app.chip.bus_voltage = edge
    assert app.command("ARM") == "NONE"
    app.run(10)
    assert app.state == "HOLD"
    app.chip.bus_voltage = np.nextafter(edge, np.float32(beyond))
    app.run(1)
    expect(app, fault)


def test_that_homing_and_seeking_are_refused_while_a_joint_moves():
    app = App(in_lab())
    moving(app, 0)
    assert app.home() == "MOVING"
    assert "HOMED" not in app.flags
    moving(app, 0)
    assert app.ask(request(app, "SEEK")) == "MOVING"


def test_that_start_is_refused_by_name():
    app = in_hold()
    assert app.command("START") == "NOTHING_BUFFERED"
    knots = three_link_knots()
    away = Knots(knots.position + np.int32([0, 2**24, 0]), knots.rate, knots.acceleration)
    app.stream(away, most=250)
    assert app.command("START") == "START_POSE"
    assert app.status.refusal_joint == 1
    assert app.command("FLUSH") == "NONE"
    assert app.see().buffered == 0
    app.stream(knots, most=10)
    assert app.command("START") == "NOTHING_BUFFERED"  # too few knots for a stop, and no END
    assert app.command("FLUSH") == "NONE"
    app.start(knots, most=250)


def test_that_the_feedforward_of_a_motion_is_of_its_path_from_the_first_tick():
    """The held pose may differ slightly from the motion's start. The feed-forward nevertheless follows the path."""
    records = []
    for beside in (0.0, 0.004):
        app = App(three_link())
        assert app.home([j.start + beside for j in app.joints]) == "NONE"
        assert app.command("ARM") == "NONE"
        app.stream(three_link_knots(), most=250)
        app.post("START")
        records.append(app.run(10, follow=False))
    on_path, off_path = records
    np.testing.assert_allclose(off_path["torque_ff"][3:], on_path["torque_ff"][3:], atol=1e-5)
    assert np.abs(off_path["torque_ff"][0] - on_path["torque_ff"][0]).max() > 1e-3


def test_that_an_unknown_command_is_refused_by_name():
    app = App()
    for number in (0, 9, 10, 14, 15, 20, 21, 200, 255):
        assert app.command(number) == "UNKNOWN"
    assert app.state == "DISARMED"


def test_that_every_refusal_was_reached_above():
    """Every refusal occurs here or in the files of closed loops, brakes, loads, buses, following or parking."""
    files = {f"test_{name}" for name in ("safety", "loops", "brake", "heat", "bus", "follow", "park")}
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py") if path.stem in files)
    assert all(f'"{name}"' in text for name in messages.REFUSALS)


def test_that_the_first_joint_without_a_zero_is_named():
    app = App(in_lab())
    assert app.command("ARM") == "NOT_HOMED"
    assert (app.status.refusal_joint, app.status.unhomed) == (0, 0)
    homing(app)
    assert app.status.unhomed == 255
    app.ask(Seek(app.token % 255 + 1, 2))
    assert app.status.unhomed == 2
    assert app.command("ARM") == "NOT_HOMED"
    assert app.status.refusal_joint == 2


@pytest.mark.parametrize("state, message", [
    ("HOLD", Float(1, 81)), ("HOLD", Float(1, 255)),
    ("HOLD", Jog(1, 3, 0.1)), ("HOLD", Jog(1, 255, 0.0)), ("HOLD", Jog(1, 0, 0.81)), ("HOLD", Jog(1, 0, -0.81)),
    ("HOLD", Jog(1, 1, float("nan"))), ("HOLD", Jog(1, 1, float("inf"))),
    ("DISARMED", Seek(1, 3)), ("DISARMED", Seek(1, 200)),
    ("DISARMED", Probe(1, 3, 0.1)), ("DISARMED", Probe(1, 3, 0.0)), ("PROBE", Probe(1, 0, 1.36)),
    ("PROBE", Probe(1, 0, float("nan"))),
    ("DISARMED", Probe(1, 0, 0.1)), ("DISARMED", Probe(1, 0, float("nan"))),
    ("HOLD", Gains(1, 3, 64, 64, 64)), ("HOLD", Gains(1, 0, 31, 64, 64)), ("HOLD", Gains(1, 0, 64, 129, 64)),
    ("HOLD", Gains(1, 0, 64, 64, 0)),
])
def test_that_what_is_out_of_bounds_is_refused(state, message):
    app = in_state(state)
    assert app.ask(replace(message, token=app.token % 255 + 1)) == "OUT_OF_BOUNDS"
    assert app.state == state


def test_that_a_zero_that_is_told_is_not_sought():
    app = App()
    assert app.ask(Seek(app.token % 255 + 1, 1)) == "NO_SEEKING"
    assert app.status.refusal_joint == 1


def test_that_gains_of_a_file_without_an_overlay_cannot_be_changed():
    app = App()
    assert app.ask(Gains(1, 0, 64, 65, 64)) == "OUT_OF_BOUNDS"
    assert app.ask(Gains(2, 0, 64, 64, 64)) == "NONE"


@pytest.mark.parametrize("event", ["ARM", "SEEK", "PROBE"])
@pytest.mark.parametrize("refusal, chip", [
    ("BUS_VOLTAGE", {"bus_voltage": 10.0}), ("BUS_VOLTAGE", {"bus_voltage": 40.0}),
    ("OVER_TEMPERATURE", {"temperature": 90.0}), ("DRIVER", {"driver_fault": 1}),
    ("DRIVER_NOT_READY", {"not_ready": 1}),
    ("ESTOP_ACTIVE", {"estop": 1}),
    ("CURRENT_SENSOR", {"current_off": 1, "current_joint": 2}),
])
def test_that_what_powers_up_looks_at_the_board_first(event, refusal, chip):
    app = in_state("DISARMED", drive="current" if "current_off" in chip else "voltage")
    for name, value in chip.items():
        setattr(app.chip, name, value)
    app.run(2)
    assert app.ask(request(app, event)) == refusal
    assert app.status.refusal_joint == chip.get("current_joint", 255)


# ---- reactions to faults ----------------------------------------------------------------------------


def run_away(app, counts):
    """Turn a joint until the board enters a fault."""
    for _ in range(200):
        app.chip.counts[1] += counts
        app.run(1, follow=False)
        if app.lib.fake_state_now() == STATES["FAULT"]:
            break


# Cause of each fault in HOLD, and the effect of each reaction that its class allows.
CAUSES = {
    "TICK_OVERRUN": lambda app: app.lib.ft_app_missed(),
    "NOT_FINITE": lambda app: app.lib.fake_poison(1, float("nan")),
    "ENCODER": lambda app: app.chip.counts.__setitem__(2, 1000),
    "UNDER_VOLTAGE": lambda app: setattr(app.chip, "bus_voltage", 15.0),
    "OVER_VOLTAGE": lambda app: setattr(app.chip, "bus_voltage", 33.0),
    "OVER_TEMPERATURE": lambda app: setattr(app.chip, "temperature", 99.0),
    "DRIVER": lambda app: setattr(app.chip, "driver_fault", 1),
    "FOLLOWING": lambda app: run_away(app, 15),
    "OVERSPEED": lambda app: run_away(app, 20),
    "POSITION": lambda app: app.lib.fake_shift(1, 3 * 2**29),
    "HOST_LOST": lambda app: app.run(1100, alive=False),
    "KNOT": lambda app: app.send(Knot(2, [0] * 3, [0.0] * 3, [0.0] * 3), seq=app.see().ack),
}
# other test files cause these faults
NOT_HERE = {"OVERLOAD", "ENCODER_STUCK", "HOMING", "LOOPS_SINGULAR", "MODE", "DRIVE_SILENT", "DRIVE_FAULT", "BUS_OFF",
            "LOW_SUPPLY"}


def test_that_a_joint_far_beyond_its_limit_is_a_fault():
    """The joint moves slowly and stays near its target, so no other fault occurs first."""
    app = App()
    assert app.home([-1.57, 2.55, 0.0]) == "NONE"
    assert app.command("ARM") == "NONE"
    for _ in range(200):
        app.chip.counts[1] += 1
        app.run(1, follow=False)
    expect(app, "POSITION", 1)


def test_that_every_fault_of_a_class_has_a_cause_here():
    faults = {fault for faults, _, _ in messages.FAULT_CLASSES.values() for fault in faults}
    assert faults == set(CAUSES) | NOT_HERE


@pytest.mark.parametrize("fault, name, reaction", [
    (fault, name, reaction) for name, (faults, allowed, _) in messages.FAULT_CLASSES.items()
    for fault in faults if fault not in NOT_HERE for reaction in allowed if reaction != "park"  # see test_park.py
])
def test_that_each_fault_is_reacted_to_as_the_file_says(fault, name, reaction):
    app = in_hold(in_lab(**{name: reaction}))
    if fault == "KNOT":
        app.stream(three_link_knots(), most=100)
    CAUSES[fault](app)
    app.run(3, follow=False)
    waits = fault == "HOST_LOST" and reaction == "hold"
    assert (app.state, app.fault[0]) == ("HELD" if waits else "FAULT", fault)
    torque = np.abs(app.run(20, follow=False)["torque"])
    assert app.chip.outputs == (reaction != "coast")
    assert ("OUTPUTS" in app.flags) == (reaction != "coast")
    if reaction == "hold":
        assert torque.max() > 0.5  # of gravity
    else:
        assert torque.max() == 0.0 and max(abs(d) for d in app.chip.duty) == 0.0
    app.post("DISARM")
    while app.chip.outputs and len(app.trace) < 10_000:
        app.run(1, follow=False)
    assert not any(app.chip.duty)  # the duty is zero since the tick in which the outputs went off
    assert not app.run(5, follow=False)["torque"].any()
    assert (app.state, app.chip.outputs) == ("DISARMED" if waits else "FAULT", 0)


def test_that_a_held_arm_lets_go_when_worse_comes():
    app = in_hold(in_lab(host="hold", electrical="brake"))
    app.run(1100, alive=False)
    assert (app.fault[0], app.chip.outputs) == ("HOST_LOST", 1)
    assert np.abs(app.run(5)["torque"]).max() > 0.5
    app.chip.bus_voltage = 33.0
    app.run(2)
    assert np.abs(app.run(5)["torque"]).max() == 0.0
    assert (app.state, app.fault[0], app.chip.outputs) == ("FAULT", "OVER_VOLTAGE", 1)  # the motors brake
    assert app.command("ARM") == "FAULT_LATCHED"
    app.chip.bus_voltage = 24.0
    assert np.abs(app.run(5)["torque"]).max() == 0.0  # the motors continue to brake
    app.chip.counts[2] += 1000
    app.run(2)
    app.chip.estop = 1
    app.run(2)
    assert (app.state, app.chip.outputs) == ("ESTOP", 0)


def test_that_the_next_host_takes_over_an_arm_that_is_held_without_letting_it_go():
    app = in_state("HELD")
    assert app.fault[0] == "HOST_LOST" and app.chip.remembered == messages.FAULTS["HOST_LOST"][0]
    safe, before = app.chip.safe, app.run(1)
    app.send(Target(0, 0, 0, 0, [0] * 3, [0.0] * 3))  # from the lost host
    assert sent(app) == 0
    app.send(Command(app._next(), COMMANDS["ARM"]), tag=app.tag ^ 1)  # from a host for another mechanism
    app.run(20)
    assert (app.state, app.status.buffered, app.fault[0]) == ("HELD", 0, "HOST_LOST")
    app.chip.not_ready, app.chip.temperature = 1, 80.0
    record = app.run(100)  # a host that only reads
    assert app.command("ARM") == "NONE" and (app.state, app.fault) == ("HOLD", ("NONE", 255))
    assert app.chip.remembered == 0 and app.chip.safe == safe and app.flags == {"HOMED", "OUTPUTS"}
    record = np.concatenate([before, record, app.run(100)])
    assert np.all(record["target"] == record["target"][0]) and np.all(np.abs(record["torque"]).max(axis=1) > 0.5)
    assert app.command("RESUME") == app.command("START") == "NOTHING_BUFFERED"
    app.run(1100, alive=False)
    assert app.state == "HELD"


def test_that_an_arm_whose_host_was_lost_in_motion_is_held_for_the_next_one_once_it_is_at_rest():
    app = App(in_lab(host="hold"), patches=soon_lost())
    tracking(app)
    app.run(160, alive=False)
    assert app.lib.fake_state_now() == STATES["TRACK"]
    app.run(500, alive=False)
    assert app.lib.fake_state_now() == STATES["HELD"]


def test_that_brakes_hold_an_arm_whose_host_is_gone():
    app = in_hold(in_lab(host="hold", brake=Brake(0.05, 0.1)))
    app.run(1050, alive=False)
    assert (app.state, app.command("ARM"), app.chip.outputs) == ("FAULT", "FAULT_LATCHED", 1)
    app.run(100)
    assert app.chip.outputs == app.chip.brake == 0


def test_that_a_braking_arm_goes_on_braking_when_its_host_is_lost():
    """HOST_LOST first stops an arm on its path. An arm that brakes no longer follows a path."""
    app = in_hold(in_lab(electrical="brake", host="coast"))
    app.chip.bus_voltage = 33.0
    app.run(20)
    app.run(1200, alive=False)
    assert (app.state, app.chip.outputs, app.fault[0]) == ("FAULT", 1, "OVER_VOLTAGE")


def test_that_a_mode_without_a_law_coasts_where_it_cannot_hold():
    app = App(in_lab(motion="hold"))
    probing(app)
    run_away(app, 20)
    assert app.chip.outputs == 0 and not app.run(5, follow=False)["torque"].any()  # off from the tick of the fault on
    expect(app, "OVERSPEED", 1)


@pytest.mark.parametrize("begin", [jogging, floating, tracking, following, App.ready])
def test_that_an_arm_under_the_law_is_held_where_it_is(begin):
    app = App(in_lab(motion="hold"))
    begin(app)
    run_away(app, 20)
    assert app.chip.outputs == 1
    record = app.run(5, follow=False)
    assert np.array_equal(record["target"][-1], record["position"][-1])
    assert np.abs(record["torque"]).max() > 0.5  # of gravity
    assert (app.fault[0], app.status.buffered) == ("OVERSPEED", 0)


def test_that_an_arm_held_after_a_fault_does_not_creep():
    """The fault persists, but the reaction does not start again at the joint's new position."""
    app = in_hold(in_lab(motion="hold", stuck_s=10.0))
    run_away(app, 20)
    held = app.run(1, follow=False)["target"][0].copy()
    for _ in range(6):
        app.chip.counts[1] += 20
        record = app.run(1, follow=False)
    assert record["position"][0, 1] - held[1] > 100 * 2**32 // 8192
    assert np.array_equal(record["target"][0], held) and app.chip.outputs == 1


def test_that_a_braking_arm_has_forgotten_its_motion():
    app = App(in_lab(electrical="brake"))
    tracking(app)
    app.chip.bus_voltage = 33.0
    app.run(3)
    assert (app.state, app.chip.outputs, app.status.buffered) == ("FAULT", 1, 0)
    assert app.fault[0] == "OVER_VOLTAGE"


def test_that_a_braking_joint_is_sought_for_no_more():
    app = App(in_lab(electrical="brake"))
    assert app.ask(request(app, "SEEK")) == "NONE"
    assert app.flags >= {"SEEKING"}
    app.chip.bus_voltage = 33.0
    app.run(2)
    assert (app.state, app.flags) == ("FAULT", {"OUTPUTS"})


def soon_lost():
    """Return a patch of the time-out, so that the host counts as lost before the arm has come to rest."""
    return {"ft_config.h": patch("#define FT_HOST_LOST 1000u", "#define FT_HOST_LOST 150u")}


@pytest.mark.parametrize("cause, reaction, fault", [
    (lambda app: setattr(app.chip, "bus_voltage", 33.0), {"electrical": "brake"}, "OVER_VOLTAGE"),
    (lambda app: run_away(app, 20), {"motion": "hold"}, "OVERSPEED"),
])
def test_that_a_fault_on_the_way_to_another_takes_its_place(cause, reaction, fault):
    """Without its host the arm would coast once at rest. The arm shows the other fault's reaction."""
    app = App(in_lab(**reaction), patches=soon_lost())
    tracking(app)
    app.run(160, alive=False)
    assert app.state == "TRACK"
    cause(app)
    app.run(20)
    app.chip.bus_voltage = 24.0
    app.run(200)
    assert (app.state, app.fault[0], app.chip.outputs) == ("FAULT", fault, 1)


def test_that_an_e_stop_takes_the_place_of_a_fault_that_was_to_come():
    app = jumping()
    app.run(3)
    stopped(app)
    assert app.command("CLEAR") == "NONE"
    assert (app.state, app.fault) == ("DISARMED", ("NONE", 255))


# ---- faults -----------------------------------------------------------------------------------------


def expect(app, fault, joint=255):
    assert app.fault == (fault, joint)
    assert app.state == "FAULT"
    assert app.chip.outputs == 0
    assert max(abs(d) for d in app.chip.duty) == 0.0
    assert app.chip.safe > 0


def sees(**what):
    """Return a cause that makes the chip report these values."""
    return lambda app: [setattr(app.chip, name, value) for name, value in what.items()]


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize("state, cause, fault, joint", [
    ("TRACK", lambda app: app.lib.ft_app_missed(), "TICK_OVERRUN", 255),
    *(("HOLD", lambda app, torque=torque: app.lib.fake_poison(1, torque), "NOT_FINITE", 1)
      for torque in (NAN, INFINITE, -INFINITE)),
    ("HOLD", lambda app: app.chip.counts.__setitem__(2, 37), "ENCODER", 2),
    *(("HOLD", sees(bus_voltage=volts), "UNDER_VOLTAGE", 255) for volts in (NAN, 0.0, 16.0)),
    ("HOLD", sees(bus_voltage=32.0), "OVER_VOLTAGE", 255),
    ("HOLD", sees(dropped=1), "BREAK", 255),
])
def test_that_what_goes_wrong_in_one_tick_is_a_fault(state, cause, fault, joint):
    app = in_state(state)
    cause(app)
    app.run(1, follow=fault != "ENCODER")
    expect(app, fault, joint)
    assert np.all(np.isfinite(list(app.chip.duty)))


@pytest.mark.parametrize("state, cause, fault, mends", [
    *(("HOLD", sees(temperature=celsius), "OVER_TEMPERATURE", True) for celsius in (85.1, INFINITE, NAN)),
    ("HOLD", sees(driver_fault=1), "DRIVER", True),
    ("DISARMED", sees(stack_left=1), "STACK", False), ("HOLD", sees(stack_left=1), "STACK", False),
])
def test_that_what_the_main_loop_sees_is_a_fault(state, cause, fault, mends):
    """mends: the cause can disappear, and then CLEAR works. If mends is false, the fault stays until a reset."""
    app = in_state(state)
    app.chip.temperature = 85.0
    app.run(5)
    assert (app.state, app.status.temperature) == (state, 85000)
    cause(app)
    app.run(2)
    expect(app, fault)
    assert app.command("CLEAR") == ("NONE" if mends else "FAULT_LATCHED")


def test_that_a_joint_left_behind_is_a_fault_after_its_time():
    app = App(in_lab(stuck_s=10.0))  # long stuck_s, so that ENCODER_STUCK does not occur first
    tracking(app)
    record = app.run(3000, follow=False)
    expect(app, "FOLLOWING", 0)
    # the torque stays on for 50 ms after the limit is exceeded
    away = np.abs((record["target"][:, 0].astype(np.int64) - record["position"][:, 0]) * 2 * np.pi / 2**32)
    limit = 2.0 * 4.5 / 35.4
    first, off = np.flatnonzero(away > limit)[0], np.flatnonzero(record["torque"][:, 0] != 0.0)[-1]
    assert off - first == 50


def test_that_an_encoder_that_does_not_count_under_full_torque_is_a_fault():
    app = App(changed(limits={"effort": 0.3}))  # less than gravity needs
    assert app.home([0.0, 0.0, 0.0]) == "NONE"
    app.post("ARM")
    record = app.run(400, follow=False)
    expect(app, "ENCODER_STUCK", 0)
    # 0.1 s at the torque limit, and one tick more
    assert np.count_nonzero(record["torque"][:, 0] == np.float32(0.3)) == 101


def test_that_a_joint_held_at_its_most_by_what_it_carries_is_no_fault_while_it_counts():
    app = App(changed(limits={"effort": 0.3}))
    assert app.home([0.0, 0.0, 0.0]) == "NONE"
    assert app.command("ARM") == "NONE"
    for n in range(20):
        for j in range(app.J):
            app.chip.counts[j] += 1 if n % 2 else -1
        app.run(80, follow=False)
    assert app.limits & messages.LIMITS["TORQUE"][0]
    assert app.fault[0] == "NONE"


def test_that_all_of_the_drivers_is_looked_at_before_what_may_arm_and_a_little_in_each_round():
    app = App()
    app.home()
    looked, rounds = app.chip.looked, app.chip.rounds
    app.command("ARM")
    assert app.chip.looked == looked + 1 and app.chip.rounds > rounds + 1
    app.command("STOP")
    assert app.chip.looked == looked + 1  # the outputs are on, so only one register is read per round


def test_that_what_a_driver_reports_is_told():
    app = App()
    app.chip.driver_status = 1 << 28 | 1 << 10 | 1 << 8
    app.run(20)
    assert app.status.driver_status == 1 << 28 | 1 << 10 | 1 << 8


@pytest.mark.parametrize("cause, fault",
                         [(1, "OVER_CURRENT"), (2, "CURRENT_SENSOR"), (3, "CURRENT_SIGN"), (4, "CURRENT_LOOP")])
@pytest.mark.parametrize("state", ["HOLD", "TRACK", "JOG", "FLOAT", "HOMING", "PROBE"])
def test_that_a_current_loop_that_drops_the_outputs_is_named_with_its_joint(state, cause, fault):
    app = in_state(state, drive="current")
    app.chip.current_fault, app.chip.current_joint, app.chip.dropped = cause, 1, 1
    app.run(1)
    assert (app.state, app.fault) == ("FAULT", (fault, 1))


@pytest.mark.parametrize("event", ["ARM", "SEEK", "PROBE"])
def test_that_a_low_supply_of_the_chip_keeps_the_outputs_off_by_its_own_name(event):
    """CLEAR accepts the fault of the start. The refusal SUPPLY must then say why the outputs stay off."""
    app = App(in_lab(), errors=128)
    assert app.fault[0] == "SUPPLY" and app.command("CLEAR") == "NONE"
    app.home()
    app.chip.supply_low = 1
    assert app.ask(request(app, event)) == "SUPPLY" and app.state == "DISARMED" and app.chip.outputs == 0
    app.chip.supply_low = 0
    assert app.command("ARM") == "NONE"


def seeing_all(old, new):
    """Return a patch whose new code may read the whole state of the application."""
    return lambda text: '#include "ft_state.h"\n' + patch(old, new)(text)


@pytest.mark.parametrize("table", [0, 1, 2])
def test_that_constants_that_change_while_the_board_runs_are_a_fault(table):
    """The main loop checks constants all the time. Flash is constant, so the test changes the check sum."""
    changing = f"ft_crc32_more(round_.crc, bytes + round_.at, n) ^ (ft.time.tick >= 1000u && round_.table == {table}u)"
    app = in_hold(patches={"ft_watch.c": seeing_all("ft_crc32_more(round_.crc, bytes + round_.at, n)", changing)})
    app.run(900)
    assert app.state == "HOLD"
    app.run(300)
    expect(app, "CONFIGURATION")
    assert app.command("CLEAR") == "FAULT_LATCHED"


CODE = 5000  # bytes of the fake chip's image; a round checks 64 of them


@pytest.mark.parametrize("at", [0, 63, 64, 4095, 4096, CODE - 1])
def test_that_a_byte_of_the_image_that_changes_while_the_board_runs_is_a_fault(at):
    app = in_state("HOLD")
    app.run(2 * CODE // 64)
    assert app.state == "HOLD"
    app.chip.code[at] ^= 0x10
    app.run(2 * CODE // 64 + 20)
    expect(app, "CODE")
    assert app.chip.outputs == 0
    assert app.command("CLEAR") == "FAULT_LATCHED"


@pytest.mark.parametrize("at", [0, 4095, 4096, CODE - 1])
@pytest.mark.parametrize("errors", [0, 2, 8, 128])
def test_that_a_board_whose_image_has_changed_does_not_start(at, errors):
    """If the image has changed, the board ignores all other results of its start."""
    app = App(flipped=at, errors=errors)
    assert (app.state, app.fault[0]) == ("FAULT", "CODE")
    assert app.command("ARM") == app.command("CLEAR") == "FAULT_LATCHED"
    assert app.chip.outputs == 0


def test_that_a_start_feeds_the_watchdog_while_it_looks_at_the_image():
    assert App().chip.fed == 2  # fed once every 4096 bytes, which take 5 ms on the slow clock


def test_that_tables_that_change_are_told_as_such_by_whatever_finds_them():
    """The tables are also part of the image, so two checks may find the change."""
    wrong = seeing_all("return whole;", "return whole && ft.time.tick < 100u;")
    app = in_hold(patches={"ft_watch.c": wrong})
    app.chip.code[0] ^= 1
    app.run(2 * CODE // 64 + 20)
    expect(app, "CONFIGURATION")


def test_that_a_lost_host_means_a_stop_on_the_path_then_outputs_off():
    app = in_state("TRACK")
    record = app.run(1500, alive=False)
    expect(app, "HOST_LOST")
    moving_ = np.flatnonzero(np.abs(record["target_rate"]).max(axis=1) > 0)
    assert 100 + 240 <= moving_[-1] <= 100 + 270  # host silent for 0.1 s, then a stop within 0.25 s
    on = np.flatnonzero(np.abs(record["torque"]).max(axis=1) > 0)
    assert 990 <= on[-1] <= 1010


def test_that_a_crash_is_the_last_fault():
    app = App(errors=8, remembered=messages.FAULTS["FOLLOWING"][0])
    app.send(Hello())
    app.run(1)
    assert app.ident.last_fault == messages.FAULTS["HARD_FAULT"][0]


def test_that_a_host_that_comes_back_in_time_can_resume():
    app = in_state("TRACK")
    app.run(400, alive=False)
    assert app.state == "HOLD"
    assert "HOST_SILENT" in app.flags
    assert app.command("RESUME") == "NONE"
    assert app.state == "TRACK"
    assert not app.flags & {"HOST_SILENT", "STOPPED", "UNDERRUN"}


def test_that_the_bounds_of_a_silent_host_are_exact():
    """The board sees silence a tick after the time-out, and faults a tick after ten time-outs."""
    app = App()
    floating(app)
    app.send(Poll())
    app.run(1, alive=False)
    app.run(100, alive=False)
    assert app.lib.fake_state_now() == STATES["FLOAT"]
    app.run(1, alive=False)
    assert app.lib.fake_state_now() == STATES["HOLD"]
    app.run(900, alive=False)
    assert app.lib.fake_state_now() == STATES["HOLD"]
    app.run(1, alive=False)
    assert app.lib.fake_state_now() == STATES["FAULT"]


def test_that_a_fault_at_rest_is_taken_at_once():
    app = in_hold()
    bad_knot(app, 100, rate=(2, lambda v: float("nan")))
    assert app.lib.fake_state_now() == STATES["FAULT"]


def test_that_a_bad_knot_ends_a_jog():
    app = App()
    jogging(app)
    app.run(20)
    app.stream(three_link_knots(), most=100, end=False)
    app.send(JUMP, seq=100)
    record = app.run(200)
    on = np.flatnonzero(np.any(record["torque"] != 0.0, axis=1))[-1]
    assert 0 < on < 60  # the ramp from 0.1 s of a jog, without the time-out of the jog
    assert np.abs(record["target_rate"][on]).max() == 0.0
    expect(app, "KNOT", 0)


def test_that_a_host_that_goes_on_jogging_does_not_put_off_the_fault_of_a_bad_knot():
    app = in_state("JOG")
    app.run(20)
    app.stream(three_link_knots(), most=100, end=False)
    app.send(JUMP, seq=100)
    said = [app.ask(request(app, "JOG")) for _ in range(10)]
    assert said == ["FAULT_LATCHED"] * 10
    expect(app, "KNOT", 0)


@pytest.mark.parametrize("event", ["RESUME", "FLOAT", "JOG", "FOLLOW"])
def test_that_nothing_begins_while_a_fault_waits_for_the_last_targets_to_rest(event):
    """The stop on the path ends in HOLD. The fault is latched a few ticks later."""
    app = jumping(in_lab())
    come_to(app, "HOLD")
    assert app.ask(request(app, event)) == "FAULT_LATCHED"
    expect(app, "KNOT", 0)


def test_that_no_motion_starts_while_a_fault_waits_for_the_last_targets_of_another_to_rest():
    """The second motion is already buffered, and its bad knot comes as the first motion ends."""
    app = in_hold()
    one = three_link_knots()
    still = Knots(np.repeat(one.position[:1], 60, 0), 0.0 * one.rate[:60], 0.0 * one.acceleration[:60])
    app.stream(still)
    app.start(still, end=False)
    app.run(4 * 59 - 16)
    app.send(JUMP, seq=120)
    app.run(2)
    assert app.lib.fake_state_now() == STATES["TRACK"]
    come_to(app, "HOLD")
    app.post("START")
    seen = []
    for _ in range(5):
        app.run(1)
        seen.append(app.lib.fake_state_now())
    assert seen == [STATES["HOLD"]] * 2 + [STATES["FAULT"]] * 3
    expect(app, "KNOT", 0)


def come_to(app, state):
    for _ in range(500):
        if app.lib.fake_state_now() == STATES[state]:
            return
        app.run(1)
    pytest.fail(f"{state} was not reached")


def test_that_the_joint_of_a_bad_knot_in_mid_motion_is_told():
    app = App()
    tracking(app, knots=150, end=False)
    knots = three_link_knots()
    app.send(Knot(0, knots.position[150].tolist(), [*knots.rate[150].tolist()[:2], float("nan")],
                  knots.acceleration[150].tolist()), seq=150)
    app.run(400)
    expect(app, "KNOT", 2)


def test_that_the_first_of_two_faults_to_come_is_taken():
    app = jumping(patches=soon_lost())
    app.run(160, alive=False)
    assert app.lib.fake_state_now() == STATES["TRACK"]
    app.run(200, alive=False)
    expect(app, "KNOT", 0)


def test_that_a_host_that_comes_back_too_late_is_still_lost():
    """The host is silent beyond the fault's limit, and sends again before the arm is at rest."""
    app = App(patches=soon_lost())
    tracking(app)
    app.run(160, alive=False)
    assert app.state == "TRACK"
    seq = app.see().ack
    app.stream(Knots(*(x[seq:] for x in (three_link_knots().position, three_link_knots().rate,
                                         three_link_knots().acceleration))), most=10, start=False)
    assert app.see().ack == seq  # the board accepts no more knots, since the motion ends in a fault
    app.run(300)
    expect(app, "HOST_LOST")


def test_that_the_first_fault_is_kept():
    app = in_state("HOLD")
    app.chip.counts[2] += 1000
    app.chip.bus_voltage = 1.0
    app.run(1, follow=False)
    app.lib.ft_app_missed()
    app.run(1)
    expect(app, "UNDER_VOLTAGE")


def test_that_knots_running_out_is_no_fault_but_a_stop_on_the_path():
    app = App()
    tracking(app, knots=100, end=False)
    app.run(600)
    assert app.state == "HOLD"
    assert "UNDERRUN" in app.flags
    assert app.fault == ("NONE", 255)


# ---- check of knots ---------------------------------------------------------------------------------


def bad_knot(app, at, flags=0, **change):
    """Send the three-link motion up to a knot. Then send this knot with one change."""
    knots = three_link_knots()
    seq = app.see().ack
    app.stream(knots, first=seq, most=at)
    values = {"position": knots.position[at].tolist(), "rate": knots.rate[at].tolist(),
              "acceleration": knots.acceleration[at].tolist()}
    for name, (joint, value) in change.items():
        values[name][joint] = value(values[name][joint])
    app.send(Knot(flags, values["position"], values["rate"], values["acceleration"]), seq=seq + at)
    app.run(2)


@pytest.mark.parametrize("joint, change", [
    (0, {"position": (0, lambda q: q + 2**22)}),  # 0.35 deg within 4 ms
    (1, {"position": (1, lambda q: q - 2**26)}),
    (2, {"rate": (2, lambda v: v + 3.0)}),
    (1, {"rate": (1, lambda v: 11.0)}),  # above the limit
    (2, {"acceleration": (2, lambda a: a + 4000.0)}),
    (0, {"rate": (0, lambda v: float("nan"))}),
    (1, {"acceleration": (1, lambda a: float("nan"))}),
    (2, {"acceleration": (2, lambda a: float("inf"))}),
    (2, {"rate": (2, lambda v: -float("inf"))}),
])
@pytest.mark.parametrize("at", [100, 180])
def test_that_a_bad_knot_is_a_fault_naming_the_joint(joint, change, at):
    app = in_hold()
    bad_knot(app, at, **change)
    expect(app, "KNOT", joint)


def start_knot(app, joint=0, position=None, flags=messages.KNOT_START, acceleration=0.0, seq=None):
    """Send a motion's first knot, at the present targets but for one joint. Return whether it was accepted."""
    before = app.see().ack if seq is None else seq
    at = [position if j == joint and position is not None else q for j, q in enumerate(app.see().target)]
    app.send(Knot(flags, at, [0.0] * 3, [acceleration if j == joint else 0.0 for j in range(3)]), seq=before)
    app.run(2)
    return app.see().ack == before + 1


@pytest.mark.parametrize("joint", range(3))
@pytest.mark.parametrize("side", [0, 1])
def test_that_a_knot_may_be_at_a_limit_and_not_beyond(joint, side):
    app = in_hold(changed(limits={"lower": -1.6, "upper": 1.6}))
    at = limits_of(app, joint)[side]
    assert start_knot(app, joint, at)
    assert app.command("FLUSH") == "NONE"
    assert not start_knot(app, joint, at + (-1 if side == 0 else 1) * control_source.COARSE)
    expect(app, "KNOT", joint)


ALONE = messages.KNOT_START | messages.KNOT_END


@pytest.mark.parametrize("joint, acceleration, flags, named", [
    *((2, a, messages.KNOT_START, 2) for a in (1e31, float("inf"), float("nan"))), (0, 0.0, ALONE, 255),
    (1, float("nan"), ALONE, 1)])
def test_that_a_motion_begins_with_a_finite_acceleration_and_has_two_knots(joint, acceleration, flags, named):
    app = in_hold()
    assert not start_knot(app, joint, acceleration=acceleration, flags=flags)
    expect(app, "KNOT", named)


def test_that_a_motion_may_begin_anew_before_its_second_knot():
    app = in_hold()
    assert start_knot(app) and start_knot(app)
    assert app.state == "HOLD"


def test_that_a_joint_is_not_too_fast_between_knots_either():
    """At both knots the joint is within its limit, and the path between them is smooth."""
    app = in_hold()
    joint, T = 1, 1 / 250
    most = app.joints[joint].limits.velocity
    t, jerk = np.arange(7) * T, 2.0 * 0.999 * most / (6 * T)**2
    q, v, a = jerk * t**3 / 6.0, jerk * t**2 / 2.0, jerk * t
    q = [*q, q[-1] + T * v[-1] + T**2 * 2.0 * a[-1] / 12.0]
    v, a = [*v, v[-1]], [*a, -a[-1]]
    position, rate, acceleration = (np.zeros((8, 3)) for _ in range(3))
    position[:, joint], rate[:, joint], acceleration[:, joint] = q, v, a
    wire = to_wire(position + [j.start for j in app.joints], app.joints)
    app.stream(Knots(wire, rate.astype(np.float32), acceleration.astype(np.float32)), end=False)
    app.run(2)
    assert app.see().ack == 7
    expect(app, "KNOT", joint)


def second_taken(app, joint, position, rate, acceleration=0.0):
    """Return whether the board accepts the segment that moves one joint from rest to this knot. Flush it."""
    q, v, a = (np.zeros((2, app.J)) for _ in range(3))
    q[:] = [j.start for j in app.joints]
    q[1, joint] += position
    v[1, joint], a[1, joint] = rate, acceleration
    first = app.see().ack
    app.stream(Knots(to_wire(q, app.joints), v.astype(np.float32), a.astype(np.float32)), end=False)
    app.run(2)
    taken = app.see().ack - first
    assert taken in (1, 2)
    if taken == 2:
        assert app.command("FLUSH") == "NONE"
    return taken == 2


def test_that_a_joint_is_not_too_fast_at_the_end_of_the_way_between_knots_either():
    """The rate along the segment is -6.6 x^2 + 6 x^3 of the limit. The speed is highest at three quarters of the
    segment, and the acceleration does not jump."""
    app = in_hold()
    joint, T = 0, 1 / 250
    most = app.joints[joint].limits.velocity
    knot = np.array([T * (-6.6 / 3 + 6.0 / 4), -6.6 + 6.0, (-13.2 + 18.0) / T])
    assert second_taken(app, joint, *(0.8 * most * knot))
    assert not second_taken(app, joint, *(most * knot))
    expect(app, "KNOT", joint)


def test_that_a_segment_does_not_reach_farther_than_its_positions_can_tell():
    """Joints are fast and knots rare. The displacement fits, but single terms of the polynomial do not."""
    mechanism = changed(limits={"velocity": 100.0})
    slow = replace(mechanism.control, rate_hz=100, knot_hz=20, observer_hz=10.0)
    app = in_hold(replace(mechanism, control=slow, board=replace(mechanism.board, pwm_hz=12500)))
    joint, T = 2, 1 / 20
    knot = np.array([0.5 * T, 1.0])  # the rate is 3 x^2 - 2 x^3 of its end value
    assert second_taken(app, joint, *(12.0 * knot))  # rad/s
    assert not second_taken(app, joint, *(30.0 * knot))
    expect(app, "KNOT", joint)


def beyond_a_turn():
    """Return an application whose last joint may turn by more than a turn."""
    mechanism = three_link()
    joints = list(mechanism.joints)
    joints[2] = replace(joints[2], limits=replace(joints[2].limits, lower=-1.0, upper=5.5))
    return App(replace(mechanism, joints=tuple(joints)))


def sweep(app, number, count):
    """Return knots that move the last joint by 92 degrees, starting `number` times 92 degrees from its start."""
    a, b = (np.array([j.start for j in app.joints]) for _ in range(2))
    a[2], b[2] = a[2] + number * 1.6, b[2] + (number + 1) * 1.6
    motion, t = oracle.quintic(a, b, (count - 1) / 250), np.arange(count) / 250
    return Knots(to_wire(motion(t), app.joints), motion.rate(t).astype(np.float32),
                 motion.acceleration(t).astype(np.float32))


def test_that_motions_wait_for_each_other_in_the_turn_that_they_lead_to():
    """Two sweeps wait behind the first sweep. The third sweep starts at the end of the second sweep, beyond half a
    turn."""
    app = beyond_a_turn()
    app.ready()
    count = 84
    for i in range(3):
        before = app.see().ack
        app.stream(sweep(app, i, count))
        assert app.see().ack == before + count
    assert app.state == "HOLD"


def test_that_a_motion_begins_in_the_turn_that_a_joint_is_in():
    app = beyond_a_turn()
    assert app.home() == "NONE"
    for _ in range(20):
        app.chip.counts[2] += round(0.2 / (2 * np.pi) * 8192)  # by hand, 4 rad in all
        app.run(1, follow=False)
    app.run(300)
    assert app.command("ARM") == "NONE"
    assert start_knot(app)
    assert app.state == "HOLD"


def test_that_a_bad_knot_in_mid_motion_stops_on_the_path_first():
    app = jumping()
    record = app.run(1)
    assert app.see().state == STATES["TRACK"]
    record = app.run(400)
    expect(app, "KNOT", 0)
    rates = np.abs(record["target_rate"]).max(axis=1)
    on = np.flatnonzero(np.abs(record["torque"]).max(axis=1) > 0)
    assert rates[on[-1]] < 1e-3 < np.max(rates)  # at rest when the outputs went off
    assert on[-1] > np.flatnonzero(rates)[-1]  # before, every target of the path had been due
    assert 200 < on[-1] < 270


@pytest.mark.parametrize("flags", [messages.KNOT_START, messages.KNOT_END])
def test_that_a_motion_must_begin_and_end_at_rest(flags):
    app = in_hold()
    knots = three_link_knots()
    fast = int(np.argmax(np.abs(knots.rate[:200, 0])))
    if flags == messages.KNOT_START:
        app.send(Knot(flags, knots.position[fast].tolist(), knots.rate[fast].tolist(), [0.0] * 3), seq=0)
        app.run(2)
    else:
        bad_knot(app, fast, flags)
    expect(app, "KNOT", 0)


def test_that_a_motion_within_a_motion_is_a_fault():
    app = in_hold()
    bad_knot(app, 50, messages.KNOT_START)
    expect(app, "KNOT")


def test_that_knots_of_no_motion_are_not_taken():
    app = in_hold()
    app.send(knot(5), seq=0)
    app.run(2)
    status = app.see()
    assert (status.ack, status.buffered, status.out_of_order) == (0, 0, 1)
    assert app.state == "HOLD"


def test_that_motions_can_follow_each_other_and_turns_are_counted():
    """The joint's limits are more than one turn apart. The board accepts three sweeps of 92 degrees. The board refuses
    the fourth sweep at the limit, even if the wire position wraps."""
    app = beyond_a_turn()
    app.ready()
    for i in range(4):
        app.stream(sweep(app, i, 226))
        if i == 3:
            break
        assert app.command("START") == "NONE"
        app.run(1000)
        assert app.flags >= {"ENDED"}
        assert app.state == "HOLD"
    app.run(2)
    expect(app, "KNOT", 2)


@pytest.mark.parametrize("state", ["DISARMED", "HOLD"])
def test_that_knots_are_taken_armed_or_not(state):
    app = App()
    assert app.home() == "NONE"
    if state == "HOLD":
        assert app.command("ARM") == "NONE"
    app.stream(three_link_knots(), most=20, end=False)
    assert (app.see().ack, app.status.buffered) == (20, 19)
    if state == "DISARMED":
        assert app.command("ARM") == "NONE"
    assert app.command("FLUSH") == "NONE"
    assert app.see().buffered == 0


def sent(app, count=5):
    """Send a new motion. Return how many knots the board accepts."""
    before = app.see().ack
    app.stream(three_link_knots(), first=before, most=count, end=False)
    return app.see().ack - before


def test_that_a_knot_that_comes_while_the_ring_is_being_forgotten_is_not_taken():
    """A tick in the middle of a main-loop round drops the path. Knots of the same round would enter a ring that is
    emptied next, so they are refused."""
    begin = "size_t n = in_to - in_from < room ? in_to - in_from : room;"
    app = in_hold(patches={"fake_chip.c": patch(begin,
                                                f"{begin}\n    if (fake.index != 0u) "
                                                f"{{ fake.index = 0u; ft_app_tick(); }}")})
    app.stream(three_link_knots(), most=100, end=False)
    seq = app.see().ack
    app.post("DISARM")
    app.lib.ft_app_idle()  # the request is posted, but the tick has not executed it yet
    app.chip.index = 1  # a tick comes with the next bytes
    app.send(knot(100), seq=seq)
    app.lib.ft_app_idle()
    status = app.see()
    assert (STATES["DISARMED"], seq, 0) == (status.state, status.ack, status.buffered)


def test_that_no_knot_is_taken_after_a_bad_one_in_the_same_round():
    app = in_hold()
    knots = three_link_knots()
    app.stream(knots, most=20, end=False)
    app.send(JUMP, seq=20)
    app.send(knot(20), seq=20)
    app.run(2)
    assert app.see().ack == 20
    expect(app, "KNOT", 0)
    assert app.command("CLEAR") == "NONE"
    assert (app.state, app.fault) == ("DISARMED", ("NONE", 255))
    assert sent(app) == 5


# ---- state after a motion ---------------------------------------------------------------------------


def test_that_clear_forgets_the_fault_behind_an_e_stop():
    app = App()
    faulted(app)
    stopped(app)
    assert app.fault == ("TICK_OVERRUN", 255)
    assert app.command("CLEAR") == "NONE"
    assert (app.fault, app.chip.remembered) == (("NONE", 255), 0)


def test_that_clear_forgets_the_joint_of_a_fault_and_drops_the_outputs():
    app = in_hold(in_lab(motion="hold"))
    run_away(app, 20)
    assert (app.fault, app.chip.outputs) == (("OVERSPEED", 1), 1)
    assert app.command("CLEAR") == "NONE"
    assert (app.state, app.fault, app.chip.outputs) == ("DISARMED", ("NONE", 255), 0)
    app.run(300)
    assert app.command("ARM") == "NONE"


def still(knots, count):
    """Return knots at rest at the start of a motion."""
    rest = np.zeros((count, knots.position.shape[1]), np.float32)
    return Knots(knots.position[[0] * count], rest, rest)


@pytest.mark.parametrize("way", ["FLUSH", "START"])
def test_that_the_end_of_one_motion_is_none_of_the_next_one(way):
    """A motion without an END stops on the path when its knots run out, after any earlier motion."""
    app = in_hold()
    app.stream(still(three_link_knots(), 20))
    assert app.command(way) == "NONE"
    app.run(200)
    app.start(three_link_knots(), most=120, end=False)
    app.run(700)
    assert (app.state, app.fault[0]) == ("HOLD", "NONE")
    assert "UNDERRUN" in app.flags and app.status.buffered > 0


def test_that_a_motion_that_was_flushed_is_not_gone_on_with():
    app = in_hold()
    knots = three_link_knots()
    app.stream(knots, most=20, end=False)
    assert app.command("FLUSH") == "NONE"
    app.send(knot(20), seq=20)
    app.run(2)
    assert (app.see().ack, app.status.buffered, app.state) == (20, 0, "HOLD")


def test_that_a_motion_after_one_that_was_stopped_is_played_from_its_first_knot_to_its_end():
    app = in_hold()
    app.start(still(three_link_knots(), 100), end=False)
    app.run(20)
    assert app.command("STOP") == "NONE"
    app.run(300)
    assert app.state == "HOLD" and app.status.knots_played > 0
    assert app.command("FLUSH") == "NONE"
    app.start(still(three_link_knots(), 60))
    app.run(20)
    assert app.state == "TRACK" and app.status.knots_played < 15
    app.run(300)
    assert (app.state, app.status.knots_played, app.status.pace) == ("HOLD", 59, 0.0)
    assert not app.flags & {"STOPPED", "UNDERRUN"}


def carried(app, record):
    """Check that, for targets at rest, the feed-forward torque equals the gravity torque from Pinocchio."""
    for row in record[::5]:
        q = row["target"].astype(float) * (2.0 * np.pi / 2.0**32)
        expected = oracle.rnea(Model.of(app.mechanism), q, np.zeros(app.J), np.zeros(app.J))
        np.testing.assert_allclose(row["torque_ff"], expected, atol=2e-4)


def elsewhere(app, way=0.6, count=84):
    """Return knots that move the middle joint from its start, and knots at rest at the end of this motion."""
    a, b = (np.array([j.start for j in app.joints]) for _ in range(2))
    b[1] += way
    motion, t = oracle.quintic(a, b, (count - 1) / 250), np.arange(count) / 250
    there = still(Knots(to_wire(b[None], app.joints), *np.zeros((2, 1, app.J), np.float32)), 20)
    rates = [f(t).astype(np.float32) for f in (motion.rate, motion.acceleration)]
    return Knots(to_wire(motion(t), app.joints), *rates), there


def test_that_a_motion_that_waited_elsewhere_is_not_what_the_next_one_begins_with():
    app = in_hold(three_link())
    app.stream(still(three_link_knots(), 20))
    app.run(5)
    assert app.command("FLUSH") == "NONE"
    for _ in range(40):
        assert app.ask(Jog(app.token % 255 + 1, 1, 0.7)) == "NONE"
    app.run(1000)
    assert app.state == "HOLD"
    here = np.array(app.status.target)
    app.stream(still(Knots(here[None], *np.zeros((2, 1, app.J), np.float32)), 20))
    assert abs(int(here[1]) - int(three_link_knots().position[0, 1])) > 2**32 / 100
    app.post("START")
    carried(app, app.run(70))


def test_that_a_motion_may_start_in_the_tick_in_which_another_ends():
    """In earlier ticks the new motion's first numbers are not computed yet. The board refuses a START that comes too
    early, and the host can repeat START."""
    taken = []
    for k in range(328, 340):
        app = in_hold(three_link())
        way, there = elsewhere(app)
        app.stream(way), app.stream(there)
        app.post("START")
        app.run(k)
        app.post("START")
        carried(app, app.run(120)[20:])
        taken.append(app.see().refusal == 0)
        assert (app.state, app.status.buffered) == ("HOLD", 0 if taken[-1] else 19)
    assert taken == sorted(taken) and 0 < sum(taken) < len(taken)


def test_that_flags_tell_of_the_last_motion_only():
    app = in_hold()
    knots = three_link_knots()

    def whole():
        app.start(still(knots, 20))

    whole()
    app.run(200)
    assert app.flags == {"HOMED", "OUTPUTS", "ENDED"}
    whole()
    assert app.flags == {"HOMED", "OUTPUTS"}
    app.run(200)
    assert app.command("FLUSH") == "NONE"
    assert app.flags == {"HOMED", "OUTPUTS"}
    whole()
    app.run(200)
    assert app.command("DISARM") == "NONE"
    assert app.flags == {"HOMED", "ENDED"}
    assert app.command("ARM") == "NONE"
    assert app.flags == {"HOMED", "OUTPUTS"}
    whole()
    app.run(200)
    assert app.ask(request(app, "JOG")) == "NONE"
    assert app.flags == {"HOMED", "OUTPUTS"}


def test_that_the_reason_of_a_stop_is_its_first_and_is_forgotten_when_it_goes_on():
    app = in_state("TRACK")
    app.run(110, alive=False)
    assert app.command("STOP") == "NONE"
    app.run(400)
    assert app.flags == {"HOMED", "OUTPUTS", "HOST_SILENT"}
    assert app.command("RESUME") == "NONE"
    assert app.command("STOP") == "NONE"
    app.run(400)
    assert app.flags == {"HOMED", "OUTPUTS", "STOPPED"}


@pytest.mark.parametrize("event, leave", [("FLOAT", "STOP"), ("JOG", "STOP")])
def test_that_a_paused_motion_is_forgotten_by_a_lab_mode(event, leave):
    app = App()
    paused(app)
    assert app.ask(request(app, event)) == "NONE"
    assert app.status.buffered == 0
    assert app.command(leave) == "NONE"
    app.run(300)
    assert (app.state, app.status.buffered) == ("HOLD", 0)
    assert app.command("RESUME") == "NOTHING_BUFFERED"


def test_that_an_arm_is_homed_when_each_of_its_joints_is():
    app = App(in_lab())
    for joint in range(app.J):
        assert "HOMED" not in app.flags
        assert app.ask(Seek(app.token % 255 + 1, joint)) == "NONE"
        assert app.flags == {"OUTPUTS", "SEEKING"}
        app.run(1200, follow=False)
        assert "SEEKING" not in app.flags
    assert app.flags == {"HOMED", "OUTPUTS"}
    assert app.ask(Seek(app.token % 255 + 1, 1)) == "NONE"
    assert app.flags == {"OUTPUTS", "SEEKING"}
    assert app.command("DISARM") == "NONE"
    assert app.flags == set()


@pytest.mark.parametrize("q", [[0.0, 0.0, 0.0], [-0.5, 1.0, 0.3]])
@pytest.mark.parametrize("way", ["ARM", "SEEK"])
def test_that_an_arm_is_carried_where_it_is_from_the_first_tick(q, way):
    """Feed-forward and target belong to the pose in which the arm is armed. The arm's earlier pose does not matter."""
    app = in_hold(in_lab())
    app.run(50)
    assert app.command("DISARM") == "NONE"
    assert app.home(q) == "NONE"
    if way == "ARM":
        app.post("ARM")
    else:
        app.send(request(app, "SEEK"))
    record = app.run(10, follow=False)
    assert app.chip.outputs == 1
    on = np.flatnonzero(np.any(record["torque"] != 0.0, axis=1))[0]
    # the sought joint accelerates from the first tick on
    acceleration = np.diff(record["target_rate"][-2:], axis=0)[0] * 1e3
    expected = oracle.rnea(Model.of(app.mechanism), np.array(q), np.zeros(app.J), acceleration)
    np.testing.assert_allclose(record["torque_ff"][on], expected, rtol=1e-2, atol=1e-3)
    assert np.array_equal(record["target"][on], record["position"][on])


def test_that_arming_after_homing_holds_the_arm_where_it_is():
    app = App(in_lab())
    homing(app)
    for joint in (1, 2):
        assert app.ask(Seek(app.token % 255 + 1, joint)) == "NONE"
        app.run(1200, follow=False)
    app.chip.counts[1] += 5
    app.run(300, follow=False)
    app.post("ARM")
    record = app.run(3, follow=False)
    assert app.state == "HOLD"
    assert np.array_equal(record["target"][-1], record["position"][-1])


def test_that_the_integral_of_an_error_is_forgotten_with_the_outputs():
    app = in_hold(changed(gains={"ki": 150.0}))
    for j in range(app.J):
        app.chip.counts[j] += 10
    app.run(300, follow=False)
    assert app.command("DISARM") == "NONE"
    app.run(200)
    app.post("ARM")
    record = app.run(3, follow=False)
    on = np.flatnonzero(np.any(record["torque"] != 0.0, axis=1))[0]
    np.testing.assert_allclose(record["torque"][on], record["torque_ff"][on], atol=1e-5)


# ---- commands ---------------------------------------------------------------------------------------


def test_that_a_stop_repeated_on_its_way_is_one_stop():
    app = in_state("TRACK")
    for token in (90, 91, 92):
        app.send(Command(token, COMMANDS["STOP"]))
        app.run(5)
    app.run(300)
    assert app.state == "HOLD"
    assert "STOPPED" in app.flags
    app.token = 92
    assert app.command("RESUME") == "NONE"
    assert app.state == "TRACK"
