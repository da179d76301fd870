"""A plant without friction that depends on velocity or load refuses a file with it, and names it."""

from dataclasses import replace

import pytest

from femtorque.codegen.common import MECHANISMS, BadInput, Refused
from femtorque.codegen.mechanism import Mechanism, load_mechanism, mjcf
from femtorque.hil.plant.selection import plant_of


def loaded(name: str) -> Mechanism:
    """Return a mechanism whose driven joints have friction that increases with their load."""
    it = load_mechanism(MECHANISMS / f"{name}.toml")
    return replace(it, joints=tuple(replace(j, friction=replace(j.friction, load=0.1)) if j.motor else j
                                    for j in it.joints))


@pytest.mark.parametrize("name, what", [("five_bar", "loops and modes"), ("flexible_arm", "links that bend")])
def test_a_plant_without_this_friction_refuses_the_file(name: str, what: str) -> None:
    with pytest.raises(Refused, match=f"not in the virtual plant of {what}"):
        plant_of(loaded(name))


def test_mjcf_has_no_word_for_it() -> None:
    with pytest.raises(BadInput, match="viscous and Coulomb friction alone"):
        mjcf(loaded("six_axis"))
