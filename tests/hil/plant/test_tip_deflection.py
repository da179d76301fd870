"""Bending of flexible links. Two plants without common equations agree with each other and with statics."""

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import load_mechanism
from femtorque.hil.plant.articulated import plant as articulated
from femtorque.hil.plant.flexible import FlexibleArmPlant
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.plant.selection import FINER, refined
from femtorque.hil.plant.tip_deflection import shapes_of, tips_of


def test_a_link_at_rest_hangs_as_a_cantilever_does(tmp_path):
    """According to Euler and Bernoulli the sag is g l^3 (m / 8 + M / 3) / EI."""
    text = (MECHANISMS / "flexible_link.toml").read_text().replace("gravity = [0.0, 0.0, -9.81]",
                                                                  "gravity = [0.0, -9.81, 0.0]")
    (tmp_path / "link.toml").write_text(text.replace("EI = 0.55", "EI = 55.0"))
    plant = FlexibleArmPlant(load_mechanism(tmp_path / "link.toml"), 6)
    sag = 9.81 * 0.4**3 * (0.24 / 8.0 + 0.05 / 3.0) / 55.0
    assert tips_of(plant)["beam"] == pytest.approx(-sag, rel=2e-3)
    slope = 9.81 * 0.4**2 * (0.24 / 6.0 + 0.05 / 2.0) / 55.0  # g l^2 (m / 6 + M / 2) / EI
    assert shapes_of(plant)["beam"] == pytest.approx((-sag, -slope, 0.0, 0.0), rel=2e-3)


def test_plants_that_share_no_equations_bend_alike():
    mechanism = load_mechanism(MECHANISMS / "flexible_arm.toml")
    planar, spatial = FlexibleArmPlant(mechanism, 4), articulated.Plant(refined(mechanism, FINER))
    assert tips_of(spatial)["fore"] < 1e-9
    for _ in range(60):
        for plant in (planar, spatial):
            plant.push(1e-3, np.array([1.0, 0.2]))
    bent = tips_of(planar)["fore"]
    assert abs(bent) > 2e-3
    assert tips_of(spatial)["fore"] == pytest.approx(abs(bent), rel=0.05)
    flat, round_about = shapes_of(planar)["fore"], shapes_of(spatial)["fore"]
    assert abs(flat[1]) > 2e-3 and round_about[:2] == pytest.approx(flat[:2], rel=0.05)
    assert flat[2:] == (0.0, 0.0) and round_about[2:] == pytest.approx((0.0, 0.0), abs=1e-9)


def test_a_rigid_plant_has_no_bending():
    rigid = Plant(load_mechanism(MECHANISMS / "three_link.toml"))
    assert tips_of(rigid) == shapes_of(rigid) == {}
