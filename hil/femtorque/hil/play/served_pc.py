"""A PC's program in lock-step with virtual drives, for `femtorque hil serve`."""

from collections.abc import Callable
from pathlib import Path

from femtorque.codegen.board import adapter_times
from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.toolchain import build_program
from femtorque.hil.board import SteppedPc
from femtorque.hil.plant import plant_of
from femtorque.hil.play.closed_loop import folder


def serve_pc(mechanism: Mechanism, path: Path, announce: Callable[[str], None], until: Callable[[], bool]) -> float:
    """Run the program and its drives in real time for hosts, and return the seconds.

    On a slow computer, simulated time falls behind, and the program misses no tick. path: Unix socket of the program's
    port. announce: called with the address when the program accepts hosts. Raise Refused if the program is not built or
    ends early.
    """
    slowest = max(adapter_times(mechanism).values(), key=lambda times: times.delay)
    program = build_program(mechanism, folder(mechanism, feedforward=True))
    with SteppedPc(program, mechanism, plant_of(mechanism), slowest, path=path) as board:
        try:
            board.run(2.0 / mechanism.control.rate_hz)
            announce(f"unix:{path}")
            board.serve(until)
        except Refused as error:
            raise Refused(f"{error}: {board.said_at_the_end().decode(errors='replace').strip()}") from None
        return board.seconds
