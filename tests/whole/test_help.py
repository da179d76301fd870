"""The help, as somebody meets it who has never seen the tool."""

from __future__ import annotations

import re

from femtorque import command_line


def test_every_verb_stands_in_one_group_of_the_help(here):
    grouped = [name for names in command_line.GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(command_line.VERBS)
    shown = here("--help").stdout
    places = [shown.index(f"\n{title}:") for title in command_line.GROUPS]
    assert places == sorted(places)
    assert all(re.search(rf"^  {name}  +[A-Z]", shown, re.MULTILINE) for name in grouped)


def test_help_names_arguments_as_the_text_does_and_no_types_of_python(here):
    for verb in command_line.VERBS:
        shown = here(verb, "--help").stdout
        assert not re.search(r"<(path|str|int|float|list|.* range)|<=x|[{}]|\[\[", shown), shown
    assert "Usage: femtorque check [OPTIONS] MECH [TRAJ ...]" in here("check", "--help").stdout


def test_check_writes_the_gains_that_it_shows_and_nothing_else(here, tmp_path):
    """A share of the stiffest, never more than it; a joint without gains gets them."""
    from femtorque.codegen.common.firmware import MECHANISMS
    from femtorque.codegen.mechanism.reader import load_mechanism
    from femtorque.codegen.verify.check import examine

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


def test_what_has_no_motor_has_no_gains_to_write(here, tmp_path):
    from femtorque.codegen.common.firmware import MECHANISMS

    bare = tmp_path / "bare.toml"
    bare.write_bytes((MECHANISMS / "eight_link.toml").read_bytes())
    shown = here("check", bare, "--write", "half")
    assert shown.returncode == 2 and "there are no stiffest gains to write" in shown.stderr
    assert bare.read_bytes() == (MECHANISMS / "eight_link.toml").read_bytes()
