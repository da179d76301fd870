"""Tests the help from the view of a user who does not know the tool."""

import re

import pytest

from femtorque import BadInput, Mechanism, command_line
from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import canonical, load_mechanism
from femtorque.codegen.toolchain import project
from femtorque.codegen.verify import examine
from tests.codegen.mechanism.test_urdf import robot


def test_every_verb_stands_in_one_group_of_the_help(here):
    grouped = [name for names in command_line.GROUPS.values() for name in names]
    assert sorted(grouped) == sorted({verb.split()[0] for verb in command_line.VERBS})
    shown = here("--help").stdout
    places = [shown.index(f"\n{title}:") for title in command_line.GROUPS]
    assert places == sorted(places)
    assert all(re.search(rf"^  {name}  +[A-Z]", shown, re.MULTILINE) for name in grouped)


def test_help_names_arguments_as_the_text_does_and_no_types_of_python(here):
    for verb in command_line.VERBS:
        shown = here(*verb.split(), "--help").stdout
        assert "--json" in shown, verb
        assert not re.search(r"<(path|str|int|float|list|.* range)|<=x|[{}]|\[\[", shown), shown
    assert "Usage: femtorque check [OPTIONS] MECH [TRAJ ...]" in here("check", "--help").stdout


def test_hil_has_a_verb_for_each_of_its_uses_and_names_it_where_an_option_was_typed(here):
    shown = here("hil").stdout
    assert re.findall(r"^  (\w+)  +[A-Z]", shown, re.MULTILINE) == [
        "run", "serve", "drives", "pil", "replay", "scenario"]
    for typed, now in {"arm.toml motion.csv --log run.mcap": "hil run MECH TRAJ",
                       "arm.toml --serve 5555": "hil serve MECH --port PORT",
                       "--serve=0 arm.toml --pil": "hil serve MECH --port PORT",
                       "arm.toml --buses 0": "hil drives MECH --port PORT",
                       "arm.toml motion.csv -b /dev/ttyUSB0": "hil pil MECH TRAJ --port PORT",
                       "--scenario three_link --short": "hil scenario NAME",
                       "--fault estop": "hil run MECH TRAJ"}.items():
        said = here("hil", *typed.split())
        assert said.returncode == 2 and f"is now `femtorque {now}`" in said.stderr, said.stderr
    assert "Did you mean 'serve'?" in here("hil", "sreve").stderr


def test_check_writes_the_gains_that_it_shows_and_nothing_else(here, tmp_path):
    """Each new gain is a fraction of the largest stable gain. A joint whose file has no gains gets gains too."""
    arm = tmp_path / "arm.toml"
    text = (MECHANISMS / "three_link.toml").read_text(encoding="utf-8")
    arm.write_text(re.sub(r"gains = .*\n", "", text, count=1), encoding="utf-8")
    stiffest = examine(load_mechanism(arm)).rule
    for word, share in (("half", 0.5), ("stiff", 1.0), ("quarter", 0.25)):
        shown = here("check", arm, "--write", word)
        assert shown.returncode == 0, shown.stderr
        for joint in load_mechanism(arm).moving:
            for key in ("ku", "kv"):
                wanted = share * getattr(stiffest[joint.name], key)
                assert wanted * 0.999 <= getattr(joint.gains, key) <= wanted
        assert "above the stiffest" not in shown.stdout
    lines, before = arm.read_text(encoding="utf-8").splitlines(), text.splitlines()
    assert [line for line in lines if "gains" not in line and line] == [x for x in before if "gains" not in x and x]


def test_joints_without_motors_have_no_gains_to_write(here, tmp_path):
    bare = tmp_path / "bare.toml"
    bare.write_bytes((MECHANISMS / "eight_link.toml").read_bytes())
    shown = here("check", bare, "--write", "half")
    assert shown.returncode == 2 and "there are no stiffest gains to write" in shown.stderr
    assert bare.read_bytes() == (MECHANISMS / "eight_link.toml").read_bytes()


def test_a_loop_by_hand_is_led_to_its_joints_without_motors(here, tmp_path):
    """Elbows without `actuated = false` get this advice from check and plan, and no gains."""
    from femtorque.codegen.common import MECHANISMS

    bare, way = tmp_path / "bare.toml", tmp_path / "way.toml"
    bare.write_text((MECHANISMS / "five_bar.toml").read_text().replace("actuated = false\n", ""))
    way.write_text("[[waypoint]]\njoints = { left = 2.3, right = 0.9 }\n")
    shown = here("check", bare, "--write", "half")
    assert "where a loop alone moves a joint (left_elbow, right_elbow), write actuated = false" in shown.stdout.replace(
        "\n", " ")
    assert bare.read_text().count("gains =") == 2
    line = here("plan", bare, way, "-o", tmp_path / "x.csv").stderr
    assert line.startswith(f"femtorque: {bare}: joint.left_elbow.limits.velocity: is needed to plan; where a loop")
    bare.write_text((MECHANISMS / "five_bar.toml").read_text().replace("actuated = false", "passive = true"))
    assert "unknown key; write actuated = false if a closed loop" in here("check", bare).stderr


def test_reports_of_a_board_are_explained_without_a_network(here):
    shown = here("docs", "following")
    assert shown.returncode == 0 and shown.stdout.startswith("FOLLOWING, a fault of class motion\nmeans: ")
    assert "[safety] motion chooses coast or brake or hold" in shown.stdout
    assert here("docs", "not-homed").stdout.splitlines()[-1] == "do:    home first"
    wrong = here("docs", "FOLOWING")
    assert wrong.returncode == 2 and "did you mean 'FOLLOWING'" in wrong.stderr


def test_a_urdf_gets_its_board_in_one_call_and_is_the_file_that_init_writes(here, tmp_path, monkeypatch):
    urdf = tmp_path / "so101.urdf"
    urdf.write_bytes(robot("so101.urdf").read_bytes())
    assert here("init", "so101", "--from", urdf, "--board", "f405rg-6", "-o", tmp_path / "so101.toml").returncode == 0
    arm = Mechanism.from_urdf(urdf, "f405rg-6")
    assert canonical(arm) == canonical(load_mechanism(tmp_path / "so101.toml"))
    assert arm.urdf == urdf and arm.source == urdf
    with pytest.raises(BadInput, match="no such board"):
        Mechanism.from_urdf(urdf, "f405rg-7")
    with pytest.raises(BadInput, match=r"femtorque init NAME --from .*so101.urdf --board .* Mechanism.from_urdf does"):
        project(load_mechanism(urdf))
