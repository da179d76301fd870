"""Tests of the search for the origin of numbers in the emitted C. The tests compute each number from the file's
parameters in a different way."""

import json
from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.emit import model_sources
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.verify.find_constant import COMBINED, METHOD, PARAMETER, SUM, Search
from tests.support.rig import ROOT

SOME = (("three_link", None), ("six_axis", "nodal"), ("six_axis", "printed"),
        ("five_bar", None), ("flexible_link", None), ("pick_and_place", None),
        ("flexible_arm", None))
SUMS = {"flexible_link": 4, "flexible_arm": 7}  # number of inverses of the tip's response, which are sums over modes


def file(name: str, scheme: str | None = None) -> Mechanism:
    mechanism = load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    return replace(mechanism, control=replace(mechanism.control, scheme=scheme)) if scheme else mechanism


@pytest.mark.parametrize("name, scheme", SOME)
def test_every_number_of_the_c_is_found_and_nearly_none_is_a_sum(name, scheme):
    search = Search.of(file(name, scheme))
    text = "".join(model_sources(Model.of(search.mechanism)).values())
    kinds = []
    for literal in search.places:
        (found,) = search.find(literal)
        assert f"FT_C({literal})" in text or f"FT_C(-{literal})" in text
        assert all(f"FT_C({literal})" in p.code or f"FT_C(-{literal})" in p.code for p in found.places)
        kinds.append(found.kind)
        for made in found.made if found.kind in (PARAMETER, COMBINED) else ():
            first, *rest = (row.number for row in made.parameters)
            product = made.factor * first * float(np.prod([1.0 / x if made.by else x for x in rest]))
            assert abs(abs(product) - float(literal)) <= 2e-12 * float(literal)
        if found.kind in (PARAMETER, COMBINED, SUM):
            assert found.made and all(search.origin(row) for made in found.made for row in made.parameters)
    assert kinds.count(SUM) == SUMS.get(name, 0) and kinds.count(PARAMETER) > 8


def test_numbers_formed_by_hand_are_found_with_the_names_of_their_parameters():
    """The printed step contains the mass of each link times 2 / tick^2."""
    mechanism = file("six_axis", "printed")
    search = Search.of(mechanism)
    for link in mechanism.links:
        number = f"{2.0 * link.mass * mechanism.control.rate_hz**2:.14g}"
        found = [made for one in search.find(number) for made in one.made]
        assert any(row.name == "m" and link.name in row.origin and row.value == pytest.approx(link.mass)
                   for made in found for row in made.parameters)
        assert any(origin["mass"] == link.mass for made in found for row in made.parameters
                   for origin in search.origin(row) if origin["name"] == link.name)


def test_a_product_is_named_as_one_and_with_both_factors():
    (found,) = Search.of(file("flexible_link")).find("80000")
    assert found.kind == COMBINED
    tip, length = found.made[0].parameters
    assert (tip.value, length.value) == (0.05, 0.4) and tip.origin != length.origin


def test_sign_wrapping_and_fewer_digits_mean_the_same_number():
    search = Search.of(file("three_link"))
    (whole,) = search.find("2866.6666666666")
    assert [search.find(x) for x in ("-2866.6666666666", "FT_C(2866.6666666666)", "-FT_C(2866.666667f)", "2866.67")
            ] == [(whole,)] * 4
    assert whole.made[0].parameters[0].origin == ("fore", "hand")
    assert search.find("3.141592653589793")[0].kind == METHOD


@pytest.mark.parametrize("number, rule", [
    ("2866.6666666665", "is no number of the C of three-link; the nearest is 2866.6666666666"),
    ("0.78", "is no number of the C"), ("77.5", "is no number of the C"), ("mass", "is not a number"),
    ("", "is not a number"), ("nan", "is not a number"), ("1e999", "is not a number"),
])
def test_unknown_numbers_are_refused_in_one_line(number, rule):
    with pytest.raises(BadInput, match=rule) as refused:
        Search.of(file("three_link")).find(number)
    assert "\n" not in str(refused.value)


def test_the_command_says_link_parameter_value_unit_and_origin(here):
    shown = here("elements", "mechanisms/three_link.toml", "--find", "-2866.6666666666")
    assert shown.returncode == 0
    assert "J_zz = -0.000716666667 kg m^2, of fore and hand together" in shown.stdout
    assert "mass 0.1075 kg" in shown.stdout
    assert "ft_step.c:" in shown.stdout
    data = json.loads(here("elements", "mechanisms/three_link.toml", "--find", "2866.6666666666", "--json").stdout)
    (row,) = data["found"][0]["made_of"][-1]["parameters"]
    assert (row["link"], row["name"], row["unit"]) == ("fore", "J_zz", "kg m^2")
    assert row["value"] == pytest.approx(-7.16666667e-4)
    assert [origin["mass"] for origin in row["origin"]] == [0.2275, 0.1075]
    for more in ("7.77", "0.5 --page x.html", "0.5 hand"):
        refused = here("elements", "mechanisms/three_link.toml", "--find", *more.split())
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and "--find" in refused.stderr
