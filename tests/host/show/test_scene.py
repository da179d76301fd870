"""Tests the page with the drawn arm in a real browser: positions of links, closed loops, and playback."""

import json

import numpy as np
import pinocchio as pin
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model, assemble
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference import flexible
from femtorque.hil.papers.isobe import MECHANISMS
from femtorque.host.plan import planning as planning, waypoints
from femtorque.host.scene import Contact, Moment, Motion, Solid, Thing, description, meshes
from femtorque.host.show import plan_page
from femtorque.host.show.scene import page
from tests.codegen.mechanism.test_urdf import robot
from tests.support.browser import chromium
from tests.support.mimic import gripper_in

ROBOTS = ("ur5_robot", "ur10_robot", "ur3_robot", "kinova", "xarm7", "double_pendulum", "z1", "so101", "finger_edu",
          "a1", "go2", "b1")


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def open_page(browser, tmp_path):
    def opened(mechanism, motion=None, things=()):
        file = tmp_path / f"{mechanism.name}.html"
        page.write_scene(page.of_motion(mechanism, motion) | description.around(things), "a test", "check", file)
        browser.console()
        browser.open(file)
        return file
    yield opened
    assert not [entry for entry in browser.console() if "GPU stall" not in entry["message"]]


@pytest.mark.parametrize("name", ROBOTS)
def test_links_stand_where_pinocchio_has_them(name, browser, open_page, monkeypatch):
    """At three random poses, the error is below 1e-6 m and below 1e-6 of a rotation's elements."""
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


def test_tables_beside_the_arm_are_whole_on_a_wide_screen(browser, open_page):
    open_page(load_mechanism(MECHANISMS / "two_arm_grasp.toml"))
    widths = browser.run("return [...document.querySelectorAll('.wide')].map(x => [x.scrollWidth, x.clientWidth])")
    assert len(widths) == 2 and all(content <= box for content, box in widths), widths


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


def test_a_humanoid_is_drawn_with_few_calls_and_triangles(browser, open_page):
    """29 joints with all meshes, drawn twice. Calls and triangles determine the time of a frame."""
    mechanism = load_mechanism(robot("/g1_29dof_rev_1_0.urdf"))
    names = tuple(joint.name for joint in mechanism.streamed)
    t = np.linspace(0.0, 2.0, 121)
    q = 0.3 * np.sin(np.pi * t[:, None] + np.arange(len(names)))
    assert len(names) == 29
    file = open_page(mechanism, Motion(names, t, q, q + 0.02, None, q))
    browser.run("femtorque.seek(1.0)")
    drawn = browser.run("return femtorque.view.renderer.info.render")
    assert browser.run("return femtorque.view.others.ghost.root.visible")
    assert drawn["calls"] < 120 and 20_000 < drawn["triangles"] < 100_000
    again = "femtorque.view.draw(); return femtorque.view.renderer.info.render"
    thin = browser.run(f"femtorque.view.sharpness(1, true); {again}")
    assert thin["calls"] == drawn["calls"] and 5_000 < thin["triangles"] < drawn["triangles"] / 3
    fine = browser.run(f"femtorque.view.sharpness(1, false); {again}")
    assert fine["triangles"] == drawn["triangles"], "while nothing moves all of it is drawn"
    assert file.stat().st_size - 2_000_000 < 0, "thinned meshes and all"


def test_a_ghost_that_stands_where_the_arm_does_is_not_drawn(browser, open_page):
    mechanism = load_mechanism(MECHANISMS / "three_link.toml")
    t, q = np.linspace(0.0, 1.0, 61), np.zeros((61, 3))
    apart = q + np.where(t > 0.5, 0.1, 1e-4)[:, None]
    open_page(mechanism, Motion(tuple(joint.name for joint in mechanism.streamed), t, q, apart))
    seen = "return femtorque.view.others.ghost.root.visible"
    assert browser.run(f"femtorque.seek(0.2); {seen}") is False and browser.run(f"femtorque.seek(0.8); {seen}") is True


def test_a_link_without_a_mesh_is_a_rod_to_what_hangs_on_it():
    data = description.scene(load_mechanism(MECHANISMS / "three_link.toml"))
    upper = next(link for link in data["links"] if link["name"] == "upper")
    (rod,) = upper["rods"]
    assert rod["length"] == pytest.approx(2.0 * rod["matrix"][12], rel=1e-9)


def test_an_ellipsoid_has_the_inertia_of_its_link():
    """A solid ellipsoid has m / 5 (b^2 + c^2) about an axis."""
    mechanism = load_mechanism(MECHANISMS / "six_axis.toml")
    for link in mechanism.links:
        m = np.reshape(description._ellipsoid(link, 0.0), (4, 4)).T
        R = m[:3, :3]
        inertia = link.mass / 5.0 * (np.trace(R @ R.T) * np.eye(3) - R @ R.T)
        np.testing.assert_allclose(inertia, link.inertia, atol=1e-9)


def test_a_flexible_link_bends_as_the_reference_bends_it(browser, open_page):
    """The end of the link must be at the reference's deflection and slope, times the page's factor."""
    mechanism = load_mechanism(MECHANISMS / "flexible_arm.toml")
    motion = Trajectory.load(MECHANISMS / "flexible_arm.csv", mechanism)
    open_page(mechanism, motion)
    larger = browser.run("return SCENE.motion.larger")
    assert larger > 1 and f"bending drawn {larger} times as large" in browser.run("return document.body.innerText")
    t, links, _ = flexible.shapes(Model.of(mechanism), motion, round(motion.duration / Model.of(mechanism).dt))
    most = float(t[np.argmax(np.abs(links["fore"][:, 0]))])
    browser.run(f"femtorque.seek({most})")
    y, slope = (np.interp(most, t, links["fore"][:, k]) * larger for k in (0, 1))
    assert abs(y) > 0.005, "it is seen"
    (load,) = mechanism.payloads
    tip = browser.run("const at = new THREE.Vector3(...SCENE.payloads[0].com);"
                      "return at.applyMatrix4(femtorque.view.arm.tips.fore.matrix).toArray()")
    np.testing.assert_allclose(tip, [load.com[0], y, 0.0], atol=2e-4 * larger)
    turned = browser.run("return femtorque.view.arm.tips.fore.matrix.elements[1]")
    assert turned == pytest.approx(np.sin(slope), abs=5e-3)
    shape = browser.run("return Array.from(femtorque.view.arm.beams.fore.geometry.getAttribute('position').array)")
    points = np.reshape(shape, (-1, 3))
    end, root = points[np.isclose(points[:, 0], 0.35)], points[np.isclose(points[:, 0], 0.0, atol=1e-6)]
    assert end[:, 1].mean() == pytest.approx(y, abs=2e-4 * larger) and abs(root[:, 1].mean()) < 1e-6


def test_a_mode_shows_its_payloads_and_stands_on_its_own_link(browser, open_page):
    mechanism = load_mechanism(MECHANISMS / "pick_and_place.toml")
    motion = Trajectory.load(MECHANISMS / "pick_and_place.csv", mechanism)
    open_page(mechanism, motion)
    (_, (switch, loaded)) = motion.modes[:2]
    seen = ("const loads = femtorque.view.arm.loads;"
            "return Object.keys(loads).filter(name => loads[name].visible).sort()")
    for t, mode in ((0.5 * switch, motion.modes[0][1]), (switch + 0.01, loaded)):
        browser.run(f"femtorque.seek({t})")
        assert browser.run("return document.getElementById('mode').value") == mode
        assert browser.run(seen) == sorted(mechanism.mode(mode).payloads)
    biped = load_mechanism(MECHANISMS / "biped.toml")
    open_page(biped, Trajectory.load(MECHANISMS / "biped.csv", biped))
    foot = "return femtorque.view.arm.links.right_foot.matrixWorld.toArray()"
    browser.run("const s = document.getElementById('mode'); s.value = 'right'; s.dispatchEvent(new Event('change'))")
    browser.run("femtorque.places({hip: 0.3})")
    before = browser.run(foot)
    browser.run("femtorque.places({hip: -0.3})")
    np.testing.assert_allclose(browser.run(foot), before, atol=1e-12)


def test_the_range_of_a_joint_turns_red_beyond_it(browser, open_page):
    mechanism = load_mechanism(MECHANISMS / "three_link.toml")
    open_page(mechanism)
    joint = mechanism.moving[0]
    colour = "femtorque.view.draw(); return femtorque.view.ranges[0].band.material.color.getHexString()"
    assert browser.run("return femtorque.view.ranges.length") == 3
    browser.run(f"femtorque.places({{{joint.name}: {joint.limits.upper - 0.01}}})")
    within = browser.run(colour)
    browser.run(f"femtorque.places({{{joint.name}: {joint.limits.upper + 0.01}}})")
    assert browser.run(colour) == "c2362b" != within
    ends = browser.run("return Array.from(femtorque.view.ranges[0].band.geometry.getAttribute('position').array)")
    angle = [np.arctan2(y, x) for x, y in (ends[0:2], ends[-3:-1])]
    expected = [joint.limits.lower, joint.limits.upper]
    np.testing.assert_allclose(np.exp(1j * np.array(angle)), np.exp(1j * np.array(expected)), atol=1e-6)


@pytest.mark.parametrize("name", ["three_link", "flexible_arm"])
def test_the_page_of_a_plan_moves_the_arm_within_marked_limits(name, browser, here, tmp_path):
    mechanism, file = MECHANISMS / f"{name}.toml", tmp_path / "plan.html"
    way = MECHANISMS / "flexible_arm_way.csv" if name == "flexible_arm" else tmp_path / "way.toml"
    if name == "three_link":
        way.write_text(f'tip = {{ link = "{load_mechanism(mechanism).links[-1].name}" }}\n'
                       "[[waypoint]]\nxyz = [0.25, 0.2, 0.0]\n")
    shown = here("plan", mechanism, way, "-o", tmp_path / "plan.csv", "--page", file, "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["page"] == str(file) and file.stat().st_size < 2_000_000
    arm = load_mechanism(mechanism)
    motion = Trajectory.load(tmp_path / "plan.csv", arm)
    browser.console()
    browser.open(file)
    t = browser.run("femtorque.seek(0.6 * femtorque.player.last); return femtorque.player.time")
    found = browser.run("return femtorque.positions()")
    for joint, expected in zip(arm.streamed, motion.at(t)[0], strict=True):
        assert found[joint.name] == pytest.approx(float(expected), abs=1e-3)
    limits = browser.run("return plots[0].plot.curves.slice(1).map(c => c.points[0][1])")
    np.testing.assert_allclose(limits, [arm.streamed[0].limits.lower, arm.streamed[0].limits.upper], rtol=1e-4)
    strips = int(name == "three_link")  # of the limits that act; a flexible arm has none
    assert browser.run("return plots.length") == 3 * len(arm.streamed) + strips
    assert browser.run("return SCENE.motion.path.length === SCENE.motion.t.length && SCENE.motion.shares.length > 0")
    assert not [entry for entry in browser.console() if "GPU stall" not in entry["message"]]
    file.write_text(file.read_text() + "changed")
    again = here("plan", mechanism, way, "-o", tmp_path / "b.csv", "--page", file)
    assert again.returncode == 2 and "is there already" in again.stderr and not (tmp_path / "b.csv").exists()


def test_what_a_simulated_arm_touches_is_an_arrow_and_what_it_pushes_moves(browser, open_page):
    mechanism = load_mechanism(MECHANISMS / "three_link.toml")
    box = Thing("box", Solid(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], np.uint32), "#c79a61"),
                (0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), moves=True)
    turned = (0.4, 0.1, 0.0, 0.0, 0.0, 1.0, 0.0)
    touch = Contact("hand", "box", np.array([0.3, 0.0, 0.1]), np.array([0.0, -40.0, 30.0]))
    t, q = np.linspace(0.0, 1.0, 61), np.zeros((61, 3))
    pushed = np.where(t > 0.5, -0.4, 0.1)[:, None] * [1.0, 0.0, 0.0]
    motion = Motion(tuple(joint.name for joint in mechanism.streamed), t, q, pushed=pushed,
                    around=[(0.0, Moment({"box": box.place})), (0.5, Moment({"box": turned}, (touch,)))])
    open_page(mechanism, motion, [box])
    seen = """const v = femtorque.view, one = v.contacts[0], push = v.pushes.shoulder, up = new THREE.Vector3(0, 1, 0);
              return [v.things.box.position.toArray(), Boolean(one?.visible), Boolean(push?.visible),
                      one && [one.position.toArray(), up.applyQuaternion(one.quaternion).toArray()],
                      push && new THREE.Vector3(0, 0, 1).applyQuaternion(push.quaternion).toArray()]"""
    assert browser.run(f"femtorque.seek(0.3); {seen}")[:3] == [[0.3, 0.0, 0.0], False, False]
    place, touches, pushes, (point, way), axis = browser.run(f"femtorque.seek(0.7); {seen}")
    assert place == [0.4, 0.1, 0.0] and touches and pushes
    np.testing.assert_allclose([point, way, axis], [[0.3, 0.0, 0.1], [0.0, -0.8, 0.6], [0.0, 0.0, -1.0]], atol=1e-6)
    said = browser.run("return document.getElementById('time').getAttribute('aria-valuetext')")
    assert said == "0.70 s, box touches hand: 50 N; pushed, unforeseen: shoulder"
    assert browser.run(f"femtorque.seek(0.3); {seen}")[:3] == [[0.3, 0.0, 0.0], False, False]


def test_joints_that_mimic_another_move_with_it(browser, open_page, tmp_path):
    open_page(gripper_in(tmp_path))
    browser.run('window.femtorque.places({"grip": 0.5})')
    found = browser.run("return window.femtorque.positions()")
    assert (found["other"], found["thumb"]) == (-0.5, pytest.approx(0.03))
    assert browser.run("return femtorque.view.arm.joints.thumb.rail.matrix.elements[0]") == pytest.approx(0.03)
    assert browser.run("return document.getElementById('joints').innerText").split("\n")[0] == "shoulder"
    assert browser.run("return window.femtorque.close()") == 0  # all meshes and listeners have been released


def test_the_ranges_of_the_joints_are_in_view(browser, tmp_path):
    """A wide and low picture of this arm once cut the arcs of its ranges off."""
    mechanism = load_mechanism(MECHANISMS / "so101_sts.toml")
    motion = Trajectory.load(MECHANISMS / "so101_sts.csv", mechanism)
    page.write_scene(page.of_motion(mechanism, motion), "a test", "check", tmp_path / "check.html")
    browser.look(1300, 500)
    try:
        browser.open(tmp_path / "check.html")
        browser.until("return window.femtorque !== undefined")
        farthest = browser.run("""const view = femtorque.view; view.world.updateMatrixWorld(true);
            return Math.max(...view.ranges.flatMap(({ band }) => {
              const points = band.geometry.attributes.position, seen = [];
              for (let i = 0; i < points.count; i++) seen.push(
                new THREE.Vector3().fromBufferAttribute(points, i).applyMatrix4(band.matrixWorld).project(view.camera));
              return seen.flatMap(({ x, y }) => [Math.abs(x), Math.abs(y)]);
            }))""")
    finally:
        browser.look(1300, 1000)
    assert 0.5 < farthest < 1.0  # 1 is the edge of the picture


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pages_fit_a_narrow_screen_and_follow_the_systems_colours(dark, browser, tmp_path):
    """At 400 px no part is wider than the screen, and the arm stays in view while the curves scroll."""
    mechanism = load_mechanism(MECHANISMS / "three_link.toml")
    motion = Trajectory.load(MECHANISMS / "three_link.csv", mechanism)
    way = tmp_path / "way.toml"
    way.write_text(f'tip = {{ link = "{mechanism.links[-1].name}" }}\n[[waypoint]]\nxyz = [0.25, 0.2, 0.0]\n')
    plan = planning.plan(mechanism, waypoints.load_waypoints(way, mechanism, None))
    plan_page.write_planned(tmp_path / "plan.html", mechanism, plan)
    page.write_scene(page.of_motion(mechanism, motion), "a test", "check", tmp_path / "check.html")
    browser.console()
    browser.look(400, 800, dark=dark)
    try:
        for name in ("plan", "check"):
            browser.open(tmp_path / f"{name}.html")
            assert browser.run("return document.documentElement.scrollWidth") <= 400, name
            ground = browser.run("return getComputedStyle(document.body).backgroundColor")
            assert ground == ("rgb(22, 27, 34)" if dark else "rgb(255, 255, 255)"), name
        browser.open(tmp_path / "plan.html")
        browser.run("window.scrollTo(0, 1500)")
        box = browser.run("const b = document.getElementById('time').getBoundingClientRect(); return [b.top, b.bottom]")
        assert 0.0 <= box[0] < box[1] <= 800.0
    finally:
        browser.look(1300, 1000)
    assert not [entry for entry in browser.console() if "GPU stall" not in entry["message"]]
