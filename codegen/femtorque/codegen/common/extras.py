"""Extras of pyproject.toml, by the modules that they bring."""

from importlib import import_module

from femtorque.codegen.common.errors import Refused

EXTRAS = {
    "plan": {"ruckig": "ruckig>=0.12", "scipy": "scipy>=1.11"},
    "plot": {"matplotlib": "matplotlib>=3.8"},
    "hil": {"unicorn": "unicorn>=2.1", "capstone": "capstone>=5", "trimesh": "trimesh>=4.4",
            "collada": "pycollada>=0.8", "fast_simplification": "fast-simplification>=0.1.7", "scipy": "scipy>=1.11"},
    "mujoco": {"mujoco": "mujoco>=3.3"},
    "parquet": {"pyarrow": "pyarrow>=15"},
    "gamepad": {"pygame": "pygame-ce>=2.5"},
    "ros": {"zenoh": "eclipse-zenoh>=1.5", "rosbags": "rosbags>=0.10"},
}


def installing(extra: str) -> str:
    """The line that installs what an extra brings, wherever femtorque itself came from."""
    return "pip install " + " ".join(f"'{package}'" for package in EXTRAS[extra].values())


def missing(module: str | None) -> str | None:
    """The line about a module of an extra that is not there: it names the extra's packages, or that module's alone if
    several extras bring it. None for any other module."""
    extras = [extra for extra, packages in EXTRAS.items() if module in packages]
    if module is None or not extras:
        return None
    line = installing(extras[0]) if len(extras) == 1 else f"pip install '{EXTRAS[extras[0]][module]}'"
    return f"{module} is not installed: {line}"


def need(module: str) -> None:
    """Raise Refused, with what to install, unless a module of an extra is there."""
    try:
        import_module(module)
    except ModuleNotFoundError:
        raise Refused(str(missing(module))) from None
