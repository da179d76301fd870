"""Scenarios: experiments as data. Each scenario is a TOML file in hil/scenarios and has the name of this file.

A scenario names a mechanism and a motion. The virtual board plays the [[run]]s of the file with the articulated plant.
A run may change the plant or inject faults, and states the required result. [[solid]]s replace links by bodies, given
by a shape and a density. [design] chooses motors, gears and gains (hil/scenarios/design.py). [servo] makes the plant's
servo turn the arm, without a board (hil/scenarios/servo_arm.py). [contact] moves the tip along a wall
(hil/scenarios/wall_arm.py). [scene] makes MuJoCo simulate the arm among the objects of an MJCF file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import trimesh
from pydantic import Field, ValidationError

from femtorque.codegen.common import BUILD, MECHANISMS, Array, BadInput, hint, parse_toml, read_text
from femtorque.codegen.control import reactions
from femtorque.codegen.mechanism import Mechanism, Positive, Table, Three, load_mechanism
from femtorque.codegen.motion import Trajectory, from_rows
from femtorque.hil.board import FAULTS
from femtorque.hil.plant import MujocoPlant
from femtorque.hil.plant.articulated import shapes
from femtorque.hil.plant.articulated.plant import Plant
from femtorque.hil.play import Result, run_closed_loop
from femtorque.hil.scenarios import sensitivity

FOLDER = Path(__file__).parent
STEP, SHORT_STEP = 5e-4, 1e-3  # time steps of the plant, s
# Maximum deviation from 1 of the measured fraction of a predicted change; the theory has no stiction and no latency.
SHARE = 0.08
MISSED = 0.2  # relative rms error of a predicted error, due to latency, observer, rounding and stiction

# ---- the file


class PlannedRun(Table):
    """One run and its required result.

    at_most: maximum ratio of this run's rms error to the rms error of the run compared_with, at each joint.
    predicted_from: the run with an unchanged plant; hil/scenarios/sensitivity.py predicts the difference. ends, faults:
    the board's last state.
    """

    name: str
    feedforward: bool = True
    mass_scale: Positive = 1.0
    friction_scale: Positive = 1.0
    fault: str | None = None
    ends: str | None = None
    faults: list[str] = []
    compared_with: str | None = None
    at_most: Positive | None = None
    predicted_from: str | None = None
    design: bool = False
    scene: bool = True  # True if the run contains the objects of [scene]
    brief: bool = True  # True if the scenario's short form contains the run

    @property
    def references(self) -> dict[str, str]:
        """Return the runs that this run is compared with, by key."""
        named = {"compared_with": self.compared_with, "predicted_from": self.predicted_from}
        return {key: name for key, name in named.items() if name is not None}


class Short(Table):
    """A straight line in joint space instead of the motion, for a quick test."""

    to: list[float]
    seconds: Positive


class Solid(Table):
    """A shape with a density, fixed in a link. Lengths are in m; a mesh file's unit is `scale` m."""

    link: str
    shape: Literal["box", "cylinder", "tube", "sphere", "mesh"]
    density: Positive
    xyz: Three = [0.0, 0.0, 0.0]
    rpy: Three = [0.0, 0.0, 0.0]
    extents: Three | None = None
    radius: Positive | None = None
    height: Positive | None = None
    inner: Positive | None = None
    outer: Positive | None = None
    file: str | None = None
    scale: Positive = 1.0


class Scene(Table):
    """An MJCF file with objects near the arm, and a body in it that each run moves by at least `moved` m."""

    file: str
    body: str
    moved: Positive


class Design(Table):
    """Choices of hil/scenarios/design.py. mass kg, continuous torque N m: of the motors in the mechanism file."""

    mass: Positive
    continuous: Positive
    carried: dict[str, str] = {}  # {joint: the payload that represents its motor}
    size: tuple[float, float]  # range of the relative masses
    gear: tuple[float, float]  # range of motor turns per joint turn
    voltage: Positive = 0.9  # fraction of the bus voltage
    margin: Positive = 2.0  # gain margin of the servos
    damping: tuple[float, float] = (0.5, 1.5)  # range for the gains


class ServoRun(Table):
    """Gains of the servo of the first joint: N m/rad, N m s/rad."""

    name: str
    kp: Positive
    kd: float


class ServoTest(Table):
    """A rotation by `turn` rad in `seconds` (a quintic), then `hold` s at rest."""

    turn: float
    seconds: Positive
    hold: Positive
    short_hold: Positive
    run: list[ServoRun]


class ContactRun(Table):
    """A motion along the wall in `seconds`."""

    name: str
    seconds: Positive
    feedback: bool = False
    compared_with: str | None = None
    at_most: Positive  # bound of the force's rms error, N, or relative to the run compared_with
    brief: bool = True


class Contact(Table):
    """A wall at y = floor, m. The tip moves along the wall in x and presses on the wall with `press` N. stiffness,
    damping: numbers of the wall, N/m and N s/m. gain, sensor_hz: gain and rate of the force feedback."""

    floor: float
    from_: float = Field(alias="from")
    to: float
    press: Positive
    stiffness: Positive
    damping: float
    gain: float
    sensor_hz: Positive
    elements: int  # number of elements of the plant's beam (hil/scenarios/wall_arm.py)
    run: list[ContactRun]


class File(Table):
    title: str
    source: str
    mechanism: str
    trajectory: str | None = None
    short: Short | None = None
    run: list[PlannedRun] = []
    solid: list[Solid] = []
    design: Design | None = None
    servo: ServoTest | None = None
    contact: Contact | None = None
    scene: Scene | None = None


@dataclass(frozen=True)
class Scenario:
    """A scenario file. motion, brief: the trajectory and its short form; both None without a trajectory."""

    name: str
    file: File
    mechanism: Mechanism
    motion: Trajectory | None
    brief: Trajectory | None

    def trajectory(self, short: bool) -> Trajectory:
        motion = self.brief if short and self.brief is not None else self.motion
        if motion is None:
            raise BadInput(FOLDER / f"{self.name}.toml", "trajectory", None, "is needed for runs on a board")
        return motion

    def runs(self, short: bool = False) -> list[PlannedRun]:
        return [r for r in self.file.run if r.brief or not short]

    def run(self, name: str) -> PlannedRun:
        return next(r for r in self.file.run if r.name == name)


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def place(scenario: Path, name: str) -> Path:
    """Return the path of a file in the scenario's folder, or of an installed file mechanisms/NAME."""
    beside, ours = scenario.parent / name, MECHANISMS.parent / name
    return ours if ours.is_file() and not beside.is_file() else beside


def load_scenario(name: str | Path) -> Scenario:
    """Return a scenario by its name or its file. Raises BadInput with one line for any error in the file."""
    path = Path(name)
    if path.suffix != ".toml":
        if str(name) not in names():
            raise BadInput("scenario", "name", str(name), "no such scenario", hint(str(name), names()))
        path = FOLDER / f"{name}.toml"
    text = read_text(path)
    try:
        file = File.model_validate(parse_toml(path, text), strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadInput(path, ".".join(map(str, first["loc"])), None, first["msg"]) from None
    mechanism = _with_solids(load_mechanism(place(path, file.mechanism)), file.solid, path)
    motion = None if file.trajectory is None else Trajectory.load(place(path, file.trajectory), mechanism)
    scenario = Scenario(path.stem, file, mechanism, motion, _brief(path, file, mechanism))
    _check(path, scenario)
    return scenario


def _check(path: Path, scenario: Scenario) -> None:
    known: dict[str, bool] = {}
    for r in scenario.file.run:
        if r.fault is not None and r.fault not in FAULTS:
            raise BadInput(path, f"run.{r.name}.fault", r.fault, "no such fault", hint(r.fault, FAULTS))
        for key, name in r.references.items():
            _check_reference(path, f"run.{r.name}.{key}", name, r.brief, known)
        if r.design and scenario.file.design is None:
            raise BadInput(path, f"run.{r.name}.design", True, "needs a table [design]")
        if scenario.file.scene is not None and (r.mass_scale, r.friction_scale) != (1.0, 1.0):
            raise BadInput(path, f"run.{r.name}", None, "changes the plant, which MuJoCo's cannot be in a [scene]")
        if (r.compared_with is None) != (r.at_most is None):
            raise BadInput(path, f"run.{r.name}", None, "compared_with and at_most belong together")
        known[r.name] = r.brief
    known = {}
    for c in scenario.file.contact.run if scenario.file.contact else ():
        if c.compared_with is not None:
            _check_reference(path, f"contact.run.{c.name}.compared_with", c.compared_with, c.brief, known)
        known[c.name] = c.brief


def _check_reference(path: Path, key: str, name: str, brief: bool, known: Mapping[str, bool]) -> None:
    """Raise BadInput unless the named run is listed before this run. If the short form contains this run, it must also
    contain the named run. known: {earlier run: True if in the short form}."""
    if name not in known:
        raise BadInput(path, key, name, "no such run before this one", hint(name, known))
    if brief and not known[name]:
        raise BadInput(path, key, name, "is left out of the short form, in which this run is",
                       "brief = false here, too")


def _brief(path: Path, file: File, mechanism: Mechanism) -> Trajectory | None:
    if file.short is None:
        return None
    joints, start = [j.name for j in mechanism.streamed], [j.start for j in mechanism.streamed]
    if len(file.short.to) != len(start):
        raise BadInput(path, "short.to", file.short.to, f"must hold a position of each of {', '.join(joints)}")
    return from_rows(joints, [0.0, file.short.seconds], np.array([start, file.short.to]))


# ---- solids given by their form


def _with_solids(mechanism: Mechanism, solids: list[Solid], path: Path) -> Mechanism:
    """Return the mechanism with its links replaced by their solids."""
    links = {link.name: link for link in mechanism.links}
    parts: dict[str, list[shapes.MassProperties]] = {}
    for k, solid in enumerate(solids):
        if solid.link not in links:
            raise BadInput(path, f"solid.{k}.link", solid.link, "no such link", hint(solid.link, links))
        parts.setdefault(solid.link, []).append(body(solid, path, k))
    for name, bodies in parts.items():
        whole = shapes.union(bodies)
        links[name] = replace(links[name], mass=whole.mass, com=whole.com, inertia=whole.inertia)
    return replace(mechanism, links=tuple(links.values()))


def body(solid: Solid, path: Path, number: int = 0) -> shapes.MassProperties:
    """Return mass, centre of gravity and inertia in the link's frame."""
    return shapes.of_mesh(f"{path}: solid.{number}", form(solid, path, number), solid.density)


def form(solid: Solid, path: Path, number: int = 0) -> trimesh.Trimesh:
    """Return the surface of a solid in the link's frame, m."""

    def needed(*keys: str) -> list[Any]:
        for key in keys:
            if getattr(solid, key) is None:
                raise BadInput(path, f"solid.{number}.{key}", None, f"is required of a {solid.shape}")
        return [getattr(solid, key) for key in keys]

    if solid.shape == "mesh":
        mesh = shapes.read(path.parent / needed("file")[0], solid.scale)
    elif solid.shape == "box":
        mesh = trimesh.creation.box(*needed("extents"))
    elif solid.shape == "sphere":
        mesh = trimesh.creation.icosphere(5, *needed("radius"))
    elif solid.shape == "cylinder":
        radius, height = needed("radius", "height")
        mesh = trimesh.creation.cylinder(radius, height, sections=shapes.SIDES)
    else:
        inner, outer, height = needed("inner", "outer", "height")
        mesh = trimesh.creation.annulus(inner, outer, height, sections=shapes.SIDES)
    roll, pitch, yaw = solid.rpy
    place = trimesh.transformations.euler_matrix(roll, pitch, yaw, axes="sxyz")
    place[:3, 3] = solid.xyz
    return mesh.apply_transform(place)


# ---- runs on the board

Runner = Callable[..., Result]


def play_scenario(scenario: Scenario, case: PlannedRun, *, short: bool = False, fault: str | None = None,
                  chosen: Mechanism | None = None, plant: Plant | None = None,
                  runner: Runner = run_closed_loop) -> Result:
    """Play one run with the exact image on the virtual board, the articulated plant and the host. fault: instead of the
    run's fault. chosen: the design's mechanism, for a run that needs it. plant: by default `plant_of` the run."""
    mechanism = chosen if case.design and chosen is not None else scenario.mechanism
    if scenario.file.scene is not None:
        return _among_things(scenario, scenario.file.scene, case, short, fault or case.fault, runner)
    plant = plant or plant_of(mechanism, case, short)
    return runner(mechanism, scenario.trajectory(short), feedforward=case.feedforward, fault=fault or case.fault,
                  plant=plant, out=_image(mechanism, case))


def _among_things(scenario: Scenario, scene: Scene, case: PlannedRun, short: bool, fault: str | None,
                  runner: Runner) -> Result:
    """Play one run in MuJoCo, with or without the scene."""
    path = FOLDER / scene.file if case.scene else None
    plant = MujocoPlant(scenario.mechanism, path)
    before = plant.place(scene.body) if case.scene else None
    result = runner(scenario.mechanism, scenario.trajectory(short), feedforward=case.feedforward, fault=fault,
                    plant=plant, out=_image(scenario.mechanism, case))
    return result if before is None else replace(
        result, pushed=float(np.linalg.norm(plant.place(scene.body) - before)))


def plant_of(mechanism: Mechanism, case: PlannedRun, short: bool = False) -> Plant:
    """Return the articulated plant of a run, with the changes that the run specifies."""
    return Plant(mechanism, mass_scale=case.mass_scale, friction_scale=case.friction_scale,
                                max_step=SHORT_STEP if short else STEP)


def _image(mechanism: Mechanism, case: PlannedRun) -> Path:
    return BUILD / (mechanism.name + ("-optimised" if case.design else "")
                    + ("" if case.feedforward else "-without-feedforward"))


@dataclass(frozen=True)
class Check:
    """One requirement on a run, and its verdict."""

    what: str
    found: str
    allowed: str
    good: bool


def checks(scenario: Scenario, results: Mapping[str, Result], short: bool = False) -> list[Check]:
    """Return the requirements on the played runs, each with its verdict."""
    found = []
    for case in (r for r in scenario.file.run if r.name in results):
        result = results[case.name]
        if case.fault is None:
            same = {True: "bit for bit the host's", False: "other than the host's",
                    None: "not compared"}[result.bit_identical]
            found.append(Check(f"{case.name}: the motion is played", f"{result.ended}, torques {same}", "done",
                               result.good))
        else:
            state = ", ".join([result.state, *result.faults])
            held = result.still and _holds(result)
            good = (result.outputs_safe
                    or held) and (case.ends in (None, result.state)) and list(result.faults) == case.faults
            found.append(Check(f"{case.name} ({FAULTS[case.fault].doc})",
                               f"{state}, outputs {'safe' if result.outputs_safe else 'holding' if held else 'LIVE'}",
                               f"{', '.join([case.ends or 'any', *case.faults])}, outputs safe or holding", good))
        if scenario.file.scene is not None and result.pushed is not None:
            found.append(Check(f"{case.name}: {scenario.file.scene.body} is moved by", f"{1e3 * result.pushed:.0f} mm",
                               f"at least {1e3 * scenario.file.scene.moved:g} mm",
                               result.pushed >= scenario.file.scene.moved))
        if case.compared_with is not None and case.compared_with in results:
            assert case.at_most is not None
            ratio = result.tracking_rms / results[case.compared_with].tracking_rms
            found.append(Check(f"{case.name}: rms error over that of {case.compared_with}, each joint",
                               ", ".join(f"{r:.3f}" for r in ratio), f"at most {case.at_most:g}",
                               bool(np.all(ratio <= case.at_most))))
        if case.predicted_from is not None and case.predicted_from in results:
            found += _predictions(scenario, case, results[case.predicted_from], result, short)
    return found


def _holds(result: Result) -> bool:
    """Return True if [safety] held the arm during all faults."""
    told = dict(reactions(result.mechanism))
    return result.state in ("FAULT", "HELD") and all(told[fault] == "hold" for fault in result.faults)


@dataclass(frozen=True)
class Difference:
    """The difference of two runs, tick by tick (T, n): torque of the board N m, error rad; and its theory."""

    torque: Array
    error: Array
    theory: sensitivity.Change


def difference(scenario: Scenario, case: PlannedRun, believed: Result, changed: Result,
               short: bool = False) -> Difference:
    """Return the difference between a run with a changed plant and a run with the plant of the file."""
    ticks = min(r.moving.stop - r.moving.start for r in (believed, changed))

    (torque, error), (torque_before, error_before) = (
        (r.record.torque[r.moving][:ticks].astype(float), r.tracked[2][:ticks]) for r in (changed, believed))
    theory = sensitivity.predict(scenario.mechanism, scenario.trajectory(short), ticks, case.mass_scale,
                                 case.friction_scale)
    return Difference(torque - torque_before, error - error_before, theory)


def _predictions(scenario: Scenario, case: PlannedRun, believed: Result, changed: Result, short: bool) -> list[Check]:
    d = difference(scenario, case, believed, changed, short)
    missed = rms(d.error - d.theory.error) / rms(d.theory.error)
    return [
        _share(f"{case.name}: change of the feedback's torque, rms", d.torque, d.theory.torque, "N m", 1.0),
        _share(f"{case.name}: change of the tracking error, rms", d.error, d.theory.error, "mrad", 1e3),
        Check(f"{case.name}: what theory misses of that, each joint", ", ".join(f"{m:.1%}" for m in missed),
              f"at most {MISSED:.0%}", bool(np.all(missed <= MISSED))),
    ]


def _share(what: str, measured: Array, theory: Array, unit: str, scale: float) -> Check:
    """Check which fraction of the predicted curve the measured curve contains. The fraction is the coefficient of a
    least-squares fit. The measured torque also contains the noise of rounded encoder values times the gains. The
    comparison excludes this noise."""
    share = np.sum(measured * theory, axis=0) / np.sum(theory**2, axis=0)
    found = ", ".join(f"{s * r:.3g}" for s, r in zip(share, scale * rms(theory), strict=True))
    expected = ", ".join(f"{r:.3g}" for r in scale * rms(theory))
    return Check(what, f"{found} {unit}", f"{expected} {unit} +- {SHARE:.0%}",
                 bool(np.all(np.abs(share - 1.0) <= SHARE)))


def rms(x: Array) -> Array:
    return np.sqrt(np.mean(x**2, axis=0))
