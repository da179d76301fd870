"""The canonical text of a mechanism, which depends only on its values. Two mechanisms are equal if and only if their
texts are equal."""

import dataclasses
import json
from typing import Any

import numpy as np

from femtorque.codegen.mechanism.description import Mechanism

NOT_THE_MECHANISM = ("source", "urdf", "warnings")


def canonical(mechanism: Mechanism) -> str:
    """Return JSON with sorted keys, a line per top-level key, and floats of 17 digits, which lose no precision."""
    fields = {f.name: _plain(getattr(mechanism, f.name)) for f in dataclasses.fields(mechanism)
              if f.name not in NOT_THE_MECHANISM}
    lines = (f"{json.dumps(name)}: {json.dumps(fields[name], sort_keys=True)}" for name in sorted(fields))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, float):
        return f"{value + 0.0:.17g}"  # adding zero changes -0.0 to 0.0
    return value
