"""Emitted C for torques at one instant: ft_rnea.h, ft_rnea.c and ft_units.h, for any rigid mechanism.

The C is for a user's controller. The functions compute tau(q, q', q'') and the torque that holds the weight at q, in
rad and m. Calls may come at any state and in any order. Open trees need no state between two calls. For closed loops,
the state is the last pose in which the loops were closed. The functions that start the step (ft_closed.c.j2) move the
loops from that pose to the next pose. The solution of the loops and the allocation of torques use the same code as the
step (step/closed.py). `generate --derivatives` adds the mass matrix, dtau/dq and dtau/dq' (step/derivatives.py)."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

from femtorque.codegen.common import Refused, template
from femtorque.codegen.emit.closed import angle
from femtorque.codegen.emit.step import angle_of
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.model import Assembly, Model, PassiveFriction, assemble, has_modes, in_mode
from femtorque.codegen.step import (
    HALF_TICK_OF_A_SECOND, Block, InstantTorque, InstantWeight, LoopStep, Members, Names, Printer, allocation, comment,
    derivatives_of, instant_of, literal, of_friction, provenance, unit_of, wrapped_c)

COS_SIN, WHOLE = 24, 16  # instructions of an exact sine and cosine, and of a conversion to an integer position
SOLUTIONS = 2  # assumed number of loop solutions if a call is near the last call
LOOP = {"r": "const ft_pair *r", "G": "const ft_real *G"}  # parameters for the loops' solution
NEAR = {"qd": "near->at.velocity", "qdd": "near->at.acceleration", "r": "near->loop.r", "G": "near->loop.G"}
CHECKED = 20  # instructions of one solution that check a dependent joint: three comparisons, and ft_led
COMPILED, COMPILED_LOOPS = 1.2, 1.6  # instructions of a Cortex-M4F divided by the graphs' operations
SLOPES = "ft_rnea_derivatives"
SPILLED = 1.1  # further ratio for SLOPES, because registers run out

INTRO = """
Outwards: angular velocity w and acceleration e of each link, and acceleration a of its joint's origin. Gravity is an
acceleration of the ground. A maps a vector r to e x r + w x (w x r). f and n are force and moment of the link's own
motion, about its joint. Inwards: S and N are force and moment of the joint's load. l_m is a link's first moment, h its
inertia times w. Vectors are in the frame of their joint, with z along its axis. Joints with parallel axes share one
frame. Endings: _s at the joint's origin in the parent body's frame, _f in the joint's frame before the joint's own
motion, _b in the body's own frame, _o about the beginning of a slide, _t about the joint's origin in the parent body's
frame, _neg with the opposite sign. turn and r are cosine and sine of a frame, l the vector to an origin, k a value that
is used twice. Units are s, N m and N.
""".strip()

ENDINGS = """ Derivatives of a value by position, velocity and acceleration of joint 1 end in _q1, _qd1 and _qdd1.
The derivative of torque 1 by a value ends in _tau1."""

LOOPS_LOST = """, or if a singular pose
 * is on the way of the loops from the last pose. A call far from the last pose
 * takes a solution of the loops for every 0.02 rad or m"""


@dataclass(frozen=True)
class Cost:
    """Instructions of one call on a Cortex-M4F, estimated from the graphs. tests/hil/chip/test_rnea.py verifies the
    estimate."""

    calls: dict[str, int]  # instructions of each public function
    solution: int = 0  # instructions of one loop solution, of which each call includes two; 0 in an open tree


@dataclass(frozen=True)
class Closed:
    """Closed loops, for the templates."""

    independent: list[tuple[int, int]]
    dependent: list[int]
    allocate: list[Block]
    uses_loop: bool
    tree: list[str]
    carries: list[tuple[int, int]]
    solution: int  # instructions of one solution


@dataclass(frozen=True)
class Unit:
    """One mode, or a mechanism without modes, for the templates."""

    m: str  # prefix of the names, in small letters and in capitals
    M: str
    mode: str
    number: int
    label: str
    rule: str
    functions: list[Function]
    field: str
    joints: str
    places: list[int]
    idle: list[int]
    loops: Closed | None  # None in an open tree
    cost: Cost


@dataclass(frozen=True)
class Context:
    """Context of ft_rnea.h.j2 and ft_rnea.c.j2.

    The fields from near to refusals are texts that the templates insert for closed loops and modes; otherwise ""."""

    name: str
    intro: list[str]
    units: list[Unit]
    moded: bool
    closed: bool
    carried: list[str]
    position_units: list[str]
    near: str
    with_near: str
    mode: str
    method: str
    refusals: str
    pointers: dict[str, str]
    mass: bool
    slopes: bool
    dry: bool
    rotors: list[str]
    friction: list[str]


@dataclass(frozen=True)
class Units:
    """Context of ft_units.h.j2."""

    name: str


@dataclass(frozen=True)
class Function:
    """The function of a tree's torques or of their derivatives, as the template needs it."""

    name: str
    public: str  # the function that calls this function
    given: list[str]  # parameters after the positions
    results: list[tuple[str, str]]  # arrays with their sizes
    what: str
    turns: list[list[str]]  # C lines that compute the rotating frames
    length: str  # unit inside the library, m
    blocks: list[Block]
    unused: list[str]  # parameters that the blocks do not use
    cost: int

    def from_near(self, *result: str) -> str:
        """Return the arguments in a mechanism with loops."""
        return ", ".join(["near->at.q", *(NEAR[name] for name in self.given), *result])


def render(model: Model, derivatives: bool = False) -> dict[str, str]:
    """Return {file name: text}, for use with the step's files.

    Flexible links are excluded, because their torque depends on the past. derivatives: include ft_mass, and without
    loops ft_rnea_derivatives. Raise Refused for derivatives in modes, and if more joints are driven than can move
    independently."""
    mechanism = model.mechanism
    modes, parts = _modes(mechanism), _units(mechanism, derivatives)
    carried = [joint for joint in mechanism.moving if joint not in mechanism.streamed]
    closed, moded, slopes = any(part.loops for part in parts), bool(modes), derivatives and not mechanism.loops
    context = Context(
        name=mechanism.name, intro=wrap((INTRO + ENDINGS * derivatives).replace("\n", " "), 76), units=parts,
        moded=moded, closed=closed,
        carried=[angle(joint.start, joint) for joint in carried] if modes else [],
        position_units=["m" if joint.type == "prismatic" else "rad" for joint in mechanism.streamed],
        near="ft_rnea_near *near, " if closed else "", with_near="near, " if closed else "",
        mode="uint32_t mode, " if moded else "",
        method=", with the forces at the cuts" if closed else "",
        refusals=(LOOPS_LOST if closed else "") + (", or for an unknown mode" if moded else ""),
        pointers=LOOP, mass=derivatives, slopes=slopes, dry=slopes and bool(PassiveFriction.of(model).coulomb.any()),
        rotors=[literal(joint.rotor) for joint in mechanism.streamed],
        friction=[_friction(joint) for joint in mechanism.streamed],
    )
    return {name: template(name).render(vars(context)) for name in ("ft_rnea.h", "ft_rnea.c")} | units(mechanism)


def units(mechanism: Mechanism) -> dict[str, str]:
    """Return ft_units.h, which converts rad and m to integer positions and back."""
    return {"ft_units.h": template("ft_units.h").render(vars(Units(mechanism.name)))}


def cost(model: Model, derivatives: bool = False) -> list[Cost]:
    """Return the instructions of one call in every mode."""
    return [unit.cost for unit in _units(model.mechanism, derivatives)]


def _friction(joint: Joint) -> str:
    """Return a joint's row of the friction table in ft_add_friction."""
    f = joint.friction
    return ", ".join(map(literal, (f.viscous, f.stribeck, f.stribeck_velocity or 1.0, f.load)))


def _modes(mechanism: Mechanism) -> list[str]:
    return [mode.name for mode in mechanism.modes] if has_modes(mechanism) else []


def _units(mechanism: Mechanism, derivatives: bool) -> list[Unit]:
    modes = _modes(mechanism)
    if modes and derivatives:
        raise Refused(f"{mechanism.name}: derivatives are emitted for mechanisms without modes; write a file for the "
                      "mode that you need, or use the Python API")
    return [_unit(mechanism, modes, number, derivatives) for number in range(max(1, len(modes)))]


def _unit(mechanism: Mechanism, modes: list[str], number: int, derivatives: bool) -> Unit:
    """Return one mode, or a mechanism without modes, for the templates."""
    model = Model.of(in_mode(mechanism, modes[number] if modes else None))
    assembly = assemble(model) if model.mechanism.constrained else None
    loop = LoopStep(assembly) if assembly else None
    shared: list[Members] = [turned.members for turned in loop.angles] if loop else []
    tree = ", of the open tree" if loop else ""
    prefix = f"m{number}_" if modes else ""
    joints = f"FT_{prefix.upper()}{'TREE_' if assembly or modes else ''}JOINTS"
    open_torque = [("tau", joints)]
    functions = [
        _function(instant_of(model, InstantTorque, shared), "motion", "ft_rnea", ["qd", "qdd"], open_torque,
                  "Torques of a motion" + tree),
        _function(instant_of(model, InstantWeight, shared), "weight", "ft_gravity", [], open_torque,
                  "Torques that hold weight and springs" + tree)]
    square, entries = "FT_JOINTS * FT_JOINTS", loop.entries if loop else []
    if derivatives:
        functions.append(_function(derivatives_of(model, ["m"], shared, entries), "inertia", "ft_mass", [],
                                   [("m", square)], "Mass matrix"))
    if derivatives and not mechanism.loops:
        functions.append(_function(
            derivatives_of(model, ["m", "jv", "jq"], shared), "slopes", SLOPES, ["qd", "qdd"],
            [("tau", "FT_JOINTS"), ("jq", square), ("jv", square), ("m", square)], "Torques and their derivatives"))
    names = [joint.name for joint in mechanism.streamed]
    whole = len(model.mechanism.streamed) * WHOLE
    costs = {f.public: f.cost + len(f.turns) * COS_SIN + whole for f in functions}
    closed, solution, checks = None, 0, 0
    if assembly and loop:
        checks = CHECKED * len(assembly.dependent)
        partition = mechanism.control.allocation == "partition"
        half = HALF_TICK_OF_A_SECOND / 2.0
        torques = allocation(assembly, loop.entries, half, partition)
        rubs = [comment(rows) for rows in of_friction(assembly, half)]
        solution = loop.graph.cost() + COS_SIN * len(loop.angles)
        costs = {name: one + torques.cost() * (name in ("ft_rnea", "ft_gravity")) + SOLUTIONS * solution
                 for name, one in costs.items()}
        names_of = Names({"G": "near->loop.", "velocity": "near->loop."})
        closed = _closed(mechanism, assembly, Printer(torques, names_of, provenance=rubs).blocks,
                         bool({"G", "velocity"} & torques.inputs()), solution)
    compiled = COMPILED_LOOPS if assembly else COMPILED
    return Unit(
        m=prefix, M=prefix.upper(), mode=modes[number] if modes else "", number=number,
        label="default:" if number + 1 == len(modes) else f"case {number}:",
        rule="-" * (66 - len(modes[number])) if modes else "",
        functions=functions, field=prefix.rstrip("_"), joints=joints,
        places=[names.index(joint.name) for joint in model.mechanism.streamed],
        idle=[k for k, name in enumerate(names) if name not in {j.name for j in model.mechanism.streamed}],
        loops=closed,
        cost=Cost({name: round(count * compiled * (SPILLED if name == SLOPES else 1.0) + SOLUTIONS * checks)
                   for name, count in costs.items()},
                  round(solution * compiled + checks)),
    )


def _closed(mechanism: Mechanism, assembly: Assembly, blocks: list[Block], uses_loop: bool,
            solution: int) -> Closed:
    names = [joint.name for joint in mechanism.streamed]
    carried = [joint.name for joint in mechanism.moving if joint not in mechanism.streamed]
    bodies = [body.joint.name for body in assembly.model.bodies]
    return Closed(
        independent=[(i, assembly.actuated.index(i)) for i in assembly.independent],
        dependent=list(assembly.dependent), allocate=blocks, uses_loop=uses_loop,
        tree=[f"near->carried[{carried.index(name)}]" if name in carried else f"whole[{names.index(name)}]"
              for name in bodies],
        carries=[(carried.index(name), i) for i, name in enumerate(bodies) if name in carried],
        solution=solution,
    )


def _function(step: InstantTorque, name: str, public: str, given: list[str], results: list[tuple[str, str]],
              what: str) -> Function:
    """Return a function of the C. given: parameters beside positions and the loops' solution."""
    model = step.model
    frames = {j: i for i, j in enumerate(step.turning)}
    printed = Printer(step.graph, Names(units=[unit_of(b.prismatic) for b in model.bodies], whole="at", frames=frames),
                      provenance=[comment(rows) for rows in provenance(step)])
    turns = [wrapped_c(f"turn[{i}] = ft_cos_sin({angle_of(step.tree, j, 'at')});") for j, i in frames.items()]
    read = step.graph.inputs()
    used = {"at" if array == "q" else array for array in read} | ({"at"} if turns else set())
    return Function(name, public, [*given, *(array for array in LOOP if array in read)], results, what, turns,
                    f"{step.length:.9g}", printed.blocks, [x for x in ("at", *given) if x not in used],
                    step.graph.cost())
