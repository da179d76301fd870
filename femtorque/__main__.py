"""`python -m femtorque`, and `python femtorque` in a checkout that is not installed."""

import sys
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from femtorque import main

main()
