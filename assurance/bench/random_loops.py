"""Random closed mechanisms as files, for what the chain from file to chip makes of loops that nobody has looked at.

Branches of random joints stand in a random pose; the loops are put where the branches' tips meet in it, so that they
close. Which joints are driven is drawn too; what that leaves loose or stuck is for `check` to refuse by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model, pose, rotation_axis
from femtorque.codegen.model.modes import rpy_of

Array = NDArray[np.float64]

EQUATIONS = {"planar": 2, "ball": 3, "revolute": 5, "rigid": 6}
ARMS = Path(__file__).parent / "arms"


@dataclass(frozen=True)
class Kind:
    """A loop between branches of so many joints each on a base, or on the last link of a stem.

    planar: all axes parallel; slides: the chance of a sliding joint; redundant: joints driven beyond mobility;
    springs: on passive joints; payload: a mass on a link; floating plane: gravity across the axes.
    """

    name: str
    loop: str
    branches: tuple[int, ...]
    planar: bool = False
    stem: int = 0
    slides: float = 0.0
    redundant: int = 0
    springs: bool = False
    payload: bool = False
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
class File:
    """A mechanism file in the making."""

    lines: list[str]
    links: list[str] = field(default_factory=list)
    joints: list[dict[str, object]] = field(default_factory=list)

    def link(self, name: str, rng: np.random.Generator) -> None:
        """A box of random size and mass about a random centre of gravity."""
        mass, size, com = rng.uniform(0.1, 0.8), rng.uniform(0.03, 0.2, 3), rng.uniform(-0.08, 0.15, 3)
        x, y, z = mass / 12.0 * size**2
        inertia = [y + z, x + z, x + y, 0.0, 0.0, 0.0]
        self.links.append(f'[[link]]\nname = "{name}"\nmass = {mass:.4f}\ncom = {listed(com)}\ninertia = '
                          f'{listed(inertia)}\n')

    def joint(self, **keys: object) -> None:
        self.joints.append(keys)

    def text(self) -> str:
        joints = []
        for keys in self.joints:
            joints.append("[[joint]]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in keys.items()))
        return "\n".join([*self.lines, *self.links, *joints])


def toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(x)}" for key, x in value.items()) + " }"
    return listed(value) if np.ndim(value) else f"{float(value):.12g}"  # type: ignore[arg-type]


def listed(v: ArrayLike) -> str:
    return "[" + ", ".join(f"{x:.12g}" for x in np.asarray(v, float)) + "]"


def write(kind: Kind, seed: int, path: Path) -> Path:
    """A mechanism file of that kind at path. It may be singular or stuck, as chance has it."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    gravity = rng.standard_normal(3)
    gravity *= 9.81 / np.linalg.norm(gravity)
    file = File([f'name = "{path.stem}"', f"gravity = {listed(gravity)}", "",
                 f"[control]\nrate_hz = {kind.rate_hz}\nknot_hz = 250\n"])
    normal = rng.standard_normal(3)
    normal /= np.linalg.norm(normal)
    root = "base"
    names: list[str] = []

    def chain(branch: str, count: int, root: str, spread: float) -> str:
        for i in range(count):
            name = f"{branch}{i + 1}"
            file.link(name, rng)
            way = rng.standard_normal(3)
            axis = normal if kind.planar else rng.standard_normal(3)
            if kind.planar:
                way -= (way @ normal) * normal
            way *= (spread if i == 0 else rng.uniform(0.12, 0.3)) / np.linalg.norm(way)
            slides = rng.random() < kind.slides and i > 0
            if slides and kind.planar:
                axis = np.cross(normal, rng.standard_normal(3))
            rpy = rng.uniform(-1.0, 1.0,
                              3) if not kind.planar else rpy_of(rotation_axis(normal, rng.uniform(-1.0, 1.0)))
            file.joint(name=f"j_{name}", type="prismatic" if slides else "revolute", parent=root, child=name, xyz=way,
                       rpy=rpy, axis=axis / np.linalg.norm(axis), start=rng.uniform(-0.05, 0.05) if slides else
                       rng.uniform(-1.2, 1.2))
            names.append(f"j_{name}")
            root = name
        return root

    if kind.stem:
        root = chain("s", kind.stem, "base", 0.2)
    tips = [chain(letter, count, root, 0.25) for letter, count in zip("abcde", kind.branches, strict=False)]
    path.write_text(file.text(), encoding="utf-8")
    model = Model.of(load_mechanism(path))
    at = pose(model, np.array([b.joint.start for b in model.bodies]))
    bodies = {b.joint.child: i for i, b in enumerate(model.bodies)}
    a = bodies[tips[0]]
    loops, equations = [], 0
    for k, tip in enumerate(tips[1:]):
        b = bodies[tip]
        out = rng.standard_normal(3)
        if kind.planar:
            out = at.R[a].T @ np.cross(at.R[a] @ model.bodies[a].axis if not model.bodies[a].prismatic else normal, out)
        out *= rng.uniform(0.12, 0.3) / np.linalg.norm(out)
        point = at.R[a] @ out + at.origin[a]
        Z = _frame(normal if kind.planar else rng.standard_normal(3))
        sides = [(tips[0], a), (tip, b)]
        anchors = [dict(link=name, xyz=at.R[i].T @ (point - at.origin[i]), rpy=rpy_of(at.R[i].T @ Z))
                   for name, i in sides]
        loops.append("[[loop]]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in (
            ("name", f"loop{k + 1}"), ("type", kind.loop), ("a", anchors[0]), ("b", anchors[1]))))
        equations += 2 if kind.planar else EQUATIONS[kind.loop]
    mobility = len(names) - equations
    driven = _driven(names, mobility + kind.redundant, kind, rng)
    for keys in file.joints:
        if keys["name"] in driven:
            keys["limits"] = dict(lower=-3.0, upper=3.0, velocity=6.0, effort=float(rng.uniform(2.0, 20.0)))
        else:
            keys["actuated"] = False
            if kind.springs:
                keys["stiffness"] = float(rng.uniform(0.05, 0.5))
    extra = [f'[[payload]]\nname = "load"\nlink = "{tips[0]}"\nmass = 0.5\ncom = [0.05, 0.02, 0.0]\n'
             "inertia = [0.001, 0.001, 0.001, 0, 0, 0]\n"] if kind.payload else []
    path.write_text("\n".join([file.text(), *loops, *extra]), encoding="utf-8")
    return path


def _driven(names: Sequence[str], count: int, kind: Kind, rng: np.random.Generator) -> set[str]:
    """The stem, then each branch's first joint, then any."""
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
    """Loops on top of robots that come as URDF: their tips on a joint to the ground."""
    puma, planar = (ARMS / f"{name}.urdf" for name in ("puma6", "planar8"))
    found = []
    for name, urdf, loop, passive in (("puma6-led-by-hand", puma, "ball", (0, 1, 2)),
                                      ("puma6-shared", puma, "ball", (2,)),
                                      ("planar8-held", planar, "planar", (3, 6))):
        path = folder / f"{name}.toml"
        head = f'name = "{name}"\nurdf = "{urdf}"\n\n[control]\nrate_hz = 1000\nknot_hz = 250\n\n'
        path.write_text(head, encoding="utf-8")
        model = Model.of(load_mechanism(path))
        rng = np.random.default_rng(1)
        start = rng.uniform(0.2, 0.9, model.n)
        at = pose(model, start)
        tip = model.bodies[-1]
        point = at.origin[-1] + at.R[-1] @ (np.array([0.1, 0.0, 0.0])
                                            if loop == "planar" else np.array([0.1, 0.05, 0.1]))
        normal = at.R[-1] @ tip.axis
        Z = _frame(normal)
        sides = dict(a=dict(link="base", xyz=point, rpy=rpy_of(Z)),
                     b=dict(link=tip.joint.child, xyz=at.R[-1].T @ (point - at.origin[-1]), rpy=rpy_of(at.R[-1].T @ Z)))
        joints = "".join(f'[[joint]]\nname = "{b.joint.name}"\nstart = {q:.12g}\n'
                         + ("actuated = false\n" if i in passive else "") + "\n"
                         for i, (b, q) in enumerate(zip(model.bodies, start, strict=True)))
        text = "".join(f"{key} = {toml(value)}\n" for key, value in sides.items())
        path.write_text(f'{head}{joints}[[loop]]\nname = "held"\ntype = "{loop}"\n{text}', encoding="utf-8")
        found.append(path)
    return found
