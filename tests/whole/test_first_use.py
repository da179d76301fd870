"""Stumbling blocks for a first user, point by point, and the tests that hold each."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.support.suite import ROOT

POINTS: dict[str, tuple[str, ...]] = {
    "what it is for and that no hardware has run it comes first": (
        "whole/test_first_use.py::test_the_readme_says_early_which_motors_and_that_no_hardware_has_run_it",
    ),
    "motors that are invented are said to be": (
        "codegen/verify/test_new_file.py::test_a_motor_that_is_sold_is_written_with_its_source_and_what_its_sheet_leaves_"
        "out",
        "codegen/verify/test_new_file.py::test_a_trunk_on_the_ground_and_made_up_motors_are_said",
        "whole/test_first_use.py::test_the_tour_says_that_its_motors_are_invented",
    ),
    "homing again never moves the zero in silence": (
        "hil/play/test_zeros.py::test_five_runs_from_where_the_last_one_ended_keep_the_zeros",
        "hil/play/test_zeros.py::test_homing_again_at_the_start_keeps_the_zeros",
        "hil/play/test_zeros.py::test_a_zero_that_is_shifted_on_purpose_is_named_before_the_model",
        "host/show/test_sentences.py::test_a_shifted_zero_comes_before_the_model",
        "host/show/test_sentences.py::test_a_shifted_zero_of_a_real_board_is_asked_after_before_the_model_is_blamed",
    ),
    "nothing is overwritten by accident": (
        "whole/test_files.py::test_a_log_never_lands_on_a_motion_and_on_a_log_only_with_force",
        "whole/test_files.py::test_the_figure_of_one_command_is_not_replaced_by_another",
        "whole/test_files.py::test_what_is_broken_off_leaves_the_old_file",
        "whole/test_files.py::test_a_full_disk_leaves_the_mechanism_file_that_identify_writes",
    ),
    "positions beyond half a turn hold from end to end": (
        "hil/play/test_turns.py::test_a_motion_of_many_turns_is_played_to_its_end",
        "hil/play/test_turns.py::test_what_is_told_and_logged_counts_turns",
        "firmware/test_turns.py::test_that_limits_up_to_twenty_turns_are_kept_with_turns_counted",
        "firmware/test_turns.py::test_that_endless_turning_goes_on_past_the_ends_of_what_is_counted",
        "whole/test_stream_command.py::test_a_loop_of_whole_turns_turns_on",
        "whole/test_tour.py::test_the_tour_is_gone_with_another_robot",
    ),
    "closed mechanisms are planned, through joints, tips and modes": (
        "host/plan/test_closed_plan.py::test_a_closed_mechanism_passes_its_waypoints_of_joints_and_of_the_tip",
        "host/plan/test_closed_plan.py::test_a_singular_pose_on_the_way_is_named_with_its_joints_and_condition_number",
        "host/plan/test_closed_plan.py::test_what_the_motors_cannot_give_is_slower_with_the_forces_at_the_cuts",
        "host/plan/test_closed_plan.py::test_a_plan_through_modes_closes_their_loops_and_plays_without_fault",
    ),
    "one run has one truth": (
        "host/show/test_sentences.py::test_verbs_agree_on_what_was_measured_and_what_was_true",
        "host/show/test_sentences.py::test_table_and_list_of_the_page_agree_on_the_feedback",
        "host/show/test_sentences.py::test_tables_say_which_error_they_hold",
        "host/show/test_sentences.py::test_the_log_names_desired_measured_and_true",
        "host/show/test_sentences.py::test_parts_that_go_against_each_other_are_given_in_newton_metres_and_never_as_shares"
        "_of_a_whole",
        "host/show/test_report.py::test_a_run_without_gains_is_said_to_have_no_feedback",
    ),
    "the live page outlives the motion": (
        "host/show/test_web.py::test_the_page_stays_after_the_motion_and_a_virtual_board_plays_it_again",
        "host/show/test_web.py::test_a_real_board_is_not_moved_by_a_page",
        "host/show/test_web.py::test_a_page_finds_the_next_program_at_its_port",
    ),
    "robot descriptions that cannot be right are said": (
        "codegen/verify/test_plausible.py::test_what_cannot_be_right_is_said_with_its_name_and_value",
        "codegen/verify/test_plausible.py::test_what_is_left_out_of_a_urdf_is_said",
        "codegen/verify/test_plausible.py::test_real_robots_are_doubted_where_their_files_are_made_up_and_nowhere_else",
        "codegen/verify/test_new_file.py::test_more_joints_than_any_board_drives_are_refused_with_the_largest_board",
        "codegen/verify/test_new_file.py::test_the_joints_too_many_are_named_as_they_are_to_be_locked",
    ),
    "remedies work when they are typed": (
        "whole/test_remedies.py::test_what_installs_an_extra_is_a_line_that_pip_takes",
        "whole/test_remedies.py::test_brackets_in_an_answer_are_printed_as_they_are",
        "whole/test_remedies.py::test_xacro_is_told_another_file_than_the_one_it_reads",
        "whole/test_remedies.py::test_a_figure_that_is_none_is_answered_by_the_names_of_all",
        "whole/test_remedies.py::test_a_port_without_rights_names_the_group_that_has_them",
        "whole/test_remedies.py::test_a_port_that_another_program_has_open_says_so",
        "whole/test_remedies.py::test_a_motion_that_is_not_there_is_not_looked_for_among_logs",
        "whole/test_remedies.py::test_degrees_are_taken_for_what_they_are",
        "whole/test_remedies.py::test_what_degrees_are_in_radians_homes",
        "codegen/motion/test_trajectory.py::test_milliseconds_are_refused_and_slow_seconds_are_not",
    ),
    "it is a package that people can install": (
        "whole/test_wheel.py::test_site_packages_receives_one_package_and_no_other_name",
        "whole/test_wheel.py::test_the_metadata_are_fit_for_a_package_index",
        "whole/test_api.py::test_the_names_are_few_and_have_a_version",
        "whole/test_api.py::test_every_public_member_stands_on_the_page_with_words",
        "whole/test_readme.py::test_a_clone_can_be_installed",
    ),
    "words are plain, and what takes long says so": (
        "hil/play/test_identify.py::test_what_is_identified_is_told_with_units",
        "hil/papers/test_reproduce.py::test_what_takes_long_says_so_where_nobody_sees_a_bar",
        "codegen/verify/test_check.py::test_what_loops_are_is_told_in_one_line_of_a_terminal",
        "host/show/test_display.py::test_every_flag_of_the_board_is_told_in_words",
        "host/show/test_display.py::test_small_lengths_and_angles_are_shown_in_smaller_units",
    ),
    "a colour means one thing and nothing overlaps": (
        "host/show/test_pictures.py::test_eight_joints_can_be_told_apart_by_every_kind_of_eye",
        "host/show/test_pictures.py::test_the_live_page_means_the_same_by_a_colour_as_reports",
        "host/show/test_pictures.py::test_no_picture_has_colours_of_its_own_for_joints",
        "host/show/test_pictures.py::test_nothing_overlaps_and_nothing_sticks_out_at_any_width",
        "host/show/test_pictures.py::test_curves_can_be_zoomed_and_those_of_one_time_together",
        "host/show/test_pictures.py::test_the_page_names_date_motion_and_port",
    ),
    "flexible links are shown": (
        "codegen/verify/test_check.py::test_check_shows_flexible_links_with_their_first_frequencies_and_damping",
        "host/show/test_report.py::test_how_far_a_tip_bent_and_went_on_swinging_is_said",
        "host/show/test_report.py::test_a_run_of_a_flexible_arm_tells_of_its_tip",
    ),
    "the arm is seen in three dimensions": (
        "host/show/test_scene.py::test_a_motion_is_played_as_it_was_planned",
    ),
    "a controller of one's own gets torques of any state": (
        "codegen/emit/test_rnea.py::test_open_mechanisms_against_pinocchio",
        "codegen/emit/test_rnea.py::test_closed_mechanisms_against_pinocchio_with_its_constraints",
        "whole/test_api.py::test_torques_of_any_state_and_what_holds_the_weight",
        "whole/test_api.py::test_rad_become_whole_turns_and_come_back",
        "whole/test_api.py::test_a_motion_of_arrays_is_that_of_the_same_file",
    ),
    "what was led by hand is repeated": (
        "hil/play/test_teach_and_repeat.py::test_what_was_led_by_hand_is_played_again",
        "hil/play/test_teach_and_repeat.py::test_plan_makes_a_file_of_a_recording",
    ),
    "a part of a robot is taken, with motors that are sold": (
        "codegen/verify/test_new_file.py::test_one_chain_of_a_robot_moves_and_the_rest_stands_still",
        "codegen/verify/test_new_file.py::test_joints_that_are_locked_stay_where_they_are_told",
    ),
    "runs are dated and compared": (
        "host/show/test_sentences.py::test_a_log_says_when_it_was_begun_by_the_clock_on_the_wall",
        "host/show/test_pictures.py::test_two_runs_are_compared_joint_by_joint",
    ),
    "the shell completes what there is, and help comes at once": (
        "whole/test_remedies.py::test_completion_offers_what_there_is_and_imports_nothing_that_takes_long",
        "whole/test_remedies.py::test_help_of_every_verb_imports_no_more_than_the_command_line",
    ),
    "the tour can be typed as it stands, and with other robots": (
        "whole/test_tour.py::test_the_tour_of_the_readme_is_typed_from_a_urdf_to_a_report",
        "whole/test_tour.py::test_the_tour_is_gone_with_another_robot",
        "whole/test_tour.py::test_a_served_board_is_homed_and_played_on_from_another_terminal",
    ),
}


@cache
def names_in(file: str) -> frozenset[str]:
    """The tests that a file has, as its source says; one that is marked to be skipped is none."""
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef)
                     and not any("skip" in ast.unparse(mark) for mark in node.decorator_list))


@pytest.mark.parametrize("point", POINTS)
def test_every_point_is_held_by_tests_that_are_there(point):
    assert POINTS[point]
    for test in POINTS[point]:
        file, name = test.split("::")
        assert name in names_in(file), test


def test_the_readme_says_early_which_motors_and_that_no_hardware_has_run_it():
    """Before the first command that a reader would spend ten minutes on."""
    before = said().split("## Ten minutes")[0]
    assert "**brushed** DC motors" in before and "No hardware has run it so far" in before


def test_the_tour_says_that_its_motors_are_invented():
    tour = said().split("## Ten minutes")[1].split("**2.")[0]
    assert "motors are invented" in tour and "`--motor NAME` takes one" in tour


def said():
    """The README without its line ends."""
    return " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
