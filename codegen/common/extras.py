"""Extras of pyproject.toml, by the modules that they bring."""

from __future__ import annotations

EXTRAS = {
    "hil": {"unicorn": "unicorn>=2.1", "capstone": "capstone>=5", "trimesh": "trimesh>=4.4",
            "collada": "pycollada>=0.8", "fast_simplification": "fast-simplification>=0.1.7"},
    "mujoco": {"mujoco": "mujoco>=3.3"},
    "parquet": {"pyarrow": "pyarrow>=15"},
}


def installing(extra: str) -> str:
    """The line that installs what an extra brings, wherever femtorque itself came from."""
    return "pip install " + " ".join(f"'{package}'" for package in EXTRAS[extra].values())
