"""`femtorque reproduce`: the figures and tables of the four papers by this project's code, on one HTML page."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text

from femtorque.codegen.common import BadInput, check_place, claim, hint, template, write_text
from femtorque.codegen.common.output import page as page_of
from femtorque.hil.papers import chapter, closed, isobe, isobe_method, plexus, pressing, tsujita
from femtorque.hil.papers.finding import Finding

PAGE = "reproduce.html"
BEAT = 30.0  # time between two progress messages, s


@dataclass(frozen=True)
class Paper:
    key: str
    title: str
    errata: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject:
    """A figure."""

    name: str
    paper: str
    figure: str
    title: str
    make: Callable[[bool], Finding] | None  # a function of `short`; None if the figure is not reproduced
    differs: str  # parts that are not reproduced, with the reason
    commands: tuple[str, ...] = ()
    own_data: bool = True  # true if the figure uses data that the paper does not print


PAPERS = (
    Paper("isobe", "D. Isobe, A finite element scheme for calculating inverse dynamics of link mechanisms", (
        "Eq. 3 with l the element's length gives a quarter of a rod's inertia: the link's own inertia is used.",
        "[h] must flip only the y components of forces, not of moments.",
        "[Lambda] (Eq. 15) assumes straight links along z; the general form is [skew(c) skew(l) 1].",
        "Eq. 16 is not enough with passive joints: it leaves no force at the cut.",
        "Eqs 7 and 17 drop masses and rotary inertias at joint nodes: they are folded into the links.",
        "{P}_0, gravity and the initial acceleration, is not stated; increments never create it.",
        "Eq. 19 must read J q''_d + D q'_d.",
        "Newmark with beta = 1/4, driven by prescribed displacements, has the double eigenvalue -1: errors grow with "
        "time.")),
    Paper("plexus",
          "Lepareux, Bung, Jamet, Barraco, Cuny, Dynamic behaviour of deformable and rigid articulated systems", (
        "theta' = N Omega_m contradicts T = N T_m: Omega_m = N theta'.",
        "T_d needs its sign and a rule for sticking; the rotor's inertia N^2 J_m is missing.",
        "I is both a current and an integral.",
        "H can be inverted if the equations are independent, not merely compatible.",
        "gamma at the start is not defined: C gamma = -Cdot v.",
        "|V| <= V_max without anti-windup; the figures' numbers in the text are off by one.")),
    Paper("chapter", "Dynamics (chapter of a robotics textbook)"),
    Paper("tsujita", "Tsujita, Tsuchiya, Kamiya, Kawano, The inverse kinematics and dynamics of a flexible manipulator",
          (
        "Eq. 15: the mass matrix is <B'B> with its first row modified (<B'B> - C'B), the stiffness K - Omega^2 <B'B> "
        "(K - omega^2 M is printed); "
        "the moment "
        "uses <rho_c^2> (m r_c^2 is counted twice as printed); terms linear in w are missing from the moment balance.",
        "Eq. 12: 2 zeta sqrt(M K) is not symmetric: 2 zeta M (M^-1 K)^1/2, or damping in proportion to strain rate.",
        "Eq. 7 lacks Omega x w and prints rho~ for r~; Eqs 9 and 10 print (r_c - r_c); Eq. 17 is malformed; Eq. 18 "
        "prints "
        "omega(20) for omega(10).",
        "Eq. 16: w(0) = w(t_f) = 0 is well posed only with as many stable as unstable roots, and the ends must be the "
        "static "
        "sag, not zero.",
        "Eq. 19 is exact, not of least squares, once Eq. 15 is consistent.")),
)

_WALL = ("The printed start (0.7, 0.7) is 0.990 m from the base, out of reach if 0.4 m is all of link 2 (the printed "
         "path stands below); R_1, the split of the mass, the stiffness "
         "of joint 3, the damping and the contact law are not printed. Chosen: a path at y = -0.6 m, a beam of 0.192 "
         "kg and 0.4 m, a "
         "hand of 0.048 kg and 0.1 m on 1 N m/rad, strain-proportional damping of 5 ms, a floor of 10 kN/m. Ends at "
         "the static sag, "
         "not at zero; deflections are large, so plant and inverse model share the statics of a linear beam "
         "(hil/plant/flexible_arm.py).")

SUBJECTS = (
    Subject("isobe-figs-1-3", "isobe", "Figs 1 to 3, 6", "Element, link, nodal forces, control system",
            isobe_method.method,
            "The paper draws them without numbers: those of the first link of the three-link arm are computed, with a "
            "nominal section.", ("femtorque elements mechanisms/three_link.toml upper",)),
    Subject("isobe-fig-4", "isobe", "Fig. 4", "Joint torques of an eight-link mechanism", isobe.eight_link,
            "The target trajectory is printed as a picture only: a seventh-order motion of 1.0 s is used. Links as "
            "uniform rods.",
            ("femtorque torque mechanisms/eight_link.toml mechanisms/eight_link.csv -o torque.csv [--backend c]",)),
    Subject("isobe-fig-5", "isobe", "Fig. 5", "Joint torques of a 6-DOF arm that carries 5.0 kg along a straight line",
            isobe.six_joints,
            "The arm is that of Vukobratovic and Potkonjak, whose numbers are not printed: an arm of the same kind is "
            "used, on a "
            "line that is straight, where the paper's is approximately so. Its curves can therefore not be laid over "
            "the paper's.",
            ("femtorque torque mechanisms/six_axis_line.toml mechanisms/six_axis_line.csv -o torque.csv",)),
    Subject("isobe-figs-7-8", "isobe", "Figs 7, 8 and the calculation time",
            "Control experiment on a three-link arm: PD against feed-forward + PD", isobe.three_link,
            "Neither the arm nor its motion is printed in numbers: a buildable arm is used. The plant is simulated; "
            "the image, "
            "its serial link and the host are the real ones. `make demo` also shows it at the paper's 10 ms.",
            ("femtorque hil run mechanisms/three_link.toml mechanisms/three_link.csv [--no-feedforward] [--fault F]",)),
    Subject("isobe-eq-16", "isobe", "Eq. 16", "Closed loops: PD, the paper's partition, the force at the cut",
            closed.closed_loops,
            "The paper states the partition of [L] into branches and shows no closed mechanism: seven are chosen. It "
            "leaves no "
            "force at the cut, so that its torques depend on where the loop is cut; completed, they do not.",
            ("femtorque hil run mechanisms/four_bar.toml mechanisms/four_bar.csv [--no-feedforward]",)),
    Subject("isobe-eq-16-modes", "isobe", "Eq. 16, changed in motion",
            "Grasp, carry and release; pick up; change of foot",
            closed.changing, "The paper has no such motion: two arms, a single one and a biped are chosen.",
            ("femtorque hil run mechanisms/two_arm_grasp.toml mechanisms/two_arm_grasp.csv",)),
    Subject("plexus-fig-1", "plexus", "Fig. 1", "Reduction of a solid into 4 nodal masses", plexus.reduction,
            "Nothing differs; thin solids, which the paper leaves out, are given a least thickness.",
            own_data=False),
    Subject("plexus-fig-2", "plexus", "Fig. 2", "Definition of a mechanism and of its surrounding elements", None,
            "a drawing, not a result: hil/plant/articulated/elements.py is what it draws"),
    Subject("plexus-flexible-arm", "plexus", "Fig. 3 in the text (not printed)",
            "Flexible arm with servo-controlled rotation",
            plexus.flexible_arm, "No numbers are printed: the beam is that of Tsujita et al., uniform."),
    Subject("plexus-fig-3", "plexus", "Fig. 3 (4 in the text)",
            "Manipulator with three axes of rotation: five solids, three motors",
            plexus.three_axes,
            "The paper prints a picture; the benchmark's data (Wittenburg and Wolz 1985) are not in it. Dimensions "
            "are chosen. "
            "The pedestal stands on the ground and the gripper is screwed on, so three solids move."),
    Subject("plexus-fig-4", "plexus", "Fig. 4 (5 in the text)",
            "Simulation of an industrial robot: motors and servos optimised",
            plexus.industrial_robot,
            "The paper prints a picture and no numbers: dimensions, objective and constraints are chosen and stated "
            "(hil/scenarios/industrial_robot.toml, hil/scenarios/design.py)."),
    Subject("plexus-plant", "plexus", "the explicit cycle", "Energy drift, order of convergence and real-time factor",
            plexus.accuracy, "The paper says that it was verified and prints nothing of it."),
    Subject("plexus-contact", "plexus", "mechanisms", "Contact of an arm that a board drives", None,
            "not a figure of the paper: `femtorque hil scenario push` has a board's arm push a box in MuJoCo; the "
            "arm at the wall (Tsujita, below) presses on it"),
    Subject("chapter-two-link", "chapter", "Two-link planar arm",
            "Newton-Euler, Lagrange's closed form and FEM side by side",
            chapter.two_link,
            "Nothing differs: the chapter prints formulas and no numbers, so masses and lengths are chosen.",
            ("femtorque torque mechanisms/two_link.toml mechanisms/two_link.csv -o torque.csv",), own_data=False),
    Subject("tsujita-slew", "tsujita", "what Figs 2 to 4 rest on", "The single flexible link, turned by 60 degrees",
            tsujita.slew,
            "Not a figure of the paper: its beam alone, with a point mass for the hand, where only the "
            "boundary-value motion is at stake.",
            ("femtorque plan mechanisms/flexible_link.toml WAYPOINTS -o motion.csv",)),
    Subject("tsujita-spin-up", "tsujita", "what Figs 2 to 4 rest on", "The same link spun up past its first frequency",
            tsujita.spin_up,
            "Not of the paper: the test by which Kane, Ryan and Banerjee (1987) showed that a turning beam stiffens."),
    Subject("tsujita-table-1", "tsujita", "Table 1", "Natural frequencies of link 2", None,
            "cannot be reproduced: the six printed frequencies followed from none of about 790 readings of the "
            "printed data; R_1, "
            "the split of the mass and the stiffness of joint 3 are not given."),
    Subject("tsujita-fig-2", "tsujita", "Fig. 2", "Force on the surface, t_f = 0.5 s", tsujita.force, _WALL,
            ("femtorque plan mechanisms/wall_arm.toml mechanisms/wall_arm_path.csv --ends static -o motion.csv",)),
    Subject("tsujita-board", "tsujita", "Fig. 2, by a board",
            "Force on the surface, a flash image in the place of ideal torques", pressing.board,
            "The paper drives its arm by the torques alone. Here a flash image does, through motors with "
            "friction, over encoders, and the arm goes down to the floor first and up from it afterwards. Knots "
            "carry no force, and the board's own torque is that of the arm without contact: the motion that it is "
            "streamed runs through the floor, so that its PD exerts what is missing, as is usual where arms under "
            "position control press. Most of the error is not the board's, since ideal torques with the same PD "
            "have it too: the plant's beam keeps its length and has twice the elements, the planned one is "
            "linear. Motors, friction, encoders and gains are chosen (mechanisms/wall_arm.toml)."),
    Subject("tsujita-fig-3", "tsujita", "Fig. 3", "Force error over the time of the motion",
            tsujita.force_error, _WALL),
    Subject("tsujita-path", "tsujita", "the printed path", "Force error along the path as printed, from (0.7, 0.7)",
            tsujita.printed_path,
            "Table 1 gives 0.400 m beside EI: read as the beam alone, with the hand beyond it, the arm reaches 1.0 m. "
            "The length of the hand (0.1 m here, 0.09 m at least), the split of the mass, the stiffness of joint 3, "
            "the damping and the contact law stay unprinted."),
    Subject("tsujita-fig-4", "tsujita", "Fig. 4", "Stick diagram of the manipulator", tsujita.sticks, _WALL),
)


GAPS = ("cannot be reproduced",)  # beginning of `differs` for a figure that is wanted but cannot be made


@dataclass(frozen=True)
class Reproduced:
    """A figure and its result, or None without a result."""

    subject: Subject
    finding: Finding | None
    seconds: float

    @property
    def status(self) -> str:
        if self.finding is None:
            gap = next((gap for gap in GAPS if self.subject.differs.startswith(gap)), None)
            return gap or "not a result"
        if not self.finding.good:
            return "NOT reproduced"
        return "reproduced in kind" if self.subject.own_data else "reproduced"

    def data(self) -> dict[str, Any]:
        """Return the figure's entry of the JSON object."""
        numbers = () if self.finding is None else self.finding.numbers
        return {
            "name": self.subject.name, "figure": self.subject.figure, "status": self.status,
            "differs": self.subject.differs,
            "numbers": [{"what": n.what, "found": n.found, "against": n.against, "good": n.good} for n in numbers]}


@dataclass(frozen=True)
class Reproduction:
    parts: tuple[Reproduced, ...]
    page: Path

    @property
    def good(self) -> bool:
        return all(part.finding is None or part.finding.good for part in self.parts)

    def data(self) -> dict[str, Any]:
        return {"page": self.page, "good": self.good, "subjects": [part.data() for part in self.parts]}

    def renderable(self) -> RichTable:
        table = RichTable(title=f"{self.page}", title_justify="left")
        for column in ("name", "figure", "status", "numbers that hold"):
            table.add_column(column, overflow="fold")
        for part in self.parts:
            numbers = [] if part.finding is None else [n for n in part.finding.numbers if n.good is not None]
            held = f"{sum(bool(n.good) for n in numbers)} of {len(numbers)}" if numbers else ""
            table.add_row(part.subject.name, part.subject.figure,
                          Text(part.status, style="red" if part.status.startswith("NOT") else ""), held)
        return table


def chosen(name: str | None) -> tuple[Subject, ...]:
    """Return all figures, the figures of one paper, or one figure. Raises BadInput for any other name."""
    found = tuple(s for s in SUBJECTS if name in (None, s.name, s.paper))
    if not found:
        raise BadInput("command line", "NAME", name, "is neither a figure nor a paper",
                       hint(str(name), names := [s.name for s in SUBJECTS] + [p.key for p in PAPERS], most=len(names)))
    return found


def reproduce(name: str | None = None, out: Path = Path("build") / "reproduce", *, short: bool = False,
              force: bool = False, on_progress: Callable[[str], None] = lambda line: None) -> Reproduction:
    """Make the figures and write the page into the folder `out`. short: short motions, few trials. Before any figure,
    raises BadInput if the page cannot be written."""
    subjects, parts = chosen(name), []
    page = _writable(out, force)
    count, made = sum(subject.make is not None for subject in subjects), 0
    for subject in subjects:
        began = time.monotonic()
        if subject.make is None:
            parts.append(Reproduced(subject, None, 0.0))
            continue
        made += 1
        with _heard(f"{made} of {count}: {subject.name}", on_progress):
            finding = subject.make(short)
        parts.append(Reproduced(subject, finding, time.monotonic() - began))
    write(tuple(parts), page, short)
    return Reproduction(tuple(parts), page)


@contextmanager
def _heard(what: str, on_progress: Callable[[str], None]) -> Iterator[None]:
    """Report the start of each figure, and its progress every BEAT seconds, because some figures take minutes."""
    began, done = time.monotonic(), threading.Event()

    def tell() -> None:
        while not done.wait(BEAT):
            on_progress(f"{what}: {time.monotonic() - began:.0f} s so far")

    on_progress(what)
    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _writable(out: Path, force: bool) -> Path:
    """Return the path of the page, after a check that the file can be opened for writing."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        claim(out / PAGE, page_of("reproduce"), force)
        check_place(out / PAGE)
        return out / PAGE
    except OSError as error:
        raise BadInput(out, "output", None, f"cannot be written: {error.strerror}") from None


def write(parts: tuple[Reproduced, ...], page: Path, short: bool) -> None:
    """Write one self-contained page."""
    papers = [(paper, [p for p in parts if p.subject.paper == paper.key]) for paper in PAPERS]
    shown = [p for p in papers if p[1]]
    title = "The four papers" if len(shown) == len(PAPERS) else shown[0][0].title
    if len(parts) == 1:
        title = parts[0].subject.title
    text = template("reproduce.html", "femtorque.hil.papers", page=True).render(papers=shown, short=short, title=title)
    write_text(page, text)
