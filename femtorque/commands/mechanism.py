"""Verbs for a mechanism's file, torques, C and image."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from femtorque.codegen.common import (
    BUILD, EXTRAS, GENERATED, LIBRARY, TORQUES, BadInput, check_page, claim, claim_folder, installing, picture)
from femtorque.codegen.common.output import page
from femtorque.commands import completion
from femtorque.commands.answer import Answer
from femtorque.commands.options import Force, Json, Mech, Traj, load_mechanism

if TYPE_CHECKING:
    from femtorque.codegen.mechanism import Mechanism
    from femtorque.codegen.toolchain import BuildResult, Known
    from femtorque.hil.cost import Cost


def init(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="name of the mechanism")],
    urdf: Annotated[Path | None, typer.Option("--from", metavar="X.urdf", help="take links and joints from it")] = None,
    board: Annotated[str | None, typer.Option(
        metavar="BOARD", show_default=False, autocompletion=completion.boards,
        help="with --from: give every joint a motor that fits its limits")] = None,
    motor: Annotated[str | None, typer.Option(
        metavar="MOTOR", show_default=False, help="with --board: this one of `femtorque motors`")] = None,
    drive: Annotated[list[str] | None, typer.Option(
        metavar="[JOINT=]DRIVE", show_default=False, autocompletion=completion.drives,
        help="with --board: give every joint this drive or servo on a bus, or one joint; may be given again; "
        "docs/drives.md lists them")] = None,
    chain: Annotated[str | None, typer.Option(
        metavar="A:B", show_default=False, help="with --from: only joints between these two links move")] = None,
    lock: Annotated[list[str] | None, typer.Option(
        metavar="JOINT[=VALUE]", show_default=False, help="with --from: this joint does not move; rad or m")] = None,
    arm: Annotated[str | None, typer.Option(
        metavar="ARM", show_default=False, autocompletion=completion.arms,
        help="an arm on the market, on a PC as the board: docs/pc.md")] = None,
    out: Annotated[Path | None, typer.Option("--output", "-o", metavar="MECH", show_default="NAME.toml",
                                             help="file to write")] = None,
    json: Json = False,
) -> Answer:
    """Write a commented mechanism file to start from."""
    from femtorque.codegen.verify import Choice, said_of, write_new_file

    choice = Choice(board, motor, tuple(drive or ()), chain, tuple(lock or ()), arm)
    path = write_new_file(name, out or Path(f"{name}.toml"), urdf, choice)
    warnings = said_of(path)
    if urdf and board and not motor and not drive:
        warnings.append("the motors are invented from the URDF's limits; `femtorque motors` lists motors that are sold")
    return Answer({"file": path, "warnings": warnings}, "\n".join([
        f"{path}: edit it, then `femtorque check {path}`", *(f"warning: {line}" for line in warnings)]))


def motors(json: Json = False) -> Answer:
    """Brushed motors and gear motors that are sold.

    The numbers are from the makers' data sheets. `init --motor` writes a motor's numbers into a mechanism file."""
    from femtorque.codegen.mechanism import MOTORS
    from femtorque.codegen.verify import motor_table

    return Answer({"motors": [asdict(sold) for sold in MOTORS]}, motor_table(MOTORS))


def check(
    mech: Mech,
    trajs: Annotated[list[Path] | None, typer.Argument(metavar="TRAJ", show_default=False,
                                                       help="motions to be looked at too")] = None,
    shown: Annotated[Path | None, typer.Option("--page", metavar="OUT.html", show_default=False,
                                               help="draw it in three dimensions, with the first motion")] = None,
    gains: Annotated[Literal["stiff", "half", "quarter"] | None, typer.Option(
        "--write", show_default=False, help="write the stiffest gains of the table, or half or a quarter of them, into "
                                            "MECH; other keys stay")] = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Validate a mechanism file, show it as tables, and warn.

    The given motions are also checked for singular poses."""
    from femtorque.codegen.mechanism import set_gains
    from femtorque.codegen.motion import Trajectory
    from femtorque.codegen.verify import check_renderable, examine

    beside = shown and shown.with_name(f"{shown.stem}-elements.html")
    if shown is not None and beside is not None:
        check_page(shown)
        claim(shown, page("check"), force)
        claim(beside, page("elements"), force)
    mechanism = load_mechanism(mech)
    motions = [Trajectory.load(t, mechanism) for t in trajs or ()]
    report = examine(mechanism, motions)
    if gains is not None:
        if not report.rule:
            raise BadInput(mech, "--write", gains, "there are no stiffest gains to write",
                           "give joints motors or drives first")
        driven = {joint.name for joint in mechanism.moving if joint.motor or joint.drive}
        set_gains(mech, {name: rule for name, rule in report.rule.items() if name in driven},
                  {"stiff": 1.0, "half": 0.5, "quarter": 0.25}[gains])
        mechanism = load_mechanism(mech)
        report = examine(mechanism, motions)
    from rich.console import Group

    most_hz = _most_hz(mechanism)
    data, lines = report.data() | {"most_hz": most_hz}, [check_renderable(report)]
    if most_hz is not None:
        lines.append(f"ticks fit at up to {_kilohertz(most_hz)}, as `femtorque build` has found")
    if shown is None or beside is None:
        return Answer(data, Group(*lines))
    from femtorque.codegen.verify import elements_of
    from femtorque.host.show import finite_elements_page as elements_page, of_motion, write_scene

    elements_page.write_elements(elements_of(mechanism), beside)
    write_scene(of_motion(mechanism, motions[0] if motions else None), mech.name, "check", shown, beside.name)
    return Answer(data | {"page": shown, "elements": beside}, Group(*lines, f"{shown}, {beside}"))


def elements(
    mech: Mech,
    link: Annotated[str | None, typer.Argument(metavar="LINK", show_default=False,
                                               help="this link alone, with its matrices")] = None,
    shown: Annotated[Path | None, typer.Option("--page", metavar="OUT.html", show_default=False,
                                               help="draw matrices and patterns beside the arm")] = None,
    number: Annotated[str | None, typer.Option("--find", metavar="NUMBER", show_default=False,
                                               help="name the parameters in this number of the emitted C")] = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Show the finite elements of the links and their matrices.

    Every element has its length, integration points, C_mot, [B], [D] and [K]. The page also has lumped masses,
    [Lambda], and the patterns of [T] and [T_Lambda]. For flexible links, the vibration modes and the factors are added.
    Loops add the Jacobian and the order of elimination. The page also shows how many numbers of the matrices are stored
    on the chip."""
    from femtorque.codegen.verify import elements_of, elements_renderable

    if number is not None:
        return _number(mech, number, link or shown)
    if shown is not None:
        check_page(shown)
        claim(shown, page("elements"), force)
    found = elements_of(load_mechanism(mech), link)
    text = elements_renderable(found, link is not None)
    if shown is None:
        return Answer(found.data(), text)
    from rich.console import Group

    from femtorque.host.show import write_elements

    write_elements(found, shown)
    return Answer(found.data() | {"page": shown}, Group(text, f"{shown}"))


def _number(mech: Path, number: str, more: object) -> Answer:
    from femtorque.codegen.verify import Search

    if more is not None:
        raise BadInput("command line", "--find", number, "goes with MECH alone", "leave out LINK and --page")
    search = Search.of(load_mechanism(mech))
    found = search.find(number)
    return Answer({"found": [search.data(one) for one in found]},
                  "\n".join(line for one in found for line in search.lines(one)))


def _most_hz(mechanism: Mechanism) -> int | None:
    """Return the highest possible control rate; None until an image of this mechanism is built and measured."""
    from femtorque.codegen.toolchain import Known

    cost = Known.of(mechanism, feedforward=True, pil=False).cost() if mechanism.board else None
    return cost["most_hz"] if cost else None


def torque(
    mech: Mech,
    traj: Traj,
    out: Annotated[Path, typer.Option("--output", "-o", metavar="OUT.csv", show_default=False, help="file to write")],
    backend: Annotated[Literal["reference", "c", "chip"], typer.Option(
        help="NumPy in float64; the emitted C on this computer; or on the emulated chip")] = "reference",
    precision: Annotated[Literal["single", "double"] | None, typer.Option(
        show_default="single", help="of the emitted C; the reference is always double")] = None,
    total: Annotated[bool, typer.Option("--total", help="add the motor terms of Eq. 19")] = False,
    wrench: Annotated[tuple[str, float, float, float, float, float, float] | None, typer.Option(
        "--wrench", metavar="LINK FX FY FZ MX MY MZ", show_default=False,
        help="that the world exerts on a link: N and N m, global axes, at the origin of the link's frame")] = None,
    mode: Annotated[str | None, typer.Option(metavar="M", show_default="those the motion names",
                                             help="the mode to stay in")] = None,
    compare: Annotated[bool, typer.Option(
        "--compare", help="compute the error of the emitted C with flexible links too: a march in float64")] = False,
    figure: Annotated[Path | None, typer.Option("--figure", metavar="OUT.png",
                                                help="draw the curves, beside those of Newton-Euler")] = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Feed-forward torques of every control tick of a motion.

    Each row has the torques at the middle of its tick."""
    from femtorque.codegen.motion import Trajectory
    from femtorque.codegen.reference import Wrench
    from femtorque.codegen.verify import motion_torques as torque

    if figure is not None:
        from femtorque.codegen.verify import check_format, torque_curves

        check_format(figure)
        claim(figure, picture("torque"), force)
    claim(out, TORQUES, force)
    whole = load_mechanism(mech)
    mechanism, motion = _in_mode(whole, mode), Trajectory.load(traj, whole)
    external = None if wrench is None else Wrench.of(wrench[0], wrench[1:])
    step, held = _step(backend, precision)
    motion = motion if mode is None else replace(motion, modes=())
    result = torque.torque(mechanism, motion, step, total, external, held)
    result.write(out)
    if figure is not None:
        by = {"reference": "reference", "c": "emitted C", "chip": "emitted C on the chip"}[backend]
        control = mechanism.control
        torque_curves(figure, result, f"{mechanism.name}, {control.scheme} at {control.rate_hz} Hz", by)
    computed = "double" if backend == "reference" else precision or "single"
    figures = result.summary() | {"precision": computed}
    if compare or figure is not None or backend == "reference" or not mechanism.flexible:
        figures |= {f"max_error_{computed}": result.error}
    return Answer({"file": out, **figures, "warnings": list(result.warnings)}, "\n".join([
        f"{out}: {len(result.t)} ticks by {backend}, in {computed} precision",
        *(f"warning: {line}" for line in result.warnings)]))


def _in_mode(mechanism: Any, mode: str | None) -> Any:
    """Return the mechanism in the mode that --mode names."""
    from femtorque.codegen.common import hint
    from femtorque.codegen.model import in_mode

    names = [m.name for m in mechanism.modes]
    if mode is not None and mode not in names:
        raise BadInput("command line", "--mode", mode, "no such mode", hint(mode, names, "modes"))
    return mechanism if mode is None else in_mode(mechanism, mode)


def _step(backend: str, precision: Literal["single", "double"] | None) -> tuple[Any, Any]:
    """Return two functions: torques of a motion (None for the reference), and torques of a wrench."""
    if backend == "reference" and precision == "single":
        raise BadInput("femtorque torque", "--precision", precision,
                       "the reference always computes in double precision",
                       "take --backend c")
    if backend == "chip" and precision == "double":
        raise BadInput("femtorque torque", "--precision", precision, "the chip computes in single precision")
    if backend == "chip":
        from femtorque.hil.cost import chip_step

        return chip_step.torque_on_chip, chip_step.held
    from femtorque.codegen.reference import wrench
    from femtorque.codegen.toolchain import emitted_wrench_torque

    if backend == "c":
        from femtorque.codegen.toolchain import CompiledStep

        return (lambda model, *motion: CompiledStep(model, precision or "single").torque(*motion),
                lambda model, q, external: emitted_wrench_torque(model, q, external, precision or "single"))
    return None, wrench.wrench_torque


def generate(
    mech: Mech,
    out: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", show_default=False, help="folder to write")],
    library: Annotated[bool, typer.Option("--library", help="as a library of PlatformIO, Arduino, CMake and Zephyr, "
                                          "with examples")] = False,
    derivatives: Annotated[bool, typer.Option("--derivatives", help="with the mass matrix and the torques' derivatives "
                                              "by positions and velocities")] = False,
    mjcf: Annotated[bool, typer.Option("--mjcf", help="NAME.xml too: the mechanism for MuJoCo")] = False,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Write the C of the inverse dynamics and its README.

    The folder is self-contained, and the same input gives the same bytes. With --library the folder is a library for
    PlatformIO, Arduino, CMake and Zephyr. A library has sources in src/, manifests, and examples, one of them for
    SimpleFOC."""
    from femtorque import __version__
    from femtorque.codegen.common import claim, write_text
    from femtorque.codegen.emit import sources
    from femtorque.codegen.mechanism import mjcf as mjcf_of

    mechanism = load_mechanism(mech)
    text = mjcf_of(mechanism) if mjcf else None
    claim_folder(out, "library.json" if library else "ft_model.h", LIBRARY if library else GENERATED, force)
    files = sources.generate(mechanism, out, force, __version__ if library else None, derivatives)
    if text is not None:
        claim(path := out / f"{mechanism.name}.xml", GENERATED, force)
        write_text(path, text)
        files.append(path)
    return Answer({"folder": out, "files": [p.relative_to(out).as_posix() for p in files]}, "\n".join(map(str, files)))


def build(
    mech: Mech,
    out: Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", show_default="build/NAME",
                                             help="folder of the PlatformIO project")] = None,
    feedforward: Annotated[bool, typer.Option(help="feed-forward; without it the image has PD alone")] = True,
    pil: Annotated[bool,
                   typer.Option("--pil", help="the image for `femtorque hil pil`: drives nothing real")] = False,
    json: Json = False,
) -> Answer:
    """Build the flash image, and report its size and the cost of a tick.

    PlatformIO builds it. The report has flash, RAM, the bound of the stack, and the instructions and cycles of the
    worst control tick."""
    from femtorque.codegen.board import on_pc
    from femtorque.codegen.toolchain import Known

    mechanism = load_mechanism(mech)
    if on_pc(mechanism) and not pil:
        program = program_for_pc(mechanism, out)
        return Answer({"program": str(program)}, f"{program}\nnext: `femtorque board {mech}`")
    folder = out or BUILD / (mechanism.name + ("-pil" if pil else ""))
    known = Known.of(mechanism, feedforward, pil)
    result = known.image(folder) or _make(known, mechanism, folder, feedforward, pil)
    words = (
        f"{result.image}\nflash {result.flash_bytes} bytes, RAM {result.ram_bytes} bytes, stack at most "
        f"{result.stack_bytes} of {result.stack_reserved} bytes\ndigest {result.digest}\n")
    if pil:
        return Answer(asdict(result), words + f"next: flash it, then `femtorque hil pil {mech} TRAJ --port PORT`")
    cost = _cost(known, mechanism, result, feedforward)
    if cost is None:
        return Answer(asdict(result), words + f"instructions not counted: that takes {installing('hil')}")
    above = f"; {cost.cycles_above} are for the current loops" if cost.cycles_above else ""
    words += (
        f"in motion at most {cost.instructions_tick} instructions per tick, {cost.instructions_step} of them the step\n"
        f"a tick takes at most {cost.cycles_worst} of {cost.cycles_budget} cycles, margin {cost.margin:.1%}: the "
        f"costliest tick played took {cost.cycles_tick_flash}, of them {cost.cycles_tick} without waiting for flash"
        f"{above}; {cost.cycles_unseen} are the bound of the code that no tick ran\n"
        f"that fits into ticks at up to {_kilohertz(cost.most_hz)}"
        + "".join(f"\nnot gone through to its end: {what}" for what in cost.left_out))
    return Answer(asdict(result) | asdict(cost), words)


def program_for_pc(mechanism: Mechanism, out: Path | None = None) -> Path:
    """Return the program of a PC as the board, built now or taken from the cache."""
    from femtorque.codegen.toolchain import build_program
    from femtorque.host.show import build_bar

    with build_bar() as progress:
        return build_program(mechanism, out or BUILD / mechanism.name, progress)


def _kilohertz(hz: int) -> str:
    return f"{hz // 100 / 10:.1f} kHz"


def _make(known: Known, mechanism: Mechanism, folder: Path, feedforward: bool, pil: bool) -> BuildResult:
    """Return the image, built now or taken from the cache."""
    from femtorque.codegen.toolchain import build_image as make, project
    from femtorque.host.show import build_bar

    with build_bar() as progress:
        result = make(mechanism, folder, progress, feedforward, pil)
    known.keep_image(result.digest, project(mechanism, feedforward, pil).files)
    return result


def _cost(known: Known, mechanism: Mechanism, result: BuildResult, feedforward: bool) -> Cost | None:
    """Return the image's flash, RAM and cycles; None without the virtual board, which counts the cycles."""
    from femtorque.hil.cost import Cost

    if found := known.cost():
        return Cost(**found | {"left_out": tuple(found["left_out"])})
    try:
        from femtorque.hil.cost import measure
    except ModuleNotFoundError as missing:
        if missing.name not in EXTRAS["hil"]:
            raise
        return None
    from femtorque.host.show import build_bar

    print(f"{result.image} is built; what its ticks cost is being counted", file=sys.stderr)
    with build_bar() as progress:
        cost = measure(mechanism, result, feedforward, progress)
    known.keep_cost(asdict(cost))
    return cost


def verify(
    mech: Mech,
    trajs: Annotated[list[Path] | None, typer.Argument(metavar="TRAJ", show_default=False,
                                                       help="motions of your own")] = None,
    report: Annotated[Path | None, typer.Option(metavar="R.html", show_default=False, help="page to write")] = None,
    motions: Annotated[int, typer.Option(metavar="N", min=1, help="random motions beside them")] = 3,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="of the random motions")] = 0,
    mode: Annotated[str | None, typer.Option(metavar="M", help="one of the mechanism's modes")] = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Compare the emitted C with theory, and the chip with this PC.

    Random motions and your own motions are compared."""
    from femtorque.codegen.motion import Trajectory
    from femtorque.codegen.verify import verification_renderable, verify, write_verification
    from femtorque.hil.cost import chip_step

    if report is not None and not report.parent.is_dir():
        raise BadInput(report, "report", None, f"cannot be written: there is no folder {report.parent}")
    if report is not None:
        claim(report, page("verify"), force)
    mechanism = _in_mode(load_mechanism(mech), mode)
    result = verify(mechanism, [Trajectory.load(t, mechanism) for t in trajs or ()], chip_step.run_step_on_chip,
                    motions, seed)
    written = {} if report is None else {"report": write_verification(result, report)}
    return Answer(result.data() | written, verification_renderable(result), good=result.good)
