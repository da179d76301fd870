"""Files with one flipped bit. The reader must read the same data, report the damage, or refuse the file."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from femtorque.codegen.common import BadInput
from femtorque.codegen.motion import Trajectory
from femtorque.host.record import Run


def same(a: Any, b: Any) -> bool:
    """Return True if all data are equal. NaN is regarded as equal to NaN."""
    if isinstance(a, Run | Trajectory):
        return all(same(value, vars(b)[name]) for name, value in vars(a).items() if name not in ("damage", "source"))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)


def flipped(path: Path, read: Callable[[Path], Any], number: int, seed: int) -> Counter[str]:
    """Read `number` copies of a file, each with one random flipped bit, and count the outcomes. "the same": the reader
    read the same data. "said": the reader reported damage, and the samples that it read are correct. "refused": the
    reader refused the file. "silent": the reader read other data without a report."""
    random, whole, data = np.random.default_rng(seed), read(path), path.read_bytes()
    damaged, found = path.with_stem(f"{path.stem}-flipped"), Counter[str]()
    for _ in range(number):
        at, bit = int(random.integers(len(data))), int(random.integers(8))
        damaged.write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:])
        try:
            part = read(damaged)
        except BadInput as error:
            assert "\n" not in str(error)
            found["refused"] += 1
            continue
        if isinstance(part, Run) and part.damage:
            assert all(same(getattr(part, name), getattr(whole, name)[:len(part.t)]) for name in (
                "t", "position", "target", "rate", "torque", "duty", "state")), (at, bit)  # the first samples
            found["said"] += 1
        else:
            found["the same" if same(part, whole) else f"silent: bit {bit} of byte {at}"] += 1
    return found
