"""Tests of the tests: with one thing made wrong in the C, the named test turns red. Mutants that are left out: see
test_mutants.py."""

import pytest

from tests.firmware import app, test_bus, test_bus_edges, test_law, test_link, test_motion, test_safety
from tests.firmware.app import App, replace
from tests.support.drives import Bussed

FAILURES = (AssertionError, IndexError)


def broken(monkeypatch, module, name, *texts):
    """Let every App of a test module have some texts of one file replaced: old, new, old, new, ..."""
    def patched(text):
        for old, new in zip(texts[::2], texts[1::2], strict=True):
            if old not in text:
                raise LookupError(f"{name}: no {old}")  # no failure of the test that is to turn red
            text = text.replace(old, new)
        return text

    class Broken(App):
        def __init__(self, *arguments, **named):
            patches = {**(named.pop("patches", None) or {}), name: patched}
            super().__init__(*arguments, patches=patches, **named)

    monkeypatch.setattr(module, "App", Broken)
    monkeypatch.setattr(app, "App", Broken)  # of in_hold


def broken_bus(monkeypatch, name, old, new):
    """Fixture for every App with drives of test_bus and test_bus_edges."""
    def patched(text):
        if old not in text:
            raise LookupError(f"{name}: no {old}")
        return text.replace(old, new)

    class Broken(Bussed):
        def __init__(self, mechanism):
            super().__init__(mechanism, patches={name: patched})

    for module in (test_bus, test_bus_edges):
        monkeypatch.setattr(module, "Bussed", Broken)


def turns_red(test, *arguments):
    with pytest.raises(FAILURES):
        test(*arguments)


@pytest.mark.parametrize("old, new", [
    ("ft_real torque = tau;", "ft_real torque = 0.0f * tau;"),
    ("c->rotor * (after - before)", "c->rotor * (before - after)"),
    ("c->viscous * both", "c->viscous * 0.0f"),
    ("c->coulomb_slope * coulomb(c, both)", "0.0f * coulomb(c, both)"),
    ("ft_size(both - c->coulomb_width)", "ft_size(both)"),
    ("c->back_emf * both", "c->back_emf * 0.0f * both"),
    ("c->inductance * rise", "c->inductance * 0.0f * rise"),
    ("u - in->seen->u[j]", "in->seen->u[j] - u"),
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
    broken(monkeypatch, test_safety, "ft_safety.c", "&& ft_motion_settled(&c->motion)", "&& c != 0")
    turns_red(test_safety.test_that_a_fault_after_a_stop_waits_until_the_last_target_is_at_rest)


def test_that_a_flipped_gear_sign_turns_its_test_red(monkeypatch):
    broken(monkeypatch, test_law, "ft_observer.c", "(int64_t)counts * ", "-(int64_t)counts * ")
    turns_red(test_law.test_that_encoder_and_motor_signs_and_gears_turn_the_right_way)


def test_that_a_limit_removed_turns_its_test_red(monkeypatch):
    broken(monkeypatch, test_law, "ft_law.c", "torque = volts = FT_C(0.0);",
           "volts = induced(c, before + after, rise) + c->resistance * torque;")
    turns_red(test_law.test_that_a_joint_beyond_its_limit_gets_torque_back_only, 1)


@pytest.mark.parametrize("old, new, test", [
    ("ft_crc32(frame, size) == ft_msg_get_u32(frame + size)\n           && ", "",
     (test_link.test_that_a_flipped_bit_anywhere_is_noticed,)),
    ("frame[0] != FT_MSG_HELLO && ft_msg_get_u16(frame + 3) != FT_TAG", "frame[0] == 0u",
     (test_link.test_that_another_configuration_does_not_keep_an_armed_board_alive,)),
    ("beyond == 0u && ", "(beyond == 0u || seq > 0u) && ",
     (test_link.test_that_a_motion_arrives_whole_over_a_bad_wire, 0.1, 0.1)),
], ids=["check sum", "tag", "sequence"])
def test_that_a_check_of_the_link_removed_turns_its_test_red(monkeypatch, old, new, test):
    broken(monkeypatch, test_link, "ft_port.c", old, new)
    turns_red(*test)


def test_that_a_frame_buffer_without_its_bound_is_found_by_the_sanitizers(monkeypatch):
    whole = test_link.sources

    def unbounded(mechanism):
        return whole(mechanism, {"ft_port.c": replace("rx.size < sizeof rx.bytes", "rx.size < 100000u")})

    monkeypatch.setattr(test_link, "sources", unbounded)
    with pytest.raises(AssertionError, match="Sanitizer|runtime error"):
        test_link.test_that_sanitizers_find_nothing_under_a_mad_host()


@pytest.mark.parametrize("name, old, new", [
    ("ft_segment.h", "(both + both) * (sum + h2)", "(both + both) * sum"),
    ("ft_segment.h", "h * (both + sum)", "h * (both + m2)"),
    ("ft_path.c", "ft_segment_sum(p, &left)", "FT_C(0.0) * ft_segment_sum(p, &left)"),
    ("ft_path.c", "ft_segment_powers(ft_path_seconds(boundary));",
     "ft_segment_powers(ft_path_seconds(boundary + FT_HALF_ONE));"),
], ids=["fifth power", "third power", "piece before the knot", "boundary"])
def test_that_a_wrong_sample_turns_the_motion_test_red(monkeypatch, name, old, new):
    wrong = test_motion.Board(test_motion.mechanism(1000, 250), "double", {name: replace(old, new)})
    monkeypatch.setattr(test_motion, "board", lambda *_: wrong)
    turns_red(test_motion.test_that_a_motion_is_sampled_at_middles_and_boundaries, 1000, 250, "double")


@pytest.mark.parametrize("name, old, new, test", [
    ("ft_bus.c", "ft_drive[i].bus == bus\n", "ft_drive[i].bus < bus + 9u\n",
     (test_bus.test_that_drives_of_one_id_on_two_buses_are_two,)),
    ("ft_bus.c", "if (answer == FT_ANSWER_OTHER)", "if (answer == FT_ANSWER_OTHER && i > 9u)",
     (test_bus.test_that_an_answer_about_another_setting_answers_no_question,)),
    ("ft_bus.c", "b->foreign++;", "", (test_bus.test_that_foreign_frames_are_nobodys_and_counted,)),
    ("ft_bus.c", "d->late++;", "", (test_bus.test_that_states_that_are_missing_or_too_many_are_counted_one_by_one,)),
    ("ft_bus.c", "+ m->newest->u[j]));", "));",
     (test_bus.test_that_a_drive_that_closes_the_loop_is_aimed_at_the_middle_of_the_time_in_which_it_holds_a_command,
      "damiao")),
    ("ft_bus.c", "const ft_real both = m->before->u[j] +", "const ft_real both = m->newest->u[j] +",
     (test_bus.test_that_a_drive_that_closes_the_loop_is_aimed_at_the_middle_of_the_time_in_which_it_holds_a_command,
      "robstride")),
    ("ft_bus.c", "c->law.torque[j] - ours", "c->law.torque[j] + ours",
     (test_bus.test_that_a_drive_that_closes_the_loop_is_told_where_to_be,)),
    ("ft_bus.c", "return !d->sure && ", "return !d->sure && i > 9u && ",
     (test_bus.test_that_no_drive_is_commanded_that_has_lost_its_time_limit_while_it_was_enabled, "damiao", 1)),
    ("ft_bus.c", "t.kd = ft_drive[i].damping;", "t.kp = ft_drive[i].damping;",
     (test_bus.test_that_braking_drives_damp,)),
    ("ft_bus.c", "if (falls)\n", "if (falls && b->on)\n",
     (test_bus.test_that_a_stop_disables_drives_in_the_tick_that_sees_it, "estop")),
    ("ft_bus.c", "    d->held = true;\n", "",
     (test_bus.test_that_a_joint_that_may_be_parked_beyond_half_a_turn_is_told_where_it_is,)),
    ("ft_bus.c", "homed[ft_drive[i].joint] = ft_drive[i].placed != 0u;",
     "homed[ft_drive[i].joint] |= ft_drive[i].placed != 0u;",
     (test_bus.test_that_a_zero_that_was_given_while_a_drive_was_silent_is_none,)),
    ("ft_bus.c", "    d->differs = 0;\n    ft_travel_forget", "    ft_travel_forget",
     (test_bus.test_that_what_was_wrong_with_a_drive_is_forgotten_with_it,)),
    ("ft_bus.c", "    ft_travel_forget(&d->travel);\n", "",
     (test_bus.test_that_what_was_wrong_with_a_drive_is_forgotten_with_it,)),
    ("ft_bus.c", ": guess(seen, ft_drive[i].joint);", ": 0 * guess(seen, ft_drive[i].joint);",
     (test_bus.test_that_positions_of_a_moving_joint_are_followed_with_an_answer_missing,)),
    ("ft_bus.c", "wire - (int64_t)turns * turn", "wire - 0 * (int64_t)turns * turn",
     (test_bus.test_that_a_drive_behind_a_gear_tells_its_joint_within_half_a_turn_of_its_own, "robstride", 3.0, -0.9)),
    ("ft_bus.c", "+ turn / 2;", ";",
     (test_bus.test_that_a_drive_behind_a_gear_tells_its_joint_within_half_a_turn_of_its_own, "damiao", 3.0, -0.9)),
    ("ft_bus.c", "away < 0 ? away - (turn - 1) : away", "away",
     (test_bus.test_that_a_drive_with_another_zero_than_the_joints_tells_where_that_is, 3.0, 1.9)),
    ("ft_dialect.c", "place * ft_drive[i].gear", "place",
     (test_bus.test_that_a_drive_behind_a_gear_is_told_all_in_its_own_terms, "robstride", "drive")),
    ("ft_bus.c", "    d->writes = false;\n    d->differs", "    d->differs",
     (test_bus_edges.
      test_that_a_drive_that_ailed_and_fell_silent_before_it_was_set_is_asked_anew_and_nothing_else_is_written,)),
    ("ft_bus.c", "    d->sure = false;\n    d->carried", "    d->carried",
     (test_bus_edges.test_that_a_drive_that_lost_its_time_limit_between_two_armings_is_not_commanded_without_it,
      "damiao")),
    ("ft_bus.c", "    d->waited = 0;\n    d->enabled = false;", "    d->enabled = false;",
     (test_bus_edges.
      test_that_a_drive_that_tells_nothing_is_enabled_anew_by_as_many_frames_whenever_the_arming_before_ended, 4)),
    ("ft_bus.c", "if (!falls)\n", "if (!falls || i < 9u)\n",
     (test_bus_edges.test_that_a_mini_cheetah_is_disabled_by_the_first_frame_after_a_stop, 0)),
    ("ft_bus.c", "<= ft_joint[j].room", "<= 0xFFFFFFFFu",
     (test_bus_edges.test_that_beyond_a_limit_the_boards_law_says_which_torque_leads_back, "upper")),
    ("ft_config.c", ".value = 400u", ".value = 800u",
     (test_bus.test_that_drives_are_asked_what_they_are_before_they_are_armed,)),
    ("ft_config.c", ".sign = 1.0f", ".sign = -1.0f", (test_bus.test_that_drives_get_the_torque_of_the_law,)),
    ("ft_config.c", ".torque = 28.0f", ".torque = 27.0f", (test_bus.test_that_drives_get_the_torque_of_the_law,)),
], ids=["two buses", "another setting", "foreign", "late", "middle", "velocity", "who closes", "time limit", "damping",
        "stop", "place kept", "turns lost", "setting forgotten", "range forgotten", "going on", "turns left",
        "turn from zero on", "turns towards zero",
        "place behind a gear", "what is written", "asked again", "frames to enable", "first frame after a stop",
        "limit", "table's time limit", "table's sign", "table's range"])
def test_that_a_seeded_error_of_what_drives_are_told_turns_its_test_red(monkeypatch, name, old, new, test):
    broken_bus(monkeypatch, name, old, new)
    turns_red(*test)
