"""The page in three dimensions, read out of a real browser: where it puts links, how it closes loops, how it plays."""

from __future__ import annotations

import json

import numpy as np
import pinocchio as pin
import pytest

from codegen.mechanism.reader import load_mechanism
from codegen.model.bodies import Model
from codegen.model.loop_assembly import assemble
from codegen.motion.trajectory import Trajectory
from hil.papers.isobe import MECHANISMS
from host.scene import description, meshes
from host.show.scene import page
from tests.codegen.mechanism.test_urdf import robot
from tests.support.browser import chromium

ROBOTS = ("ur5_robot", "ur10_robot", "ur3_robot", "kinova", "xarm7", "double_pendulum", "z1", "so101", "finger_edu",
          "a1", "go2", "b1")


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def open_page(browser, tmp_path):
    def opened(mechanism, motion=None):
        file = tmp_path / f"{mechanism.name}.html"
        page.write(page.of_motion(mechanism, motion), "a test", "check", file)
        browser.console()
        browser.open(file)
        return file
    yield opened
    assert not [entry for entry in browser.console() if "GPU stall" not in entry["message"]]


@pytest.mark.parametrize("name", ROBOTS)
def test_links_stand_where_pinocchio_has_them(name, browser, open_page, monkeypatch):
    """To 1e-6 m and of a rotation's elements, at three random poses."""
    monkeypatch.setattr(description, "visuals", lambda mechanism: {})
    path = robot(f"/{name}.urdf")
    mechanism, model = load_mechanism(path), pin.buildModelFromUrdf(str(path))
    data, chance = model.createData(), np.random.default_rng(1)
    open_page(mechanism)
    for _ in range(3):
        q, named = pin.neutral(model), {}
        for joint in mechanism.moving:
            body = model.joints[model.getJointId(joint.name)]
            named[joint.name] = angle = float(chance.uniform(-1.5, 1.5))
            q[body.idx_q:body.idx_q + body.nq] = [angle] if body.nq == 1 else [np.cos(angle), np.sin(angle)]
        found = browser.run(f"return window.femtorque.places({json.dumps(named)})")
        pin.framesForwardKinematics(model, data, q)
        for link in mechanism.links:
            if link.name in ("base_frame",) or not model.existBodyName(link.name):
                continue
            expected = data.oMf[model.getBodyId(link.name)].homogeneous
            np.testing.assert_allclose(np.reshape(found[link.name], (4, 4)).T, expected, atol=1e-6, err_msg=link.name)


@pytest.mark.parametrize("name", ["five_bar", "delta", "three_rrr", "palletizer", "four_bar"])
def test_loops_are_closed_as_the_model_closes_them(name, browser, open_page):
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    open_page(mechanism)
    assert browser.run("return window.femtorque.close()") < 1e-9
    model = Model.of(mechanism.in_mode())
    closed = dict(zip([body.joint.name for body in model.bodies], assemble(model).start, strict=True))
    found = browser.run("return window.femtorque.positions()")
    for joint in mechanism.moving:
        assert found[joint.name] == pytest.approx(closed[joint.name], abs=1e-6), joint.name


def test_a_motion_is_played_as_it_was_planned(browser, open_page):
    mechanism = load_mechanism(MECHANISMS / "three_link.toml")
    motion = Trajectory.load(MECHANISMS / "three_link.csv", mechanism)
    file = open_page(mechanism, motion)
    assert file.stat().st_size < 2_000_000
    last = browser.run("return SCENE.motion.t.length") - 1
    browser.run(f"window.femtorque.seek(SCENE.motion.t[{last // 2}])")
    t = browser.run(f"return SCENE.motion.t[{last // 2}]")
    found = browser.run("return window.femtorque.positions()")
    for joint, expected in zip(mechanism.streamed, motion.at(t)[0], strict=True):
        assert found[joint.name] == pytest.approx(float(expected), abs=1e-4)
    assert browser.run("return document.getElementById('player').hidden") is False


def test_nothing_is_fetched_and_everything_has_a_label(browser, open_page):
    open_page(load_mechanism(MECHANISMS / "six_axis.toml"))
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.run("return [...document.querySelectorAll('input')].every(i => i.labels.length || i.ariaLabel)")
    assert browser.run("return document.getElementById('view').getAttribute('role')") == "img"


def test_moving_a_slider_moves_the_arm(browser, open_page):
    open_page(load_mechanism(MECHANISMS / "five_bar.toml"))
    script = """const s = document.querySelector('#joints input'), was = window.femtorque.positions();
                s.value = Number(s.value) + 0.1; s.dispatchEvent(new Event('input'));
                const is = window.femtorque.positions();
                return [Object.keys(is).filter(k => Math.abs(is[k] - was[k]) > 1e-3), window.femtorque.close(),
                        document.getElementById('open').textContent]"""
    moved, left, said = browser.run(script)
    assert {"left", "left_elbow", "right_elbow"} <= set(moved) and "right" not in moved and left < 1e-9 and said == ""


def test_meshes_of_a_urdf_are_carried_thinned(browser, open_page):
    mechanism = load_mechanism(robot("/ur5_robot.urdf"))
    solids = meshes.visuals(mechanism)
    assert {"forearm_link", "upper_arm_link", "wrist_3_link"} <= set(solids)
    for parts in solids.values():
        for solid in parts:
            assert 100 < len(solid.faces) <= 2 * meshes.FACES
            assert np.abs(solid.vertices).max() < 1.0
    assert open_page(mechanism).stat().st_size < 2_000_000
    assert browser.run("return window.femtorque.view.arm.solids.length") >= 7


def test_a_link_without_a_mesh_is_a_rod_to_what_hangs_on_it():
    data = description.scene(load_mechanism(MECHANISMS / "three_link.toml"))
    upper = next(link for link in data["links"] if link["name"] == "upper")
    (rod,) = upper["rods"]
    assert rod["length"] == pytest.approx(2.0 * rod["matrix"][12], rel=1e-9)


def test_an_ellipsoid_has_the_inertia_of_its_link():
    """Solid, of the link's mass: m / 5 (b^2 + c^2) about an axis."""
    mechanism = load_mechanism(MECHANISMS / "six_axis.toml")
    for link in mechanism.links:
        m = np.reshape(description._ellipsoid(link, 0.0), (4, 4)).T
        R = m[:3, :3]
        inertia = link.mass / 5.0 * (np.trace(R @ R.T) * np.eye(3) - R @ R.T)
        np.testing.assert_allclose(inertia, link.inertia, atol=1e-9)
