"""The command line. The verbs are short functions in femtorque/commands/, which call codegen, host and hil. Every verb
returns an Answer. `main` prints the Answer as words or as exactly one JSON object. `main` turns an error into one line
and an exit status. 0 means good, 1 means that the answer is no, and 2 means bad input."""

import errno
import os
import re
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from femtorque import __version__
from femtorque.codegen.common import BUILD, BadInput, Refused, missing, printable
from femtorque.commands import board, live, mechanism, motion, pc, ros, virtual
from femtorque.commands.answer import Answer, only_json, show

# prefix of files with tracebacks of unexpected errors, and the number of files that are kept
TRACEBACK, TRACEBACKS = "femtorque-traceback-", 5
UsageError: Any = typer.BadParameter.__mro__[1]  # UsageError of click, or of the copy of click in typer


PLAIN = {  # patterns in messages of pydantic and click, and their replacements
    r"^Invalid value for (.*?): (Value error, )?": r"\1: ",
    r"Input should be a valid integer.*": "must be a whole number",
    r"Input should be a valid number.*": "must be a number",
    r"Input should be less than or equal to": "must be at most",
    r"Input should be greater than or equal to": "must be at least",
}


def _unchecked_where_unused(params: list[Any]) -> list[Any]:
    """Prepare parameters for --help and completion without pydantic, whose import takes longer than all of --help. Two
    things differ: a flag that is not given is False instead of None, and completion leaves values as typed."""
    for param in params:
        if param.param_type_name == "argument":  # arguments are shown as in the usage line, without Python's types
            param.display_type_rich = lambda ctx: ""
            param._usage_display_name = partial(_in_usage, param)
        param._get_number_range_help_str = partial(_range, param)
        if getattr(param, "is_flag", False) and param.default is None:
            param.default = False
        if "process_value" not in vars(param):
            param.process_value = partial(_process, param, param.process_value)
    return params


def _in_usage(param: Any) -> str:
    name = str(param.metavar or param.name.upper()) + (" ..." if param.nargs != 1 else "")
    return name if param.required else f"[{name}]"


def _range(param: Any) -> str | None:
    low, high = getattr(param, "min", None), getattr(param, "max", None)
    if low is None and high is None:
        return None
    return f"at least {low:g}" if high is None else f"at most {high:g}" if low is None else f"{low:g} to {high:g}"


def _process(param: Any, checked: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """Return the value of an option or argument. Raise BadParameter for NaN."""
    found = value if ctx.resilient_parsing else checked(ctx, value)
    if isinstance(found, float) and found != found:
        raise typer.BadParameter("must be a number", ctx, param)
    return found


class Quick(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _unchecked_where_unused(super().get_params(ctx))


class Verbs(Quick):
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs in groups by purpose. The order is that of a user's first steps."""
        for title, names in GROUPS.items():
            rows = [(name, self.commands[name].get_short_help_str(formatter.width)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)


class Hil(Quick):
    """The verbs of `hil`, which were options of one verb in earlier versions."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = args or ["--help"]
        first = args[0]
        option = next((word.partition("=")[0] for word in args if word.partition("=")[0] in ONCE), None)
        if not ctx.resilient_parsing and first not in ("-h", "--help", *self.commands) and (
                option or first.startswith("-") or "." in first):
            raise BadInput("command line", f"hil {' '.join(args)}"[:60], None,
                           f"is now `femtorque hil {ONCE[option] if option else 'run MECH TRAJ'}`",
                           "`femtorque hil --help` lists what there is")
        return super().parse_args(ctx, args)


ONCE = {"--scenario": "scenario NAME", "--serve": "serve MECH --port PORT", "--buses": "drives MECH --port PORT",
        "--board": "pil MECH TRAJ --port PORT", "-b": "pil MECH TRAJ --port PORT"}


WAITS = {"check": "checking", "elements": "assembling", "plan": "planning", "torque": "computing", "plot": "drawing",
         "verify": "verifying"}


class Verb(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _unchecked_where_unused(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            error.ctx = error.ctx or ctx  # click gives no context if an option's value is missing
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the verb. On a terminal, show a spinner if the verb prints nothing until its end."""
        if self.name not in WAITS or not sys.stderr.isatty():
            return super().invoke(ctx)
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            bar.add_task(WAITS[self.name])
            return super().invoke(ctx)


app = typer.Typer(
    cls=Verbs, pretty_exceptions_enable=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"femtorque {__version__}")
        raise typer.Exit


@app.callback()
def femtorque(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="print it and exit")
                       ] = False,
) -> None:
    """Turns one mechanism file into the firmware of a motor board, and moves the arm."""


VERBS: dict[str, Callable[..., Answer]] = {
    "demo": virtual.demo, "init": mechanism.init, "motors": mechanism.motors, "check": mechanism.check,
    "elements": mechanism.elements, "torque": mechanism.torque,
    "generate": mechanism.generate,
    "verify": mechanism.verify, "build": mechanism.build, "flash": board.flash,
    "plan": motion.plan, "stream": motion.stream, "monitor": motion.monitor, "plot": motion.plot,
    "hil run": virtual.run, "hil serve": virtual.serve, "hil drives": virtual.drives, "hil pil": virtual.pil,
    "hil replay": virtual.replay, "hil scenario": virtual.scenario, "reproduce": virtual.reproduce,
    "docs": board.docs, "ports": board.ports, "board": pc.board,
    "bus latency": pc.latency, "bringup": board.bringup, "home": board.home, "float": board.float_,
    "jog": board.jog, "follow": live.follow, "teleop": live.teleop, "ros": ros.ros, "identify": board.identify,
    "clear": board.clear,
}

GROUPS = {
    "See it": ("demo",),
    "Describe an arm": ("init", "motors", "check", "elements"),
    "Plan its motions": ("plan", "torque"),
    "Make and try its firmware": ("build", "verify", "generate", "hil"),
    "Run a board": ("flash", "board", "bus", "ports", "monitor", "clear", "stream", "follow", "teleop", "ros", "plot"),
    "Bring an arm up": ("bringup", "home", "float", "jog", "identify"),
    "Read on": ("docs", "reproduce"),
}

# Examples at the end of every --help.
EXAMPLES = {
    "demo": ["demo", "demo --page"],
    "init": ["init my_arm", "init my_so101 --arm so101", "init my_robot --from robot.urdf --board f405rg-6",
             "init my_can_arm --from robot.urdf --board nucleo-g474-can --drive damiao-4340 --drive waist=damiao-8009",
             "init my_leg --from robot.urdf --chain trunk:foot --lock ankle=0.2 --board f405rg-4"],
    "motors": ["motors"],
    "check": ["check my_arm.toml", "check my_arm.toml motion.csv --page check.html", "check my_arm.toml --write half"],
    "elements": ["elements my_arm.toml", "elements my_arm.toml forearm --page elements.html"],
    "torque": ["torque my_arm.toml motion.csv -o torque.csv --figure torque.png",
               "torque my_arm.toml motion.csv -o torque.csv --backend chip"],
    "generate": ["generate my_arm.toml -o my_arm_c", "generate my_arm.toml -o my_arm_c --derivatives",
                 "generate my_arm.toml -o my_arm_library --library"],
    "build": ["build my_arm.toml"],
    "verify": ["verify my_arm.toml motion.csv --report verify.html"],
    "plan": ["plan my_arm.toml waypoints.toml -o motion.csv --figure motion.png",
             "plan my_arm.toml points.csv -o motion.csv --tip hand:0.2,0,0 --back --speed 0.5"],
    "stream": ["stream my_arm.toml motion.csv --port auto --approach --log run.mcap",
               "stream my_arm.toml motion.csv --port /dev/ttyACM0 --loop 0 --speed 0.5 --web 8420",
               "stream my_arm.toml motion.csv --port socket://localhost:5555 --dry-run"],
    "monitor": ["monitor my_arm.toml --port auto", "monitor --port /dev/ttyACM0 --web 8420 --udp localhost:9870"],
    "flash": ["flash my_arm.toml"],
    "clear": ["clear my_arm.toml --port auto"],
    "home": ["home my_arm.toml --port auto", "home my_arm.toml --port auto --at elbow=0.3"],
    "float": ["float my_arm.toml --port auto --seconds 30"],
    "follow": ["follow my_arm.toml --port auto --from motion.csv --hz 30",
               "follow my_arm.toml --port auto --from udp:9000 --log run.mcap"],
    "teleop": ["teleop my_arm.toml --port auto --tip hand",
               "teleop my_arm.toml --port socket://localhost:5555 --web 8420 --tip hand:0.2,0,0",
               "teleop my_arm.toml --port auto --gamepad",
               "teleop follower.toml --port auto --leader leader.toml --leader-port auto --scale elbow=0.5",
               "teleop follower.toml --port auto:1A --leader leader.toml --leader-port auto:2B --feel"],
    "ros": ["ros my_arm.toml --port auto", "ros my_arm.toml --port auto --controller left_arm_controller --domain 7"],
    "jog": ["jog my_arm.toml elbow --rate 0.1 --seconds 2 --port auto"],
    "bringup": ["bringup my_arm.toml --port auto", "bringup my_arm.toml --port auto --no-hand"],
    "identify": ["identify my_arm.toml --port auto", "identify my_arm.toml --port auto --joint elbow --write",
                 "identify my_arm.toml --port auto --whole --range elbow=-1:0.5 --write",
                 "identify my_arm.toml --port auto --payload gripped --on tool",
                 "identify my_arm.toml --port auto --payload gripped --without --on tool --write",
                 "identify my_arm.toml --port auto --payload weight --weighed 2.0 --on tool --write"],
    "docs": ["docs FOLLOWING", "docs not-homed"],
    "board": ["board my_arm.toml --bus can1=can0", "board my_arm.toml --bus can1=fdcanusb:/dev/ttyACM0",
              "board so101.toml --wire servos=/dev/ttyACM0"],
    "bus latency": ["bus latency my_arm.toml --bus can1=can0 --write"],
    "ports": ["ports", "ports socket://localhost:5555"],
    "plot": ["plot run.mcap", "plot before.mcap after.mcap -o compared.html",
             "plot run.mcap -o run.html -o run.parquet"],
    "hil run": ["hil run my_arm.toml motion.csv --log run.mcap",
                "hil run my_arm.toml motion.csv --fault encoder-stuck"],
    "hil serve": ["hil serve my_arm.toml", "hil serve my_arm.toml --port 5556 --tape run.tape"],
    "hil replay": ["hil replay my_arm.toml run.tape --log run.mcap"],
    "hil drives": ["hil drives my_can_arm.toml"],
    "hil pil": ["hil pil my_arm.toml motion.csv --port /dev/ttyUSB0"],
    "hil scenario": ["hil scenario three_link --short"],
    "reproduce": ["reproduce -o papers"],
}

hil = typer.Typer(cls=Hil, rich_markup_mode=None,
                  help="Play on the virtual board: run, serve, drives, pil, replay, scenario.")
app.add_typer(hil, name="hil")
bus = typer.Typer(cls=Quick, rich_markup_mode=None, help="Adapters of a PC as the board: latency.")
app.add_typer(bus, name="bus")

for _name, _verb in VERBS.items():
    _examples = "\n".join(f"  femtorque {line}" for line in EXAMPLES[_name])
    _group, _, _last = _name.rpartition(" ")
    {"hil": hil, "bus": bus, "": app}[_group].command(_last, cls=Verb, epilog=f"\b\nExamples:\n{_examples}")(_verb)


def main(arguments: list[str] | None = None) -> None:
    """Run one verb and exit with its status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    warnings.showwarning = partial(_warn, warnings.showwarning, set())
    if "--json" not in arguments:
        sys.exit(_run(arguments, show))
    with only_json() as write:
        status = _run(arguments, write)
    sys.exit(status)


def _warn(otherwise: Callable[..., None], said: set[str], message: Warning | str, category: type[Warning],
          *where: Any) -> None:
    """Print a warning of this project as one line. Print equal lines only once."""
    if category is UserWarning:
        line = printable(" ".join(str(message).split()))
        if line not in said:
            print(f"femtorque: {line}", file=sys.stderr)
        said.add(line)
    else:
        otherwise(message, category, *where)


def _run(arguments: list[str], write: Callable[[Answer], None]) -> int:
    try:
        answer = app(arguments or ["--help"], prog_name="femtorque", standalone_mode=False)
        if not answer:  # --help, --version
            return 0
        if not isinstance(answer, Answer):  # after Ctrl-C click returns an exit status
            raise KeyboardInterrupt
        write(answer)
        return 0 if answer.good else 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the program that reads the pipe has ended: print nothing at exit
        return 1
    except (Exception, KeyboardInterrupt) as error:
        line, status = _explain(error)  # notes say in which state the arm is
        line = printable(" ".join("; ".join([line, *getattr(error, "__notes__", ())]).split()))
        print(line if line.startswith("femtorque ") else f"femtorque: {line}", file=sys.stderr)
        if write is not show:
            fault = getattr(error, "fault", None)
            write(Answer({"error": line, "faults": [fault] if fault else []}))
        return status


def _explain(error: BaseException) -> tuple[str, int]:
    """Return an error as one line of text, with the exit status."""
    if isinstance(error, BadInput):
        return str(error), 2
    if isinstance(error, UsageError):
        asked = error.ctx.command_path if error.ctx else "femtorque"
        said = error.format_message().rstrip(".")
        for theirs, ours in PLAIN.items():
            said = re.sub(theirs, ours, said)
        return f"{said} Try `{asked} --help`" if said.endswith("?") else f"{said}; try `{asked} --help`", 2
    folder = os.path.dirname(str(getattr(error, "filename", None) or ""))
    if isinstance(error, FileNotFoundError) and folder and not os.path.isdir(folder):
        return f"{error.filename}: there is no folder {folder}", 2
    if isinstance(error, PermissionError) and str(error.filename).startswith(str(BUILD)):
        return f"{error.filename}: {error.strerror}; FEMTORQUE_BUILD=FOLDER takes another folder for images", 2
    if isinstance(error, OSError) and error.filename:  # a path that cannot be read or written
        return f"{error.filename}: {error.strerror}", 2
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        return f"a file cannot be written: {os.strerror(error.errno)}", 1
    if isinstance(error, Refused):
        return str(error), 1
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return "interrupted", 1
    if isinstance(error, ModuleNotFoundError) and (line := missing((error.name or "").split(".")[0])):
        return line, 1
    if isinstance(error, RecursionError):
        return "what was given is nested too deeply", 2
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}", 1
    return f"unexpected {type(error).__name__}: {error}; the traceback is in {_traceback(error)}", 1


def _traceback(error: BaseException) -> str:
    """Write the traceback to a temporary file, return its name, and keep this user's last TRACEBACKS files."""
    import tempfile
    import traceback
    from pathlib import Path

    with tempfile.NamedTemporaryFile("w", prefix=TRACEBACK, suffix=".log", delete=False) as file:
        traceback.print_exception(error, file=file)
    with suppress(OSError):
        user = Path(file.name).stat().st_uid
        here = [(found.stat(), found) for found in Path(file.name).parent.glob(f"{TRACEBACK}*.log")]
        ours = sorted((stat.st_mtime_ns, found) for stat, found in here if stat.st_uid == user)
        for _, found in ours[:-TRACEBACKS]:
            found.unlink(missing_ok=True)
    return file.name

