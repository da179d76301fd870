"""The five arms of the benchmark of inverse dynamics code generators."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from femtorque.codegen.mechanism import Mechanism, load_mechanism

HERE = Path(__file__).parent / "arms"


@cache
def robots() -> Path:
    """Return the folder in which the package example-robot-data stores its URDF files."""
    pinocchio = find_spec("pinocchio")  # both packages are installed in the same tree
    assert pinocchio is not None and pinocchio.origin is not None, "pin is missing: pip install pin"
    root = Path(pinocchio.origin).parents[4] / "share" / "example-robot-data" / "robots"
    assert root.is_dir(), "example-robot-data is missing: pip install example-robot-data"
    return root


def from_urdf(path: Path, *, rate_hz: int = 1000, lock: tuple[str, ...] = ()) -> Mechanism:
    """Return a mechanism from a URDF file alone, with the named joints locked at zero."""
    locked = ", ".join(f'"{name}" = 0.0' for name in lock)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "mechanism.toml"
        file.write_text(
            f'name = "{path.stem}"\nurdf = "{path}"\nunphysical = "warn"\nlock = {{ {locked} }}\n'
            f"[control]\nrate_hz = {rate_hz}\n"
        )
        return load_mechanism(file)


def arms() -> dict[str, Mechanism]:
    """Return the mechanisms by name, at 1 kHz."""
    fingers = ("panda_finger_joint1", "panda_finger_joint2")
    return {
        "planar-3": from_urdf(HERE / "planar3.urdf"),
        "planar-8": from_urdf(HERE / "planar8.urdf"),
        "ur5": from_urdf(robots() / "ur_description" / "urdf" / "ur5_robot.urdf"),
        "puma560": from_urdf(HERE / "puma6.urdf"),
        "panda-7": from_urdf(robots() / "panda_description" / "urdf" / "panda.urdf", lock=fingers),
    }
