"""Long campaigns in pieces: those done are kept for the sources that they ran on. FEMTORQUE_SOAK_S bounds one run."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from femtorque.codegen.common.cache import cache_directory
from femtorque.codegen.mechanism.description import Mechanism
from tests.firmware.app import sources

LONGEST = float(os.environ.get("FEMTORQUE_SOAK_S", "inf"))  # s of one run


def in_pieces(name: str, mechanism: Mechanism, own: Iterable[Path], count: int, hours: float,
              play: Callable[[int], Any]) -> None:
    """Play pieces 0 to count - 1, of so many hours each, but for those that are done with this application and these
    files of the campaign's own; print what each returns."""
    files = sources(mechanism) | {path.name: path.read_text() for path in own}
    identity = hashlib.sha256("".join(files[n] for n in sorted(files)).encode()).hexdigest()[:16]
    ledger = cache_directory() / f"{name}-{identity}.json"
    done = json.loads(ledger.read_text()) if ledger.exists() else {}
    until = time.monotonic() + LONGEST
    for piece in range(count):
        if str(piece) in done:
            continue
        if time.monotonic() > until:
            break
        began = time.process_time()
        done[str(piece)] = play(piece)
        ledger.write_text(json.dumps(done))
        rate = 3600.0 * hours / (time.process_time() - began)
        print(f"\n{name}: {len(done) * hours:g} of {count * hours:g} h, {rate:.0f} times real time: {done[str(piece)]}")
