"""Arguments and options that several verbs take."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from femtorque.codegen.common import BadInput
from femtorque.commands.completion import ports

if TYPE_CHECKING:
    from femtorque.codegen.mechanism import Mechanism

Mech = Annotated[Path, typer.Argument(metavar="MECH", help="mechanism file, TOML; or a URDF alone",
                                      show_default=False)]
Traj = Annotated[Path, typer.Argument(metavar="TRAJ", show_default=False,
                                      help="trajectory: CSV, NPZ, JointTrajectory of ROS 2 as YAML, JSON, MCAP; or "
                                      "the log of a run, to be repeated")]
_PORT = typer.Option("--port", "-p", metavar="PORT", show_default=False, envvar="FEMTORQUE_PORT", autocompletion=ports,
                     help="serial device, socket://host:port, unix:PATH, auto: the one whose board carries the "
                     "mechanism, or auto:ID, by the chip that `ports` shows")
Port = Annotated[str, _PORT]
MaybePort = Annotated[str | None, _PORT]
Web = Annotated[int | None, typer.Option("--web", metavar="PORT", min=0, max=65535, show_default=False,
                                         help="show a live page at http://127.0.0.1:PORT (0: any)")]
PAGE_CLOSES = "the page closes after the motion; on a terminal without --json it stays"
LogTo = Annotated[Path | None, typer.Option("--log", metavar="RUN.mcap", help="log to write; RUN.status.csv comes "
                                                         "beside it")]
Udp = Annotated[str | None, typer.Option("--udp", metavar="HOST:PORT", show_default=False,
                                         help="send every STATUS as JSON, for PlotJuggler")]
Home = Annotated[bool, typer.Option("--home", help="set the joints' zeros first, if the board has no zeros; the arm "
                                                   "must be at its start pose")]
Rezero = Annotated[bool, typer.Option("--rezero", help="set new zeros even if the board has zeros; the arm must be at "
                                                       "its start pose")]
Force = Annotated[bool, typer.Option("--force", help="replace an existing file of the same kind; a file of another "
                                                     "kind is never replaced")]
Json = Annotated[bool, typer.Option("--json", help="print exactly one JSON object on standard output")]


def port_number(text: str, option: str, least: int = 0) -> int:
    """Return the number of a TCP or UDP port. Raises BadInput."""
    if not (text.isdecimal() and least <= int(text) < 65536):
        raise BadInput("command line", option, text, f"must be a port's number, {least} to 65535, or unix:PATH")
    return int(text)


def load_mechanism(mech: Path) -> "Mechanism":
    """Read a mechanism file. The import is in the function, so that --help is quick."""
    from femtorque.codegen import mechanism

    return mechanism.load_mechanism(mech)


def claim_log(log: Path | None, force: bool) -> None:
    """Raise BadInput if the log would destroy a file."""
    if log is not None:
        from femtorque.host import record

        record.claim_log(log, force)
