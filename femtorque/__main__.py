"""Runs the command line for `python -m femtorque`, and for `python femtorque` in a checkout that is not installed."""

import sys
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from femtorque import main

main()
