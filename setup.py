"""Packages of femtorque by their folders. Adds the firmware and the mechanisms as data of the package; pyproject.toml
has all other settings."""

from setuptools import find_namespace_packages, setup

PLACES = (".", "codegen", "host", "hil")
DATA = {"femtorque.firmware": "firmware", "femtorque.mechanisms": "mechanisms"}
found = {name: f"{place}/{name.replace('.', '/')}" for place in PLACES
         for name in find_namespace_packages(place, include=["femtorque.*"])}

setup(packages=["femtorque", *found, *DATA], package_dir=found | DATA)
