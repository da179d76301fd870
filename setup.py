"""Packages of femtorque by their folders. Adds the firmware and the mechanisms as data of the package, and README as
the page of a package index. pyproject.toml has all other settings."""

import re
from pathlib import Path

from setuptools import find_namespace_packages, setup

PLACES = (".", "codegen", "host", "hil")
DATA = {"femtorque.firmware": "firmware", "femtorque.mechanisms": "mechanisms"}
found = {name: f"{place}/{name.replace('.', '/')}" for place in PLACES
         for name in find_namespace_packages(place, include=["femtorque.*"])}

# without pictures and links to files beside README, which a package index does not have
README = re.sub(r"!\[[^]]*\]\([^)]*\)|\[([^]]*)\]\((?!https?:)[^)]*\)", r"\1",
                (Path(__file__).parent / "README.md").read_text(encoding="utf-8"))

setup(packages=["femtorque", *found, *DATA], package_dir=found | DATA, long_description=README,
      long_description_content_type="text/markdown")
