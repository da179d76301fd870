"""Tests of the tests: with one thing broken in the C, the named test turns red."""

import pytest

from codegen.codec import Float, Gains, Jog, Probe
from tests.firmware import test_lab, test_law, test_link, test_motion, test_safety
from tests.firmware.app import App, replace

FAILURES = (AssertionError, IndexError)


def broken(monkeypatch, module, name, *texts):
    """Let every App of a test module have some texts of one file replaced: old, new, old, new, ..."""
    def patched(text):
        for old, new in zip(texts[::2], texts[1::2], strict=True):
            assert old in text
            text = text.replace(old, new)
        return text

    class Broken(App):
        def __init__(self, *arguments, **named):
            patches = {**(named.pop("patches", None) or {}), name: patched}
            super().__init__(*arguments, patches=patches, **named)

    monkeypatch.setattr(module, "App", Broken)


def turns_red(test, *arguments):
    with pytest.raises(FAILURES):
        test(*arguments)


CHECKS = {
    "TICK_OVERRUN": (test_safety.test_that_a_missed_tick_is_a_fault,),
    "BREAK": (test_safety.test_that_outputs_dropped_without_an_e_stop_are_a_fault,),
    "NOT_FINITE": (test_safety.test_that_a_torque_that_is_no_number_is_a_fault, float("nan")),
    "ENCODER": (test_safety.test_that_an_encoder_jump_is_a_fault,),
    "ENCODER_STUCK":
        (test_safety.test_that_an_encoder_that_does_not_count_under_full_torque_is_a_fault,),
    "OVERSPEED": (test_safety.test_that_a_joint_too_fast_is_a_fault,),
    "POSITION": (test_safety.test_that_a_joint_far_beyond_its_limit_is_a_fault,),
    "FOLLOWING": (test_safety.test_that_a_joint_left_behind_is_a_fault_after_its_time,),
    "UNDER_VOLTAGE": (test_safety.test_that_a_bus_out_of_range_is_a_fault, 16.0, "UNDER_VOLTAGE"),
    "OVER_VOLTAGE": (test_safety.test_that_a_bus_out_of_range_is_a_fault, 32.0, "OVER_VOLTAGE"),
    "OVER_TEMPERATURE": (test_safety.test_that_a_board_too_hot_is_a_fault, 85.1),
    "DRIVER": (test_safety.test_that_a_driver_that_reports_a_fault_is_one,),
    "CONFIGURATION": (test_safety.test_that_constants_that_change_while_the_board_runs_are_a_fault,),
    "HOMING": (test_lab.test_that_a_stop_that_does_not_come_is_a_fault,),
    "HOST_LOST": (test_safety.test_that_a_lost_host_means_a_stop_on_the_path_then_outputs_off,),
    "KNOT": (test_safety.test_that_a_knot_outside_the_limits_is_a_fault,),
}


@pytest.mark.parametrize("fault", CHECKS)
def test_that_removing_a_fault_turns_its_test_red(monkeypatch, fault):
    row = {"TICK_OVERRUN": "FT_ALWAYS, FT_OFF", "HOST_LOST": "FT_ARMED, FT_STOP", "KNOT": "FT_OF_KNOTS, FT_STOP",
           "CONFIGURATION": "FT_ALWAYS, FT_OFF"} | dict.fromkeys(
        ("NOT_FINITE", "ENCODER", "ENCODER_STUCK", "HOMING", "OVERSPEED", "POSITION", "FOLLOWING"),
        "FT_OF_JOINTS, FT_OFF")
    where = row.get(fault, "FT_ARMED, FT_OFF")
    head = f"{{ FT_FAULT_{fault}, {where}, " if ", " not in fault else f"{{ FT_FAULT_{fault.rpartition(' ')[0]} "
    check = fault.rpartition(" ")[2] if ", " in fault else ""
    # a check that never fails in its place
    for module in (test_safety, test_lab):
        broken(monkeypatch, module, "ft_conditions.c", head + check, f"{head}1 ? well : {check}",
               "static uint32_t homed(void)", "static uint32_t well(void) { return FT_GOOD; }\nstatic uint32_t homed(void)")
    turns_red(*CHECKS[fault])


def bound(state, message):
    return test_safety.test_that_what_is_out_of_bounds_is_refused, state, message


REFUSALS = {
    "FT_REFUSAL_NOT_HOMED, homed": (test_safety.test_that_arming_is_refused_by_name,),
    "FT_COMMAND_ARM, FT_REFUSAL_BUS_VOLTAGE, bus_in_range": (test_safety.test_that_arming_is_refused_by_name,),
    "FT_REFUSAL_OUTSIDE_LIMITS, inside_limits": (test_safety.test_that_arming_is_refused_by_name,),
    "FT_COMMAND_ARM, FT_REFUSAL_MOVING, at_rest": (test_safety.test_that_arming_is_refused_by_name,),
    "FT_COMMAND_CLEAR, FT_REFUSAL_ESTOP_ACTIVE, estop_released": (test_safety.test_that_arming_is_refused_by_name,),
    "FT_REFUSAL_FAULT_LATCHED, fault_mended":
        (test_safety.test_that_what_went_wrong_before_the_first_tick_is_a_fault, "CLOCK", False, {"errors": 1}),
    "FT_REFUSAL_NOTHING_BUFFERED, startable": (test_safety.test_that_start_is_refused_by_name,),
    "FT_REFUSAL_START_POSE, starts_here": (test_safety.test_that_start_is_refused_by_name,),
    "FT_REFUSAL_NOTHING_BUFFERED, resumable": (test_safety.test_that_resume_is_refused_without_a_pause,),
    "FT_COMMAND_ARM, FT_REFUSAL_OVER_TEMPERATURE, not_hot": (test_safety.test_that_arming_is_refused_by_name,),
    "FT_COMMAND_ARM, FT_REFUSAL_DRIVER, drivers_well": (test_safety.test_that_arming_is_refused_by_name,),
    "FT_EVENT_FLOAT, FT_REFUSAL_OUT_OF_BOUNDS, friction_allowed": bound("HOLD", Float(1, 81)),
    "FT_EVENT_JOG, FT_REFUSAL_OUT_OF_BOUNDS, jog_allowed": bound("HOLD", Jog(1, 0, 0.81)),
    "FT_EVENT_PROBE, FT_REFUSAL_OUT_OF_BOUNDS, probe_allowed": bound("DISARMED", Probe(1, 0, 0.1)),
    "FT_EVENT_GAINS, FT_REFUSAL_OUT_OF_BOUNDS, overlay_allowed": bound("HOLD", Gains(1, 0, 31, 64, 64)),
    "FT_EVENT_SEEK, FT_REFUSAL_NO_SEEKING, sought_for": (test_safety.test_that_a_zero_that_is_told_is_not_sought,),
    "FT_EVENT_SEEK, FT_REFUSAL_MOVING, at_rest": (test_safety.test_that_seeking_is_refused_while_a_joint_moves,),
    **{f"FT_EVENT_{event}, FT_REFUSAL_{refusal}, {check}":
       (test_safety.test_that_the_lab_modes_that_power_up_look_at_the_board_first, event, refusal, chip)
       for event in ("SEEK", "PROBE")
       for refusal, check, chip in (("BUS_VOLTAGE", "bus_in_range", {"bus_voltage": 40.0}),
                                    ("OVER_TEMPERATURE", "not_hot", {"temperature": 90.0}),
                                    ("DRIVER", "drivers_well", {"driver_fault": 1}))},
    "FT_EVENT_HOME, FT_REFUSAL_MOVING, at_rest": (test_safety.test_that_homing_is_refused_while_a_joint_moves,),
}


@pytest.mark.parametrize("row", REFUSALS)
def test_that_removing_a_condition_turns_its_test_red(monkeypatch, row):
    head, check = row.rsplit(" ", 1)
    for module in (test_safety, test_lab):
        broken(monkeypatch, module, "ft_conditions.c", row, f"{head} 1 ? well : {check}",
               "static uint32_t homed(void)", "static uint32_t well(void) { return FT_GOOD; }\nstatic uint32_t homed(void)")
    turns_red(*REFUSALS[row])


@pytest.mark.parametrize("old, new", [
    ("return tau + losses(c, before, after);", "return losses(c, before, after) + 0.0f * tau;"),
    ("c->rotor * (after - before)", "c->rotor * (before - after)"),
    ("c->viscous * both", "c->viscous * 0.0f"),
    ("torque + coulomb(c, both)", "torque + 0.0f * coulomb(c, both)"),
    ("ft_size(x - c->coulomb_half)", "ft_size(x)"),
    ("c->back_emf * both", "c->back_emf * 0.0f * both"),
    ("c->inductance * rise", "c->inductance * 0.0f * rise"),
    ("target->u[j] - seen->u[j]", "seen->u[j] - target->u[j]"),
], ids=["tau_ID left out", "rotor inertia's sign", "viscous friction left out", "Coulomb friction left out",
        "Coulomb friction one-sided",
        "back-EMF left out", "L dI/dt left out", "sign of the rate error"])
def test_that_a_term_of_the_law_left_out_or_turned_round_turns_the_law_test_red(monkeypatch, old, new):
    broken(monkeypatch, test_law, "ft_law.c", old, new)
    test_law.motion_log.cache_clear()
    turns_red(test_law.test_that_torque_and_duty_are_those_of_the_plain_law)
    test_law.motion_log.cache_clear()


def test_that_an_observer_that_is_not_told_of_the_motion_turns_its_test_red(monkeypatch):
    broken(monkeypatch, test_law, "ft_observer.c", "to[j] - from[j]", "from[j] - to[j]")
    turns_red(test_law.test_that_a_followed_motion_is_observed_without_lag)


def test_that_a_fault_taken_before_the_last_target_turns_its_test_red(monkeypatch):
    broken(monkeypatch, test_safety, "ft_safety.c", "&& ft_motion_settled(&ft.motion)", "")
    turns_red(test_safety.test_that_a_fault_after_a_stop_waits_until_the_last_target_is_at_rest)


def test_that_a_flipped_gear_sign_turns_its_test_red(monkeypatch):
    broken(monkeypatch, test_law, "ft_observer.c", "(int64_t)counts * ", "-(int64_t)counts * ")
    turns_red(test_law.test_that_encoder_and_motor_signs_and_gears_turn_the_right_way)


def test_that_a_limit_removed_turns_its_test_red(monkeypatch):
    broken(monkeypatch, test_law, "ft_law.c", "torque = volts = FT_C(0.0);", "")
    turns_red(test_law.test_that_a_joint_beyond_its_limit_gets_torque_back_only)


@pytest.mark.parametrize("old, new, test", [
    ("ft_crc32(frame, size) == ft_msg_get_u32(frame + size)\n           && ", "",
     (test_link.test_that_a_flipped_bit_anywhere_is_noticed,)),
    ("frame[0] != FT_MSG_HELLO && ft_msg_get_u16(frame + 3) != FT_TAG", "frame[0] == 0u",
     (test_link.test_that_another_configuration_does_not_keep_an_armed_board_alive,)),
    ("seq == rx.wanted && ", "(seq == rx.wanted || seq > 0u) && ", (test_link.test_that_a_motion_arrives_whole_over_a_bad_wire, 0.1, 0.1)),
], ids=["check sum", "tag", "sequence"])
def test_that_a_check_of_the_link_removed_turns_its_test_red(monkeypatch, old, new, test):
    broken(monkeypatch, test_link, "ft_link.c", old, new)
    turns_red(*test)


def test_that_a_frame_buffer_without_its_bound_is_found_by_the_sanitizers(monkeypatch, tmp_path):
    whole = test_link.sources

    def unbounded(mechanism):
        return whole(mechanism, {"ft_link.c": replace("rx.size < sizeof rx.bytes", "rx.size < 100000u")})

    monkeypatch.setattr(test_link, "sources", unbounded)
    with pytest.raises(AssertionError, match="Sanitizer|runtime error"):
        test_link.test_that_sanitizers_find_nothing_under_a_mad_host(tmp_path)


@pytest.mark.parametrize("name, old, new", [
    ("ft_segment.h", "FT_C(10.0) * h2", "FT_C(5.0) * h2"),
    ("ft_segment.h", "FT_C(3.0) * m2 + h2", "FT_C(3.0) * m2"),
    ("ft_motion.c", "ft_segment_sum(p, &left)", "FT_C(0.0) * ft_segment_sum(p, &left)"),
    ("ft_motion.c", "ft_segment_powers(seconds(boundary));", "ft_segment_powers(seconds(boundary + FT_HALF_ONE));"),
], ids=["fifth power", "third power", "piece before the knot", "boundary"])
def test_that_a_wrong_sample_turns_the_motion_test_red(monkeypatch, name, old, new):
    wrong = test_motion.Board(test_motion.mechanism(1000, 250), "double", {name: replace(old, new)})
    monkeypatch.setattr(test_motion, "board", lambda *_: wrong)
    turns_red(test_motion.test_that_a_motion_is_sampled_at_middles_and_boundaries, 1000, 250, "double")
