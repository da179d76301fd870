"""The flexible arm's steps in C against those in NumPy, to rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common.firmware import MECHANISMS
from femtorque.codegen.mechanism.description import Friction, Mechanism
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.hil.plant.choose import FINER, plant_of
from femtorque.hil.plant.flexible import FlexibleArmPlant
from femtorque.hil.plant.flexible_steps import FlexibleSteps
from femtorque.hil.plant.plant_steps import MOST

ARM = load_mechanism(MECHANISMS / "flexible_arm.toml")


def longer() -> Mechanism:
    """With another rigid link before the first, and gravity in the plane."""
    shoulder, elbow = ARM.joints
    link = replace(ARM.link("upper"), name="first")
    first = replace(shoulder, name="base", child="first", start=0.3)
    second = replace(shoulder, parent="first", xyz=np.array([0.25, 0.05, 0.1]))
    return replace(ARM, joints=(first, second, elbow), links=(link, *ARM.links), gravity=np.array([2.0, -9.0, 1.0]))


def sheared() -> Mechanism:
    """Whose flexible link gives way to shear, too."""
    links = (replace(x, beam=replace(x.beam, GA_s=(900.0, 900.0))) if x.beam else x for x in ARM.links)
    return replace(ARM, links=tuple(links))


def sticking() -> Mechanism:
    joints = (replace(joint, friction=Friction(coulomb=0.6, viscous=0.02)) for joint in ARM.joints)
    return replace(ARM, joints=tuple(joints))


def both(mechanism: Mechanism, elements: int = 4) -> tuple[FlexibleArmPlant, FlexibleArmPlant]:
    return FlexibleArmPlant(mechanism, elements), FlexibleArmPlant(mechanism, elements, compiled=False)


def compare(ours: FlexibleArmPlant, reference: FlexibleArmPlant) -> None:
    for name in ("x", "velocities", "_a", "current"):
        theirs = getattr(reference, name)
        np.testing.assert_allclose(getattr(ours, name), theirs, rtol=0, atol=1e-11 * max(1.0, np.abs(theirs).max()))
    books = [[plant.book.motors, plant.book.friction, plant.time] for plant in (ours, reference)]
    np.testing.assert_allclose(books[0], books[1], rtol=0, atol=1e-12)


def not_asked(*_: object) -> None:
    raise AssertionError("C has left a step to NumPy")


@pytest.mark.parametrize("mechanism", [ARM, longer(), sheared(), sticking(),
                                       load_mechanism(MECHANISMS / "flexible_link.toml")],
                         ids=["arm", "longer", "sheared", "sticking", "link"])
def test_c_steps_as_numpy_does(mechanism, monkeypatch):
    """Random voltages, some of which float, and torques; all float in the last quarter. C takes every step."""
    ours, reference = both(mechanism)
    monkeypatch.setattr(ours.motors, "connect", not_asked)  # NumPy's first thing
    rng, start, rested = np.random.default_rng(3), ours.x.copy(), 0
    for k in range(40):
        volts = np.where(rng.random(ours.n) < (0.2 if k < 30 else 2.0), np.nan, 4.0 * rng.normal(size=ours.n))
        torque = 0.3 * rng.normal(size=ours.n) * (rng.random() < 0.5)
        for plant in (ours, reference):
            plant.move(1.3e-3, volts, torque)
        compare(ours, reference)
        rested += int(np.sum(ours.v == 0.0))
    assert np.abs(ours.x - start)[ours.n:].max() > 1e-4
    assert (rested > 10) == (mechanism.joints[0].friction.coulomb == 0.6)


@pytest.mark.parametrize("most", [0, 1])
def test_what_c_leaves_is_stepped_in_numpy(most, monkeypatch):
    ours, reference = both(ARM)
    whole, asked = FlexibleSteps.take, []

    def take(self: FlexibleSteps, h: float, count: int) -> int:
        asked.append(count)
        return whole(self, h, min(count, most))

    monkeypatch.setattr(FlexibleSteps, "take", take)
    for plant in (ours, reference):
        plant.drive(2e-3, [3.0, -2.0])
    assert asked == [4]
    compare(ours, reference)


def test_who_watches_each_step_sees_it():
    seen = []

    class Watched(FlexibleArmPlant):
        def _step(self, h: float, torque: np.ndarray) -> None:
            super()._step(h, torque)
            seen.append(h)

    Watched(ARM, 4).drive(2e-3, [3.0, -2.0])
    assert seen == [5e-4] * 4


def test_what_the_c_does_not_know_is_numpys():
    plant = plant_of(ARM)
    assert isinstance(plant, FlexibleArmPlant) and plant._compiled is not None
    assert FlexibleArmPlant(ARM, MOST // 2 - 1)._compiled is not None
    assert FlexibleArmPlant(ARM, MOST // 2)._compiled is None
    beam = ARM.link("fore").beam
    assert beam is not None and plant.arm.n == 2 * FINER * beam.elements
