"""Assignment of each test row to one suite: `make test`, `make assure` or `make bench`. LONG: slow tests and rows in
tests/. `make assure` runs these. HERE: parametrised tests with expensive rows that differ only in mechanism, board or
drive. `make test` runs the named rows, one of each type, and `make bench` runs the remaining rows. A row has the name
that pytest shows in brackets, and * matches any text. A name that matches no row is an error."""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE: dict[str, tuple[str, ...]] = {
    "assurance/bench/test_step_instructions.py::test_the_printed_step_takes_no_more_instructions_than_it_did": (
        "planar-3", "ur5"),
    "assurance/bench/test_step_instructions.py::test_step_takes_no_more_instructions_than_promised": (
        "planar-8", "ur5"),
    "codegen/emit/test_derivatives.py::test_derivatives_are_those_of_pinocchio_in_both_precisions": (
        "go2", "ur5_robot"),
    "codegen/emit/test_features.py::test_a_feature_gives_the_torque_that_its_oracle_does": (
        "branch", "payload, lock and spring"),
    "codegen/emit/test_library.py::test_cmake_builds_it_and_the_plain_loop_prints_the_torques_of_its_motion": (
        "three_link", "pick_and_place", "flexible_arm"),
    "codegen/emit/test_rnea.py::test_closed_mechanisms_against_pinocchio_with_its_constraints": (
        "five_bar", "four_bar", "palletizer"),
    "codegen/emit/test_rnea.py::test_open_mechanisms_against_pinocchio": (
        "eight_link", "three_axis", "three_link", "two_link", "damiao_arm", "industrial_robot"),
    "codegen/emit/test_rnea.py::test_single_precision_errs_by_a_few_millionths_of_the_peak": (
        "three_link", "three_axis", "five_bar"),
    "codegen/reference/test_discrete_flexible.py::test_masses_at_the_tip_up_to_a_kilogram_are_stable": ("1 kg",),
    "codegen/reference/test_mimic.py::test_a_robot_with_mimic_joints_is_verified": ("baxter.urdf",),
    "codegen/reference/test_robots.py::test_a_robot_of_the_package_is_verified": ("ur5", "so101"),
    "codegen/step/test_flexible.py::test_emitted_c_is_the_march": (
        "single", "two planes", "beam second, spatial", "a sliding spring", "torsion", "beams and springs, two planes"),
    "codegen/step/test_forms.py::test_the_figures_of_a_step_are_measured_again": (
        "nodal, three_link", "nodal, six_axis", "printed, six_axis"),
    "codegen/step/test_printed.py::test_double_precision_is_the_sum_of_the_reference_on_every_example": (
        "biped, *", "eight_link", "five_bar", "four_bar", "pick_and_place, *", "six_axis", "so101_sts", "three_*",
        "two_link"),
    "codegen/step/test_same_torques.py::test_the_head_of_the_emitted_c_explains_every_ending": (
        "tree 6, nodal", "tree 14, printed", "eight_link", "three_rrr", "biped", "flexible: *"),
    "codegen/step/test_same_torques.py::test_torques_are_the_same_bit_for_bit": (
        "biped", "damiao_arm", "eight_link", "five_bar", "flexible_*", "four_bar", "four_bar, *", "pick_and_place*",
        "three_axis*", "three_link*", "two_*", "wall_arm", "planar-3, *", "planar-8, nodal", "ur5, nodal",
        "tree 4, *", "sprung tree, nodal", "slow tree, nodal", "flexible: *",
        "loop: slider-crank", "loop: driven slide", "loop: crank and rocker in space"),
    "codegen/toolchain/test_platformio.py::test_project_stands_on_its_own": ("nucleo-g474re-6",),
    "codegen/toolchain/test_platformio.py::test_what_cannot_be_built_is_said_in_one_line": (
        "*-directly", "char ft_big*"),
    "codegen/verify/test_check.py::test_the_examples_check_without_warnings": (
        "biped", "damiao_arm", "eight_link", "five_bar", "flexible_*", "four_bar", "industrial_robot", "pick_and_place",
        "six_axis*", "so101_sts", "three_axis", "three_link*", "two_link", "wall_arm"),
    "assurance/registers/test_accesses.py::test_every_access_of_an_image_is_one_that_the_vendor_describes": (
        "f405rg-4", "nucleo-g474re-6"),
    "assurance/registers/test_accesses.py::test_every_access_to_drives_and_servos_is_one_that_the_vendor_describes": (
        "damiao*", "fd*", "f405rg-6*", "nucleo-g474re-6*"),
    "firmware/test_chip.py::test_a_frame_is_answered_when_it_ends_however_long_a_tick_is": ("nucleo-g474re-6",),
    "firmware/test_chip.py::test_dead_crystal_leaves_link_and_tick_working_and_outputs_off": (
        "f405rg-4", "nucleo-g474re-6"),
    "firmware/test_chip.py::test_link_echoes_every_byte_round_its_buffers": ("f405rg-4", "nucleo-g474re-6"),
    "firmware/test_chip.py::test_send_takes_all_or_nothing": ("f405rg-4", "nucleo-g474re-6"),
    "firmware/test_current.py::test_a_load_that_tears_a_motor_round_is_not_taken_for_a_short": (
        "f405rg-4-12.0", "nucleo-g474re-6--12.0"),
    "firmware/test_current.py::test_a_loop_asks_a_bridge_on_bootstrap_capacitors_for_no_more_than_the_board_says": (
        "f405rg-4-1.0", "nucleo-g474re-6--1.0"),
    "firmware/test_current.py::test_a_motor_of_low_resistance_gets_what_is_asked_for_in_both_directions": (
        "10.0-f405rg-4", "-10.0-nucleo-g474re-6", "10.0-odrive-v3.6"),
    "firmware/test_current.py::test_a_sensor_at_its_end_ends_the_drive_within_five_periods_and_is_latched": (
        "f405rg-4-0.0", "f405rg-4-3.3", "nucleo-g474re-6-3.0"),
    "firmware/test_current.py::test_a_short_ends_the_drive_within_five_periods_of_its_first_jump": (
        "f405rg-4-winding0-0.0", "f405rg-4-winding1-5.0", "nucleo-g474re-6-winding0-10.0",
        "nucleo-g474re-6-winding1-1.0"),
    "firmware/test_current.py::test_a_step_is_followed_with_the_stated_bandwidth": (
        "f405rg-4-2.0", "nucleo-g474re-6--5.0"),
    "firmware/test_current.py::test_an_arm_on_current_loops_gets_the_torque_it_asks_for": ("nucleo-g474re-6",),
    "firmware/test_loops.py::test_that_the_torque_is_the_reference_s_in_every_tick_of_every_mode": (
        "pick_and_place", "two_arm_grasp"),
    "assurance/analysis/test_static_analysis.py::test_clang_tidy_finds_nothing": ("nucleo-g474re-6", "robomaster-c"),
    "assurance/analysis/test_static_analysis.py::test_cppcheck_finds_nothing": ("nucleo-g474re-6", "robomaster-c"),
    "hil/board/test_drives.py::test_no_round_takes_longer_than_check_says": ("damiao-told0", "fd-told3"),
    "hil/board/test_drives.py::test_the_bus_is_back_after_it_was_held_dominant_whenever_it_is_released": (
        "damiao-*", "fd-*-0.102"),
    "hil/board/test_drives.py::test_the_image_moves_an_arm_of_drives_as_the_host_computes_it": (
        "damiao", "fd", "moteus", "odrive-can"),
    "hil/board/test_drives.py::test_what_goes_wrong_on_the_bus_ends_in_its_name_with_nothing_driven": (
        "damiao-*", "fd-bus-short-BUS_OFF", "mini-cheetah-bus-foreign-*", "moteus-*", "odrive-can-*"),
    "hil/board/test_faults.py::test_what_only_some_arms_can_suffer_ends_in_its_named_fault_there": (
        "f405rg-4-current-sensor-backwards-named0", "f405rg-4-current-cable-shorted-named2",
        "odrive-v3.6-voltage-driver-forgets-named4", "f405rg-4-voltage-overload-named6"),
    "hil/board/test_servos.py::test_every_board_with_such_a_wire_moves_it": ("nucleo-g474re-6",),
    "hil/board/test_servos.py::test_what_goes_wrong_ends_with_no_servo_that_turns": (
        "bus-short-*", "drive-ails-*", "drive-silent-*", "estop-*", "reset-*", "supply-off-*"),
    "hil/chip/test_rnea.py::test_the_chip_gives_the_hosts_bits_of_derivatives_in_as_many_instructions_as_are_told": (
        "five_bar", "three_axis"),
    "hil/chip/test_rnea.py::test_the_chip_gives_the_hosts_bits_in_as_many_instructions_as_are_told": (
        "three_link", "three_axis", "industrial_robot", "pick_and_place", "five_bar"),
    "hil/plant/test_flexible_arm.py::test_flexible_feed_forward_leaves_little_of_the_vibration_of_rigid_feed_forward": (
        "points",),
    "hil/play/test_drives.py::test_an_arm_with_drives_moves_as_the_host_computes_it": ("mixed-*",),
    "hil/play/test_falling.py::test_a_loaded_arm_falls_when_the_cable_is_pulled_only_where_its_file_says_so": (
        "hold-False", "coast-True"),
    "hil/play/test_falling.py::"
    "test_an_arm_with_brakes_stays_where_it_is_through_disarming_a_lost_host_and_a_reset": ("f405rg-4",),
    "assurance/campaigns/test_campaign.py::test_that_a_loaded_arm_ends_on_its_brakes_on_every_board": (
        "nucleo-g474re-6",),
    "assurance/campaigns/test_campaign.py::"
    "test_that_faults_of_currents_end_where_they_must_before_much_flows": ("f405rg-4-kinds0",),
    "assurance/campaigns/test_campaign.py::"
    "test_that_faults_of_the_chip_itself_end_well_on_both_families": ("f405rg-4",),
    "assurance/campaigns/test_campaign_drives.py::test_that_a_sample_ends_where_it_must_with_no_torque": (
        "damiao", "damiao-fd"),
    "host/plan/test_closed_plan.py::test_a_closed_mechanism_passes_its_waypoints_of_joints_and_of_the_tip": (
        "five_bar", "palletizer"),
    "host/plan/test_closed_plan.py::test_a_plan_of_a_closed_mechanism_plays_on_the_virtual_board_without_fault": (
        "five_bar",),
    "host/plan/test_closed_plan.py::test_every_limit_is_kept_at_every_sample_by_another_s_account": (
        "five_bar", "three_rrr"),
    "host/plan/test_tip_motion.py::"
    "test_plant_in_other_coordinates_driven_by_the_torques_alone_follows_the_path": ("spring",),
    "host/show/test_pictures.py::test_nothing_overlaps_and_nothing_sticks_out_at_any_width": ("420", "1600"),
    "host/show/test_scene.py::test_links_stand_where_pinocchio_has_them": (
        "ur5_robot", "double_pendulum", "so101", "a1"),
    "host/show/test_scene.py::test_loops_are_closed_as_the_model_closes_them": ("five_bar", "palletizer"),
    "host/show/test_scene.py::test_pages_fit_a_narrow_screen_and_follow_the_systems_colours": ("light",),
    "host/show/test_scene.py::test_the_page_of_a_plan_moves_the_arm_within_marked_limits": ("three_link",),
    "whole/test_files.py::test_a_changed_file_is_replaced_only_with_force_and_only_if_of_the_same_kind": (
        "check*", "generate*", "plan*", "plot csv", "plot html", "plot png", "reproduce", "stream*", "torque*"),
    "whole/test_first_power_up.py::test_step_09_an_open_loop_stops_the_drivers_and_no_board_arms_with_it": (
        "f405rg-4-0.0", "nucleo-g474re-6-1e-06", "odrive-v3.6-0.002"),
    "whole/test_first_power_up.py::"
    "test_step_15_a_processor_that_is_halted_drives_no_motor_where_its_timers_have_a_break": (
        "nucleo-g474re-6-True", "f405rg-6-False"),
}


LONG = frozenset(Path(__file__).with_name("long_rows.txt").read_text(encoding="utf-8").splitlines())


def leave_to_assure(items: list[pytest.Item], whole: bool) -> None:
    """Mark tests and rows of tests/ that are too slow for `make test`. whole: true if each name must match a test."""
    found, files = set(), set()
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        fits = {name, name.partition("[")[0]} & LONG
        found |= fits
        files.add(name.partition("::")[0])
        if fits:
            item.add_marker(pytest.mark.assure)
    gone = sorted(name for name in LONG - found if name.partition("::")[0] in files)
    if whole and gone:
        raise pytest.UsageError(f"tests/support/long_rows.txt names rows that are not there: {', '.join(gone)}")


def leave_to_bench(items: list[pytest.Item], whole: bool) -> None:
    """Mark the rows that HERE does not name. whole: the run has all tests of a file, so each name must match."""
    named = {(test, row) for test, rows in HERE.items() for row in rows}
    files, found = set(), set()
    for item in items:
        test, _, rest = item.nodeid.removeprefix("tests/").partition("[")
        row = rest[:-1]
        fits = {(test, name) for name in HERE.get(test, ()) if fnmatchcase(row, name)}
        if row and test in HERE and not fits:
            item.add_marker(pytest.mark.bench)
        files.add(test.partition("::")[0])
        found |= fits
    gone = sorted(f"{test}[{row}]" for test, row in named - found if (file := test.partition("::")[0]) in files
                  or not any((ROOT / folder / file).is_file() for folder in ("", "tests")))
    if whole and gone:
        raise pytest.UsageError(f"tests/support/rows.py names what is not there: {', '.join(gone)}")
