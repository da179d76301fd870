"""The firmware's code plays errors that provers found in it, under sanitizers. The present code runs clean, and the
code with the old error fails."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from assurance.proofs import mechanisms
from assurance.proofs.seeded import SEEDED, Seeded
from femtorque.codegen.toolchain import host_compiler
from tests.firmware.app import SANITIZE, Patch, executable, replace, sources


@dataclass(frozen=True)
class Replay:
    """module: its code is part of the replay. mechanism: of the sources. alone: the module needs no other code. seeded:
    the theorem that finds the error, and the beginning of the error's text."""

    name: str
    module: str
    mechanism: str
    seeded: tuple[str, str]
    alone: bool = False

    @property
    def error(self) -> Seeded:
        theorem, new = self.seeded
        return next(s for s in SEEDED if (s.theorem, s.file) == (theorem, self.module) and s.new.startswith(new))


REPLAYS = (Replay("STALE", "ft_bus.c", "drives", ("bus_hear", "    d->differs = 0;")),
           Replay("SUM", "ft_bus.c", "so101_sts", ("bus_hear", "d->fed + counts")),
           Replay("STATE", "ft_sts.c", "so101_sts", ("sts_packets", ""), alone=True),
           Replay("TABLE", "ft_sense.c", "f405rg-4:voltage", ("sensed", "        float one"), alone=True))


def played(replay: Replay, patches: Patch | None = None) -> subprocess.CompletedProcess[str]:
    """Build a replay and run it."""
    if replay.module == "ft_sense.c":
        files = mechanisms.sources(replay.mechanism) | mechanisms.chip_sources(replay.mechanism)
        files |= {name: text for name, text in sources(mechanisms.mechanism(replay.mechanism)).items()
                  if name in ("ft_chip.h", "ft_frame.h")}
        files = {name: (patches or {}).get(name, lambda text: text)(text) for name, text in files.items()}
    else:
        files = sources(mechanisms.mechanism(replay.mechanism), patches)
    own = Path(__file__).with_name("replays.c").read_text(encoding="utf-8")
    files["replays.c"] = f"#define REPLAY_{replay.name}\n{own}"
    others = [] if replay.alone else [n for n in files if n.endswith(".c") and n not in (replay.module, "replays.c")]
    it = executable(["replays.c", *others], files, (*SANITIZE, *host_compiler.ARITHMETIC))
    return subprocess.run([it], capture_output=True, text=True)


@pytest.mark.parametrize("replay", REPLAYS, ids=lambda r: r.name)
def test_that_what_was_found_is_mended_and_shows_where_it_is_not(replay):
    done = played(replay)
    assert (done.returncode, done.stderr) == (0, "")
    error = replay.error
    assert played(replay, {error.file: replace(error.old, error.new)}).returncode != 0
