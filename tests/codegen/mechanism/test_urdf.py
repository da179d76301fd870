"""Tests of URDF: comparison with Pinocchio's parser, and the line that refuses a faulty document."""

import cProfile
import re
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism.description import Mechanism
from femtorque.codegen.mechanism.edit import set_solid
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.mechanism.urdf import links_here, read_urdf
from femtorque.codegen.model import Model, mass_matrix
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.verify import examine, write_new_file
from femtorque.codegen.verify.new_file import text
from tests.support.oracle import rnea

ROBOTS = Path(str(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots")))

ARM = """\
<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <link name="world"/>
  <link name="upper">
    <visual><geometry><mesh filename="package://nowhere/upper.stl"/></geometry></visual>
    <inertial>
      <origin xyz="0.1 0.01 -0.02" rpy="0.3 -0.2 0.5"/>
      <mass value="1.5"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.022" ixy="0.001" ixz="-0.002" iyz="0.0005"/>
    </inertial>
  </link>
  <link name="fore">
    <inertial>
      <origin xyz="0.05 0 0.03"/>
      <mass value="0.7"/>
      <inertia ixx="0.003" iyy="0.004" izz="0.005" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="tool"><inertial><mass value="0.2"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"/>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 0.3" rpy="0.1 1.5707963267948966 -0.4"/>
    <parent link="world"/><child link="upper"/>
    <axis xyz="0 0.6 0.8"/>
    <limit lower="-2" upper="2" velocity="3" effort="10"/>
    <dynamics damping="0.1" friction="0.2"/>
  </joint>
  <joint name="slide" type="prismatic">
    <origin xyz="0.2 0 0" rpy="0 0.5 0"/>
    <parent link="upper"/><child link="fore"/>
    <axis xyz="1 0 0"/>
    <limit lower="0.1" upper="0.4" velocity="1" effort="10"/>
  </joint>
  <joint name="flange" type="fixed"><origin xyz="0.1 0 0" rpy="0.7 0 0"/>
    <parent link="fore"/><child link="tool"/></joint>
  <joint name="frame" type="fixed"><parent link="tool"/><child link="tip"/></joint>
  <transmission name="t"><type>x</type></transmission>
</robot>
"""


def robot(name: str) -> Path:
    """Return a URDF file of the package example-robot-data whose path ends with `name`."""
    return next(p for p in sorted(ROBOTS.rglob("*.urdf")) if p.as_posix().endswith(name))


def written(tmp_path: Path, document: str = ARM, extra: str = "") -> Path:
    (tmp_path / "arm.urdf").write_text(document)
    path = tmp_path / "arm.toml"
    path.write_text(f'name = "arm"\nurdf = "arm.urdf"\n{extra}')
    return path


def refusal(path: Path, where: Path) -> str:
    with pytest.raises(BadInput) as caught:
        load_mechanism(path)
    line = str(caught.value)
    assert "\n" not in line and line.startswith(f"{where}: "), line
    return line.removeprefix(f"{where}: ")


def compare_with_pinocchio(mechanism: Mechanism, urdf: Path, seed: int = 0) -> None:
    """Compare the mass matrix and the inverse dynamics at a random state with Pinocchio's model of the URDF."""
    rng = np.random.default_rng(seed)
    theirs = pin.buildModelFromUrdf(str(urdf))
    q = np.array([rng.uniform(-1.0, 1.0) if np.isinf(j.limits.lower) or np.isinf(j.limits.upper)
                  else rng.uniform(j.limits.lower, j.limits.upper) for j in mechanism.moving])
    v, a = rng.normal(size=(2, len(q)))
    full, full_v, full_a = pin.neutral(theirs), np.zeros(theirs.nv), np.zeros(theirs.nv)
    places = dict(zip([j.name for j in mechanism.moving], q, strict=True)) | mechanism.lock
    for name, value in places.items():
        joint = theirs.joints[theirs.getJointId(name)]
        full[joint.idx_q:joint.idx_q + joint.nq] = [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
    index = [theirs.joints[theirs.getJointId(j.name)].idx_v for j in mechanism.moving]
    full_v[index], full_a[index] = v, a
    model = Model.of(mechanism)
    data = theirs.createData()
    M = pin.crba(theirs, data, full)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(index, index)]
    np.testing.assert_allclose(mass_matrix(model, q, rotors=False), M, rtol=0.0, atol=1e-12 * np.abs(M).max())
    tau = pin.rnea(theirs, data, full, full_v, full_a)[index]
    np.testing.assert_allclose(rnea(model, q, v, a), tau, rtol=0.0, atol=1e-12 * np.abs(tau).max())


# ---- good documents


def test_a_small_arm_is_what_pinocchio_reads(tmp_path: Path) -> None:
    arm = load_mechanism(written(tmp_path))
    for seed in range(5):
        compare_with_pinocchio(arm, tmp_path / "arm.urdf", seed)


def test_joints_limits_and_friction_are_taken_over(tmp_path: Path) -> None:
    arm = load_mechanism(written(tmp_path))
    assert [j.name for j in arm.joints] == ["shoulder", "slide", "flange", "frame"]
    assert [j.parent for j in arm.joints] == ["base", "upper", "fore", "tool"]
    shoulder, slide = arm.moving
    assert (shoulder.limits.lower, shoulder.limits.velocity, shoulder.limits.effort) == (-2.0, 3.0, 10.0)
    assert (shoulder.friction.viscous, shoulder.friction.coulomb) == (0.1, 0.2)
    assert slide.type == "prismatic" and slide.start == 0.25  # the joint's range does not contain zero
    assert arm.link("tip").mass == 0.0 and arm.warnings == ()


def test_the_rest_is_matched_by_name(tmp_path: Path) -> None:
    extra = """
[board]
use = "f405rg-4"
[[joint]]
name = "slide"
limits = { velocity = 0.5 }
motor = { R = 1.0, L = 1e-3, K = 0.05, gear = 200.0, channel = 0 }
[[payload]]
name = "load"
link = "tip"
mass = 0.3
com = [0.0, 0.0, 0.1]
"""
    arm = load_mechanism(written(tmp_path, extra=extra))
    slide = arm.moving[1]
    assert slide.motor.gear == 200.0
    assert (slide.limits.lower, slide.limits.velocity, slide.limits.effort) == (0.1, 0.5, 10.0)
    assert arm.payloads[0].link == "tip"


@pytest.mark.parametrize("name", [
    "ur5_robot.urdf", "z1.urdf", "so101.urdf", "talos_left_arm.urdf", "g1_29dof_rev_1_0.urdf",
    "allegro_right_hand.urdf", "kinova.urdf", "baxter.urdf", "panda_description/urdf/panda.urdf",
    "anymal_b_simple_description/robots/anymal.urdf",
])
def test_real_robots_are_what_pinocchio_reads(tmp_path: Path, name: str) -> None:
    path = tmp_path / "robot.toml"
    write_new_file("robot", path, robot(name))
    compare_with_pinocchio(load_mechanism(path), robot(name))


TRULY_REFUSED = {
    "hector_description/robots/quadrotor_base.urdf": "joint: there is none",
    "iris_description/robots/iris_simple.urdf": "nothing can move",
    "ur_description/urdf/ur3.urdf": "link: there is none",
    "alex_description/urdf/alex_psyonic_hands.urdf": "mimic.joint = 'index_q1': no such joint",
}


def test_every_robot_of_the_package_loads_or_is_refused_with_a_true_reason(tmp_path: Path) -> None:
    robots = sorted({p.resolve() for p in ROBOTS.rglob("*.urdf")})
    assert len(robots) > 60
    refused = {}
    for number, urdf in enumerate(robots):
        path = tmp_path / f"robot{number}.toml"
        try:
            write_new_file("robot", path, urdf)
            load_mechanism(path)
        except BadInput as error:
            refused[next((k for k in TRULY_REFUSED if urdf.as_posix().endswith(k)), urdf.as_posix())] = str(error)
    assert refused.keys() == TRULY_REFUSED.keys()
    for name, reason in TRULY_REFUSED.items():
        assert reason in refused[name]


def test_a_urdf_alone_is_a_mechanism_without_motors(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "2 arms.urdf").write_text(ARM)
    alone, named = load_mechanism(tmp_path / "arm.urdf"), load_mechanism(tmp_path / "2 arms.urdf")
    compare_with_pinocchio(alone, tmp_path / "arm.urdf")
    assert (alone.name, named.name) == ("arm", "_2-arms") and alone.board is None
    panda = load_mechanism(robot("panda_description/urdf/panda.urdf"))
    assert len(panda.moving) == 9 and len(panda.streamed) == 8 and panda.lock == {}
    with pytest.raises(BadInput, match="absent.urdf: file: does not exist"):
        load_mechanism(tmp_path / "absent.urdf")


# ---- bad documents

UPPER = '<inertia ixx="0.01" iyy="0.02" izz="0.022" ixy="0.001" ixz="-0.002" iyz="0.0005"/>'

BAD = {
    "not xml": ("</robot>", "", r"^line \d+: is not XML: no element found; close every tag, and write &amp; for &$"),
    "not even a tag": ("<", "", r"^line 1: is not XML: .*; take the robot's URDF: it begins with <$"),
    "not a robot": ("robot", "html", r"^root element = 'html': must be <robot>$"),
    "SDF": ("robot", "sdf", r"^<sdf>: is SDF, and URDF is read; take the robot's URDF, or convert"),
    "MJCF": ("robot", "mujoco", r"^<mujoco>: is MJCF, and URDF is read"),
    "xacro element": ('<link name="tip"/>', '<link name="tip"/><xacro:hand side="left"/>',
                      r"^<xacro:hand>: holds xacro.*run: xacro arm\.urdf"),
    "xacro expression": ('<mass value="1.5"/>', '<mass value="${m}"/>', r"^<mass value> = '\$\{m\}': holds xacro"),
    "undeclared xacro": (' xmlns:xacro="http://www.ros.org/wiki/xacro">', '><xacro:property name="a"/>',
                         r"^line 2: holds xacro"),
    "mimic": ('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><mimic joint="sholder"/>',
              r"^joint\.slide\.mimic\.joint = 'sholder': no such joint; did you mean 'shoulder'\?$"),
    "missing inertia": (UPPER, "", r"^link\.upper\.inertial\.inertia: is required$"),
    "missing moment": ('iyy="0.02" ', "", r"^link\.upper\.inertial\.inertia\.iyy: is required$"),
    "inertia not a number": ('ixx="0.01"', 'ixx="big"',
                             r"^link\.upper\.inertial\.inertia\.ixx = 'big': must be a number$"),
    "inertia nan": ('ixx="0.01"', 'ixx="nan"',
                    r"^link\.upper\.inertial\.inertia\.ixx = 'nan': must be a finite number$"),
    "negative mass": ('<mass value="1.5"/>', '<mass value="-1.5"/>',
                      r"^link\.upper\.mass = -1\.5: must be at least 0$"),
    "link twice": ('<link name="tip"/>', '<link name="tip"/><link name="fore"/>', r"^link\.fore: is there twice"),
    "no name": ('<link name="tip"/>', "<link/>", r"^link\[4\]\.name: is required$"),
    "unknown joint": ('type="prismatic"', 'type="prismatik"',
                      r"^joint\.slide\.type = 'prismatik': must be one of .*did you mean 'prismatic'\?$"),
    "no type": (' type="prismatic"', "", r"^joint\.slide\.type: must be one of"),
    "no parent": ('<parent link="upper"/>', "", r"^joint\.slide\.parent: is required$"),
    "unknown link": ('<parent link="upper"/>', '<parent link="uper"/>',
                     r"^joint\.slide\.parent = 'uper': no such link; did you mean 'upper'\?$"),
    "two roots": ('<link name="tip"/>', '<link name="tip"/><link name="lost"/>',
                  r"^link: there are 2 root links: world, lost; join them"),
    "circle": ('<parent link="world"/>', '<parent link="fore"/>', r"^joint\.flange\.child|root|circle"),
    "zero axis": ('xyz="1 0 0"', 'xyz="0 0 0"', r"^joint\.slide\.axis = \[0\.0, 0\.0, 0\.0\]: must not be zero$"),
    "short origin": ('xyz="0 0 0.3"', 'xyz="0 0.3"',
                     r"^joint\.shoulder\.origin\.xyz = '0 0\.3': must be 3 finite numbers$"),
    "limits crossed": ('lower="-2"', 'lower="3"',
                       r"^joint\.shoulder\.limits\.lower = 3\.0: must be less than upper = 2;"),
    "empty": (ARM, "", "^file: is empty$"),
}


IMPORTED = {
    "a comment before the declaration": ("<?xml", "<!-- by hand -->\n<?xml", r"delete all that stands before <\?xml"),
    "a tag in capitals": ("inertial>", "Inertial>", "<Inertial> is read as <inertial>"),
    "limits of 0": ('velocity="3" effort="10"', 'velocity="0" effort="-1"',
                    r"joint\.shoulder\.limit\.velocity, joint\.shoulder\.limit\.effort: is not above 0"),
    "soft limits": ("<dynamics", '<safety_controller soft_lower_limit="-1"/><dynamics',
                    r"joint\.shoulder: <safety_controller> is ignored"),
    "degrees": ('rpy="0.7 0 0"', 'rpy="90 0 0"', "joint 'flange', rpy = '90 0 0': is more than a turn: angles"),
    "a floating joint": ('"flange" type="fixed"', '"flange" type="floating"', r"joint\.flange: has several degrees"),
    "a name with a space": ('"slide"', '"Slide 1"', "arm.urdf: 'Slide 1' is called 'Slide_1' here"),
}


@pytest.mark.parametrize("case", list(IMPORTED))
def test_what_exporters_write_is_imported_with_one_line(tmp_path: Path, case: str) -> None:
    old, new, pattern = IMPORTED[case]
    arm = load_mechanism(written(tmp_path, ARM.replace(old, new)))
    assert len(arm.moving) == 2 and sum(link.mass for link in arm.links) == pytest.approx(2.4)
    assert len(arm.warnings) == 1 and re.search(pattern, arm.warnings[0]), arm.warnings


def test_names_of_exporters_become_valid_names_and_stay_for_others(tmp_path: Path) -> None:
    """The URDF's own names are used by meshes, ROS, LeRobot and files of motions. Mimic joints keep their leaders."""
    names = ["Revolute 1", "Revolute_1", "1", "肩の関節", "t", "a.vel", "x" * 70, "é:1 (2)"]
    links = ["Component2:1 (1)", "Component2_1_1", "腕", "腕2", "base", "7", "a-b", "a_b"]
    joint = ('<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/><axis xyz="0 0 1"/>'
             '<limit lower="-1" upper="1" velocity="1" effort="1"/>{}</joint>')
    body = ('<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
            "</inertial></link>")
    chain = zip(names, ["ground", *links], links, ["", '<mimic joint="Revolute 1"/>', *[""] * 6], strict=False)
    urdf = tmp_path / "arm.urdf"
    urdf.write_text('<robot name="r"><link name="ground"/>' + "".join(map(body.format, links))
                    + "".join(joint.format(*one) for one in chain) + "</robot>", encoding="utf-8")
    arm = load_mechanism(urdf)
    assert [j.called for j in arm.joints] == names
    assert [j.name for j in arm.joints] == ["Revolute_1_2", "Revolute_1", "joint_1", "joint_4", "joint_t",
                                            "joint_a_vel", "x" * 60, "e_1_2"]
    assert [x.name for x in arm.links] == ["Component2_1_1_2", "Component2_1_1", "link_3", "link_2", "base_frame",
                                           "link_7", "a-b", "a_b_2"]
    assert links_here(urdf)["腕"] == "link_3" and arm.joints[1].mimic.joint == "Revolute_1_2"
    motion = tmp_path / "motion.csv"
    columns = [j.name if j.called == "t" else j.called for j in arm.streamed]
    motion.write_text("\n".join([",".join(["t", *columns]), *(",".join([t, *["0"] * len(columns)]) for t in "01")]))
    assert Trajectory.load(motion, arm).joints == tuple(j.name for j in arm.streamed)


@pytest.mark.parametrize("name", ["arm.urdf.xacro", "arm.xml"])
def test_xml_is_recognised_by_its_first_bytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(ARM)
    assert len(load_mechanism(path).moving) == 2
    path.write_text(ARM.replace('<link name="tip"/>', "<xacro:hand/>"))
    assert refusal(path, path).startswith("<xacro:hand>: holds xacro, which is not URDF yet; run: xacro arm.")


def test_a_range_in_the_file_bounds_a_continuous_joint_of_the_urdf(tmp_path: Path) -> None:
    document = ARM.replace('"shoulder" type="revolute"', '"shoulder" type="continuous"')
    extra = '[[joint]]\nname = "shoulder"\nlimits = { lower = -3, upper = 3 }\n'
    assert load_mechanism(written(tmp_path, document, extra)).moving[0].limits.upper == 3.0


@pytest.mark.parametrize("case", list(BAD))
def test_a_bad_document_is_refused_in_one_line_that_names_it(tmp_path: Path, case: str) -> None:
    old, new, pattern = BAD[case]
    assert old in ARM
    line = refusal(written(tmp_path, ARM.replace(old, new)), tmp_path / "arm.urdf")
    assert re.search(pattern, line), line


def test_a_locked_mimic_joint_is_a_fixed_one(tmp_path: Path) -> None:
    document = ARM.replace('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><mimic joint="shoulder"/>')
    arm = load_mechanism(written(tmp_path, document, "lock = { slide = 0.2 }\n"))
    assert [j.name for j in arm.moving] == ["shoulder"]


def test_an_unphysical_inertia_warns_by_default_and_is_refused_on_request(tmp_path: Path) -> None:
    document = ARM.replace('ixx="0.003"', 'ixx="0.03"')
    assert "link.fore.inertia: no body has" in load_mechanism(written(tmp_path, document)).warnings[0]
    line = refusal(written(tmp_path, document, 'unphysical = "refuse"\n'), tmp_path / "arm.urdf")
    assert re.search(r"^link\.fore\.inertia = .*each is at most the sum of the others", line)


def test_only_links_that_move_have_doubtful_inertias(tmp_path: Path) -> None:
    document = ARM.replace('<parent link="world"/>', '<parent link="trunk"/>').replace(
        '<link name="tip"/>', '<link name="tip"/>' + TRUNK)
    assert load_mechanism(written(tmp_path, document)).warnings == ()


TRUNK = """<link name="trunk"><inertial><mass value="1"/><inertia ixx="9" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="stand" type="fixed"><parent link="world"/><child link="trunk"/></joint>"""

OVERLAY = {
    "unknown joint": ('[[joint]]\nname = "slied"\n',
                      r"^joint\[0\]\.name = 'slied': no such joint in arm\.urdf; did you mean 'slide'\?$"),
    "no name": ("[[joint]]\nstart = 0\n", r"^joint\[0\]\.name: must name a joint of arm\.urdf$"),
    "geometry": ('[[joint]]\nname = "slide"\naxis = [1, 0, 0]\n',
                 r"^joint\.slide\.axis = \[1, 0, 0\]: is said by arm\.urdf already"),
    "twice": ('[[joint]]\nname = "slide"\n[[joint]]\nname = "slide"\n',
              r"^joint\[1\]\.name = 'slide': is already the name of another joint$"),
    "unknown key": ('[[joint]]\nname = "slide"\nmotr = {}\n',
                    r"^joint\.slide\.motr = .*unknown key; did you mean 'motor'\?$"),
    "not a table": ("joint = 3\n", r"^joint = 3: must be an array of tables"),
}


@pytest.mark.parametrize("case", list(OVERLAY))
def test_a_fault_of_the_mechanism_file_names_that_file(tmp_path: Path, case: str) -> None:
    extra, pattern = OVERLAY[case]
    path = written(tmp_path, extra=extra)
    line = refusal(path, path)
    assert re.search(pattern, line), line


def test_an_identified_mass_replaces_the_mass_of_the_urdf(tmp_path: Path) -> None:
    path = written(tmp_path)
    before = load_mechanism(path).link("fore")
    urdf = (tmp_path / "arm.urdf").read_text()
    set_solid(path, "fore", {"mass": 1.25 * before.mass, "com": [0.01, 0.02, 0.03]})
    set_solid(path, "fore", {"mass": 1.5 * before.mass})
    after = load_mechanism(path).link("fore")
    assert after.mass == pytest.approx(1.5 * before.mass) and after.com.tolist() == [0.01, 0.02, 0.03]
    assert after.inertia.tolist() == before.inertia.tolist() and (tmp_path / "arm.urdf").read_text() == urdf


def test_a_missing_urdf_names_the_nearest(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text('name = "arm"\nurdf = "arn.urdf"\n')
    assert refusal(path, tmp_path / "arn.urdf") == "file: does not exist; did you mean 'arm.urdf'?"
    path.write_text('name = "arm"\nurdf = 3\n')
    assert refusal(path, path).startswith("urdf = 3: must be the name of a URDF file")


def grown(count: int, parent: str = "l{before}", kind: str = "fixed") -> str:
    """Return a document of `count` links. parent: text for the parent of link n."""
    joint = ('<joint name="j{n}" type="{kind}"><parent link="' + parent + '"/><child link="l{n}"/>'
             '<axis xyz="0 0 1"/></joint>')
    return ('<robot name="r">' + "".join(f'<link name="l{n}"/>' for n in range(count))
            + "".join(joint.format(n=n, before=n - 1, kind=kind) for n in range(1, count)) + "</robot>")


def test_too_many_links_are_refused_before_any_is_checked(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(grown(10_000))
    monkeypatch.setattr("femtorque.codegen.mechanism.urdf._check_names", None)
    assert refusal(path, path) == "link: there are 10000: at most 1000 are read"


@pytest.mark.parametrize("parent", ["l{before}", "l0"])
def test_work_grows_linearly_with_the_links(tmp_path: Path, parent: str) -> None:
    """The number of Python calls grows linearly with the number of links, for a serial chain and for links on one
    parent.
    """
    calls = {}
    for count in (100, 400):
        path = tmp_path / f"{count}.urdf"
        path.write_text(grown(count, parent, "revolute"))
        profile = cProfile.Profile()
        profile.runcall(read_urdf, path)
        calls[count] = sum(entry.callcount for entry in profile.getstats())
    assert calls[400] < 4.4 * calls[100]


def test_init_writes_a_file_that_checks_without_warnings(tmp_path: Path) -> None:
    report = examine(load_mechanism(write_new_file("arm", tmp_path / "arm.toml")))
    assert report.warnings == () and report.stability is not None and report.stability.stable


def test_init_refuses_a_name_with_a_space() -> None:
    with pytest.raises(BadInput, match="must be at most 32 letters"):
        text("two words")


# ---- fuzz


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, len(ARM)), st.integers(0, 20),
                          st.one_of(st.text(max_size=5),
                                    st.sampled_from(['"', "<link/>", "nan", "1e400", "<!--", " "]))),
                min_size=1, max_size=3))
def test_any_damage_gives_a_mechanism_or_one_line(tmp_path: Path, cuts: list[tuple[int, int, str]]) -> None:
    document = ARM
    for at, length, new in cuts:
        document = document[:at] + new + document[at + length:]
    (tmp_path / "arm.urdf").write_bytes(document.encode("utf-8", "surrogatepass"))
    path = tmp_path / "arm.toml"
    path.write_text('name = "arm"\nurdf = "arm.urdf"\n')
    try:
        assert load_mechanism(path).moving
    except BadInput as error:
        assert len(str(error).splitlines()) == 1 and str(error).startswith(str(tmp_path))
