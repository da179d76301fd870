"""Random closed mechanisms as files, for tests of the whole chain from file to chip with loops that no developer chose.
The branches are chains of random joints in a random pose. The loops connect the tips of the branches in this pose, so
the loop equations are satisfied. The driven joints are selected at random too. `check` refuses a mechanism that is
underconstrained or locked."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import tomlkit
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model, pose, rotation_axis
from femtorque.codegen.model.modes import rpy_of
from tests.support.arms import HERE as ARMS

EQUATIONS = {"planar": 2, "ball": 3, "revolute": 5, "rigid": 6}


@dataclass(frozen=True)
class Kind:
    """A type of loop between branches."""

    name: str
    loop: str
    branches: tuple[int, ...]  # their numbers of joints, on the base or on the last link of a stem
    planar: bool = False  # all axes are parallel
    stem: int = 0
    slides: float = 0.0  # probability of a prismatic joint
    redundant: int = 0  # number of driven joints above the mobility
    springs: bool = False  # true if passive joints have springs
    payload: bool = False  # true if a link carries a mass
    rate_hz: int = 1000


KINDS = (
    Kind("four-bar", "planar", (2, 1), planar=True),
    Kind("four-bar, hinge", "revolute", (2, 1), planar=True),
    Kind("five-bar", "planar", (2, 2), planar=True),
    Kind("five-bar, redundant", "planar", (2, 2), planar=True, redundant=1),
    Kind("six-bar", "planar", (2, 2), planar=True, stem=1, payload=True),
    Kind("seven-bar", "planar", (3, 3), planar=True, springs=True),
    Kind("three legs", "planar", (3, 2, 2), planar=True),
    Kind("four legs, redundant", "planar", (3, 2, 2, 2), planar=True, redundant=1),
    Kind("planar with slides", "planar", (3, 2), planar=True, slides=0.4),
    Kind("ball in space", "ball", (3, 2)),
    Kind("ball in space, redundant", "ball", (3, 3), redundant=2, payload=True),
    Kind("ball on a stem", "ball", (3, 2), stem=2),
    Kind("ball with slides", "ball", (3, 3), slides=0.3, springs=True),
    Kind("hinge in space", "revolute", (4, 3)),
    Kind("hold in space", "rigid", (4, 4)),
    Kind("two arms that hold", "rigid", (6, 6), redundant=6, payload=True),
    Kind("three balls", "ball", (4, 3, 3)),
    Kind("fast five-bar", "planar", (2, 2), planar=True, rate_hz=5000),
    Kind("slow five-bar", "planar", (2, 2), planar=True, rate_hz=500),
)


@dataclass
class Drawing:
    """A mechanism file that is being assembled."""

    kind: Kind
    rng: np.random.Generator
    normal: Array  # (3,): the axis of all joints of a planar mechanism
    links: list[dict[str, object]] = field(default_factory=list)
    joints: list[dict[str, object]] = field(default_factory=list)

    def link(self, name: str) -> None:
        """Add a box of random size and mass about a random centre of gravity."""
        rng = self.rng
        mass, size, com = rng.uniform(0.1, 0.8), rng.uniform(0.03, 0.2, 3), rng.uniform(-0.08, 0.15, 3)
        x, y, z = mass / 12.0 * size**2
        self.links.append({"name": name, "mass": round(mass, 4), "com": com.tolist(),
                           "inertia": [*map(float, (y + z, x + z, x + y)), 0.0, 0.0, 0.0]})

    def chain(self, branch: str, count: int, root: str, spread: float) -> str:
        """Add a branch of links on a root, and return its tip."""
        kind, rng = self.kind, self.rng
        for i in range(count):
            name = f"{branch}{i + 1}"
            self.link(name)
            way = rng.standard_normal(3)
            axis = self.normal if kind.planar else rng.standard_normal(3)
            if kind.planar:
                way -= (way @ self.normal) * self.normal
            way *= (spread if i == 0 else rng.uniform(0.12, 0.3)) / np.linalg.norm(way)
            slides = rng.random() < kind.slides and i > 0
            if slides and kind.planar:
                axis = np.cross(self.normal, rng.standard_normal(3))
            rpy = (rpy_of(rotation_axis(self.normal, rng.uniform(-1.0, 1.0))) if kind.planar
                   else rng.uniform(-1.0, 1.0, 3))
            self.joints.append({
                "name": f"j_{name}", "type": "prismatic" if slides else "revolute", "parent": root, "child": name,
                "xyz": way.tolist(), "rpy": list(map(float, rpy)), "axis": (axis / np.linalg.norm(axis)).tolist(),
                "start": rng.uniform(-0.05, 0.05) if slides else rng.uniform(-1.2, 1.2)})
            root = name
        return root

    def loops(self, model: Model, tips: Sequence[str]) -> list[dict[str, object]]:
        """Return the loops from the first tip to all further tips, closed in the start pose."""
        at, rng = pose(model, np.array([b.joint.start for b in model.bodies])), self.rng
        bodies = {b.joint.child: i for i, b in enumerate(model.bodies)}
        a, found = bodies[tips[0]], list[dict[str, object]]()
        for k, tip in enumerate(tips[1:]):
            out = rng.standard_normal(3)
            if self.kind.planar:
                axis = self.normal if model.bodies[a].prismatic else at.R[a] @ model.bodies[a].axis
                out = at.R[a].T @ np.cross(axis, out)
            out *= rng.uniform(0.12, 0.3) / np.linalg.norm(out)
            point = at.R[a] @ out + at.origin[a]
            frame = _frame(self.normal if self.kind.planar else rng.standard_normal(3))
            a_side, b_side = (anchor(name, at.R[i], at.origin[i], point, frame)
                              for name, i in ((tips[0], a), (tip, bodies[tip])))
            found.append({"name": f"loop{k + 1}", "type": self.kind.loop, "a": a_side, "b": b_side})
        return found


def anchor(link: str, R: Array, origin: Array, point: Array, frame: Array) -> dict[str, object]:
    """Return one side of a loop: a point (3,) and a frame (3, 3) of the base in a link at R (3, 3), origin (3,)."""
    return {"link": link, "xyz": (R.T @ (point - origin)).tolist(), "rpy": list(map(float, rpy_of(R.T @ frame)))}


def unit(rng: np.random.Generator) -> Array:
    v = rng.standard_normal(3)
    return v / np.linalg.norm(v)


def write(kind: Kind, seed: int, path: Path) -> Path:
    """Write a random mechanism file of one type. The pose may be singular, or the mechanism may be locked."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    gravity, file = 9.81 * unit(rng), Drawing(kind, rng, unit(rng))
    root = file.chain("s", kind.stem, "base", 0.2) if kind.stem else "base"
    tips = [file.chain(letter, count, root, 0.25) for letter, count in zip("abcde", kind.branches, strict=False)]
    text: dict[str, object] = {
        "name": path.stem, "gravity": gravity.tolist(), "control": {"rate_hz": kind.rate_hz, "knot_hz": 250},
        "link": file.links, "joint": file.joints}
    path.write_text(tomlkit.dumps(text), encoding="utf-8")
    text["loop"] = file.loops(Model.of(load_mechanism(path)), tips)
    mobility = len(file.joints) - (2 if kind.planar else EQUATIONS[kind.loop]) * (len(tips) - 1)
    driven = _driven([str(keys["name"]) for keys in file.joints], mobility + kind.redundant, rng)
    for keys in file.joints:
        if keys["name"] in driven:
            keys["limits"] = {"lower": -3.0, "upper": 3.0, "velocity": 6.0, "effort": rng.uniform(2.0, 20.0)}
        else:
            keys["actuated"] = False
            if kind.springs:
                keys["stiffness"] = rng.uniform(0.05, 0.5)
    if kind.payload:
        text["payload"] = [{"name": "load", "link": tips[0], "mass": 0.5, "com": [0.05, 0.02, 0.0],
                            "inertia": [0.001, 0.001, 0.001, 0.0, 0.0, 0.0]}]
    path.write_text(tomlkit.dumps(text), encoding="utf-8")
    return path


def _driven(names: Sequence[str], count: int, rng: np.random.Generator) -> set[str]:
    """Return the driven joints: the joints of the stem, then the first joint of each branch, then random joints."""
    first = [n for n in names if n.startswith("j_s")] + [n for n in names if n.endswith("1")
                                                         and not n.startswith("j_s")]
    rest = [n for n in names if n not in first]
    rng.shuffle(rest)
    return set([*first, *rest][:count])


def _frame(z: ArrayLike) -> Array:
    z = np.asarray(z, float) / np.linalg.norm(z)
    x = np.cross(z, [1.0, 0.0, 0.0] if abs(z[0]) < 0.7 else [0.0, 1.0, 0.0])
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def on_urdf(folder: Path) -> list[Path]:
    """Write loops for URDF robots: a joint connects the tip to the ground."""
    puma, planar = (ARMS / f"{name}.urdf" for name in ("puma6", "planar8"))
    found = []
    for name, urdf, loop, passive in (("puma6-led-by-hand", puma, "ball", (0, 1, 2)),
                                      ("puma6-shared", puma, "ball", (2,)),
                                      ("planar8-held", planar, "planar", (3, 6))):
        path = folder / f"{name}.toml"
        text: dict[str, object] = {"name": name, "urdf": str(urdf), "control": {"rate_hz": 1000, "knot_hz": 250}}
        path.write_text(tomlkit.dumps(text), encoding="utf-8")
        model = Model.of(load_mechanism(path))
        start = np.random.default_rng(1).uniform(0.2, 0.9, model.n)
        at, tip = pose(model, start), model.bodies[-1]
        R, origin = at.R[-1], at.origin[-1]
        point = origin + R @ np.array([0.1, 0.0, 0.0] if loop == "planar" else [0.1, 0.05, 0.1])
        frame = _frame(R @ tip.axis)
        text["joint"] = [{"name": b.joint.name, "start": float(q)} | ({"actuated": False} if i in passive else {})
                         for i, (b, q) in enumerate(zip(model.bodies, start, strict=True))]
        text["loop"] = [{"name": "held", "type": loop, "a": anchor("base", np.eye(3), np.zeros(3), point, frame),
                         "b": anchor(tip.joint.child, R, origin, point, frame)}]
        path.write_text(tomlkit.dumps(text), encoding="utf-8")
        found.append(path)
    return found
