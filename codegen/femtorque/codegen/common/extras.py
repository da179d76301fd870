"""The extras of pyproject.toml, by the modules that they install."""

from importlib import import_module

from femtorque.codegen.common.errors import Refused

EXTRAS = {
    "build": {"platformio": "platformio>=6.1", "SCons": "scons>=4.5", "pyocd": "pyocd>=0.46"},
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
    """Return the command that installs the packages of an extra, for any way in which femtorque was installed."""
    return "pip install " + " ".join(f"'{package}'" for package in EXTRAS[extra].values())


def missing(module: str | None) -> str | None:
    """Return the error line for a missing module of an extra; None for any other module.

    The line names the packages of the extra. If several extras install the module, the line names only the module's
    package."""
    extras = [extra for extra, packages in EXTRAS.items() if module in packages]
    if module is None or not extras:
        return None
    line = installing(extras[0]) if len(extras) == 1 else f"pip install '{EXTRAS[extras[0]][module]}'"
    return f"{module} is not installed: {line}"


def need(module: str) -> None:
    """Raise Refused, with the installation command, if a module of an extra is missing."""
    try:
        import_module(module)
    except ModuleNotFoundError:
        raise Refused(str(missing(module))) from None
