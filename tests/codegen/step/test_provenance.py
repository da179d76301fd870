"""Tests that the emitted C names the correct origin of each number, and that the number belongs to the named links."""

import re
from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.emit import parameters, rnea, sources
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.step.number_origins import provenance, solids
from femtorque.codegen.step.search import plain_step, step_of
from tests.support.arms import arms
from tests.support.oracle import planar_chain, random_tree
from tests.support.sampling import asking

SCHEMES = ("nodal", "printed")
MAKE = {
    "planar": lambda: planar_chain(4),
    "tree with slides": lambda: random_tree(np.random.default_rng(3), 7),
    "six_axis": lambda: load_mechanism(MECHANISMS / "six_axis.toml"),
    "ur5": lambda: arms()["ur5"],
    "payload": lambda: load_mechanism(MECHANISMS / "industrial_robot.toml"),
}


def literals(c: str) -> list[float]:
    return [float(x) for x in re.findall(r"FT_C\(([-\d.][^)]*)\)", c)]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", MAKE)
def test_every_number_of_a_link_s_forces_is_one_of_its_parameters(name, scheme):
    """Statements of forces, moments, first moments and h have no other numbers. The printed step has a table."""
    model = Model.of(asking(MAKE[name](), scheme=scheme))
    rows, c = provenance(step_of(model)), sources.step_sources(model)["ft_step.c"]
    for i, own in enumerate(rows):
        numbers = [abs(p.number) for p in own] + [1.0, 2.0, 0.5]
        numbers += [abs(p.number) for row in rows for p in row if p.unit in ("m", "", "m/s^2")]
        numbers += [x * y for x in numbers for y in numbers]  # products of constants
        if scheme == "printed":
            text = c.split("ft_link[FT_JOINTS] = {")[1].split("    },\n")[i].split("/* l */")[0]
            numbers.append(0.0)
        else:
            text = "".join(re.findall(rf"ft_real (?:[fnh]{i + 1}_|l{i + 1}_m)[^;]*;", c))
        for x in literals(text):
            assert any(abs(x - n) <= 1e-8 * n or x == n for n in numbers), (i, x, text)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", MAKE)
def test_a_parameter_changes_with_the_links_of_its_origin_and_with_no_other(name, scheme):
    mechanism = asking(MAKE[name](), scheme=scheme)
    model = Model.of(mechanism)
    before, all_named = provenance(plain_step(model)), set()
    for k, link in enumerate(mechanism.links):
        heavier = replace(link, mass=1.31 * link.mass, com=link.com + 0.013, inertia=1.7 * link.inertia)
        links = (*mechanism.links[:k], heavier, *mechanism.links[k + 1:])
        after = provenance(plain_step(Model.of(replace(mechanism, links=links))))
        for old, new in zip(before, after, strict=True):
            known = {p.name: p for p in new}
            for p in old:
                same = p.name in known and abs(known[p.name].value - p.value) <= 1e-12 * abs(p.value)
                assert same or link.name in p.origin, (link.name, p)
                all_named |= set(p.origin) if not same else set()
    assert {name for names in solids(model) for name in names} & all_named


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_c_says_it_of_every_link_within_80_columns(scheme):
    model = Model.of(asking(load_mechanism(MECHANISMS / "six_axis.toml"), scheme=scheme))
    c = sources.step_sources(model)["ft_step.c"]
    said = re.findall(r"/\* Of ([^*]*(?:\*(?!/)[^*]*)*)\*/", c)
    assert len(said) == model.n and all("kg m^2" in text for text in said)
    assert all(len(line) <= 80 for text in said for line in text.splitlines())


@pytest.mark.parametrize("name", ["four_bar", "flexible_arm"])
def test_closed_and_flexible_mechanisms_name_their_links_too(name):
    model = Model.of(load_mechanism(MECHANISMS / f"{name}.toml"))
    c = "".join(sources.step_sources(model).values())
    for body in model.bodies:
        assert re.search(rf"(Of|of) [^:;]*\b{body.joint.child}\b", c)


def test_torques_at_one_instant_name_their_links_too():
    c = rnea.render(Model.of(MAKE["six_axis"]()))["ft_rnea.c"]
    # entries for the step in motion, and for the step at rest
    assert len(re.findall(r"/\* Of [^*]*tool_flange[^*]*m = ", c)) >= 2


@pytest.mark.parametrize("name, scheme", [("six_axis", "nodal"), ("six_axis", "printed"), ("four_bar", "nodal"),
                                          ("four_bar", "printed"), ("flexible_arm", "nodal")])
def test_masses_and_levers_by_link_are_found_again_in_the_c(name, scheme):
    model = Model.of(asking(load_mechanism(MECHANISMS / f"{name}.toml"), scheme=scheme))
    numbers = {abs(x) for text in sources.step_sources(model).values() for x in literals(text)}
    found = parameters(model)
    assert set(found) >= {body.joint.child for body in model.bodies}
    for p in (p for rows in found.values() for p in rows):
        assert any(abs(abs(p.number) - x) <= 1e-8 * x for x in numbers | {1.0}), p
