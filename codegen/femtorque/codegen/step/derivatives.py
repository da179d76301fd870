"""Derivatives of torques at one instant: the graph of `InstantTorque` is differentiated operation by operation.

    m = dtau/dq''    jv = dtau/dq'    jq = dtau/dq

A forward sweep carries derivatives of all values by one joint, and gives a column of a matrix. A reverse sweep carries
derivatives of one torque by all values, and gives a row of every matrix. Both sweeps leave out zeros. The sweep with
fewer instructions is taken. m is symmetric, so only half of m is swept, from the inner joint outwards.

Mimic joints and closed loops have G: velocities G v of all joints follow from the velocities v of the streamed joints,
and G' tau are the streamed joints' torques. G is constant for mimic joints. In closed loops G varies with the pose, and
m = G' m_tree G needs no derivative of G. jq and jv would need this derivative. They are left out with closed loops."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from femtorque.codegen.common import Refused, remembered
from femtorque.codegen.model import Model, PassiveFriction, assemble
from femtorque.codegen.reference import determined
from femtorque.codegen.step.base_parameters import arrange
from femtorque.codegen.step.closed import DRY
from femtorque.codegen.step.frames import Members, tidy
from femtorque.codegen.step.graph import Expr, Function, Graph, Op, Store
from femtorque.codegen.step.instant import InstantTorque
from femtorque.codegen.step.search import instant_of

Column = Mapping[int, Expr]  # joint: its velocity per velocity of one streamed joint
Slopes = dict[int, Expr]  # index of a node: a derivative
Entry = tuple[str, int, int, Expr]  # result, row, column, value
BY = {"m": "qdd", "jv": "qd", "jq": "q"}  # result: the input of its columns
DRY_SLOPE = Function("ft_dry_slope", "ft_real", cost=8)


@dataclass(frozen=True)
class Torques:
    """Torques of a graph before derivatives are added.

    nodes: operands stand before their results. tau: torques of all joints. calls: for the result of a call, by its
    index, the argument and the derivative by the argument."""

    graph: Graph
    nodes: tuple[Expr, ...]
    tau: tuple[Expr, ...]
    calls: Mapping[int, tuple[Expr, Expr]]

    @staticmethod
    def of(step: InstantTorque) -> "Torques":
        """Return the torques, with the friction of passive joints, and take their stores out of the graph."""
        graph = step.graph
        tau = {place.index: e for place, e in graph.stored().items()}
        calls = {}
        friction = PassiveFriction.of(step.model)
        for j in friction.joints:
            velocity = graph.input("qd", j)
            scaled = graph.const(1.0 / float(friction.width[j])) * velocity
            (share,), (slope,) = graph.call(DRY, f"dry{j + 1}", scaled), graph.call(DRY_SLOPE, f"slope{j + 1}", scaled)
            calls[share.index] = scaled, slope
            tau[j] = tau[j] + graph.const(friction.viscous[j]) * velocity + graph.const(friction.coulomb[j]) * share
        graph.statements = [s for s in graph.statements if not isinstance(s, Store)]
        return Torques(graph, tuple(graph.nodes), tuple(tau[j] for j in sorted(tau)), calls)

    def forward(self, inputs: Slopes, mark: str) -> Slopes:
        """Return the derivatives of all values in one direction. inputs: derivatives of the inputs."""
        found = dict(inputs)
        for e in self.nodes:
            slope = dot(self.graph, found, ((a.index, by) for a, by in self._partials(e)))
            if not slope.is_zero:
                found[e.index] = self._bound(slope, e, mark)
        return found

    def reverse(self, torques: Slopes, mark: str) -> Slopes:
        """Return the derivatives of one sum by all values. torques: derivatives of the sum by the torques."""
        found = dict(torques)
        for e in reversed(self.nodes):
            if e.index in found:
                slope = found[e.index] = self._bound(found[e.index], e, mark)
                for a, by in self._partials(e):
                    add(found, a, by * slope)
        return found

    def _bound(self, slope: Expr, e: Expr, mark: str) -> Expr:
        return self.graph.bind(slope, f"{e.name}_{mark}") if e.name else slope

    def _partials(self, e: Expr) -> Sequence[tuple[Expr, Expr]]:
        """Return the operands of a value, each with the derivative of the value by it."""
        if not isinstance(e, Op):
            return [self.calls[e.index]] if e.index in self.calls else []
        one = self.graph.const(1.0)
        match e.op, e.args:
            case "add", (a, b):
                return [(a, one), (b, one)]
            case "sub", (a, b):
                return [(a, one), (b, -one)]
            case "mul", (a, b):
                return [(a, b), (b, a)]
            case "neg", (a,):
                return [(a, -one)]
        return [(e.args[0], -(e * e))]  # inverse


def add(found: Slopes, e: Expr, more: Expr) -> None:
    """Add to the derivative of a value."""
    found[e.index] = found[e.index] + more if e.index in found else more


def dot(graph: Graph, found: Slopes, factors: Iterable[tuple[int, Expr]]) -> Expr:
    """Return the sum of derivatives times factors."""
    return sum((by * found[at] for at, by in factors if at in found), graph.const(0.0))


def derivatives_of(model: Model, results: Sequence[str], shared: Sequence[Members] = (),
                   entries: Sequence[tuple[int, int]] = ()) -> InstantTorque:
    """Return the step whose graph stores these results (keys of BY), row by row, and tau unless only m is wanted. Its
    frames are the frames of the cheapest torques. entries: of G in closed loops (closed.py). Raises Refused if more
    joints are driven than can move independently. Raises Refused for jq and jv of closed loops."""
    return min((derived(instant_of(model, InstantTorque, shared), results, reverse, entries)
                for reverse in (False, True)), key=lambda step: step.graph.cost())


@remembered
def plain_derivatives(model: Model) -> InstantTorque:
    """Return the step with all derivatives, without any search."""
    return derived(InstantTorque(model, arrange(model)), tuple(BY), True)


def derived(step: InstantTorque, results: Sequence[str], reverse: bool,
            entries: Sequence[tuple[int, int]] = ()) -> InstantTorque:
    """Replace the torques of a step by derivatives, and return the step. reverse: by reverse sweeps."""
    torques, graph = Torques.of(step), step.graph
    columns = _columns(step, entries)
    rows = [_row(torques, column) for column in columns]
    if tuple(results) != ("m",):
        _refuse_loops(step.model)
        graph.block("Torques")
        for k, column in enumerate(columns):
            graph.output("tau", k, dot(graph, dict(enumerate(torques.tau)), column.items()))
    inputs = {result: [_inputs(step, BY[result], column) for column in columns] for result in results}
    names = [joint.name for joint in step.model.mechanism.streamed]
    for result, row, at, value in (_by_rows if reverse else _by_columns)(torques, inputs, rows, names):
        if result != "m" or (row <= at if reverse else row >= at):
            for place in sorted({(row, at), (at, row) if result == "m" else (row, at)}):
                graph.output(result, len(columns) * place[0] + place[1], value)
    return step


def _by_columns(torques: Torques, inputs: Mapping[str, list[Slopes]], rows: list[Slopes],
                names: list[str]) -> Iterator[Entry]:
    """Sweep forward, in a block for each matrix and joint."""
    for at, name in enumerate(names):
        for result, columns in inputs.items():
            torques.graph.block(f'Column of "{name}", by {BY[result]}')
            found = torques.forward(columns[at], f"{BY[result]}{at + 1}")
            yield from ((result, row, at, dot(torques.graph, found, rows[row].items())) for row in range(len(rows)))


def _by_rows(torques: Torques, inputs: Mapping[str, list[Slopes]], rows: list[Slopes],
             names: list[str]) -> Iterator[Entry]:
    """Sweep in reverse, in a block for each joint."""
    for row, name in enumerate(names):
        torques.graph.block(f'Row of "{name}"')
        found = torques.reverse(rows[row], f"tau{row + 1}")
        yield from ((result, row, at, dot(torques.graph, found, column.items()))
                    for result, columns in inputs.items() for at, column in enumerate(columns))


def _row(torques: Torques, column: Column) -> Slopes:
    """Return the derivatives of a streamed joint's torque by the torques of all joints."""
    row: Slopes = {}
    for j, share in column.items():
        add(row, torques.tau[j], share)
    return row


def _columns(step: InstantTorque, entries: Sequence[tuple[int, int]]) -> list[Column]:
    """Return G by columns, one for every streamed joint."""
    graph, model = step.graph, step.model
    one = graph.const(1.0)
    if not model.mechanism.constrained:
        return [{j: one} for j in range(model.n)]
    assembly = determined(assemble(model))
    if model.mechanism.loops:
        G = {(assembly.dependent[d], k): graph.input("G", e) for e, (d, k) in enumerate(entries)}
    else:
        whole = assembly.velocity_matrix(assembly.start)
        G = {(j, k): graph.const(tidy(float(whole[j, k]))) for j in assembly.dependent
             for k in range(assembly.mobility) if tidy(float(whole[j, k]))}
    free = [assembly.independent.index(i) for i in assembly.actuated]
    return [{i: one} | {j: x for (j, other), x in G.items() if other == k}
            for i, k in zip(assembly.actuated, free, strict=True)]


def _inputs(step: InstantTorque, by: str, column: Column) -> Slopes:
    """Return the derivatives of the graph's inputs by a streamed joint's position, velocity or acceleration."""
    graph = step.graph
    slopes = {e.index: column[place.index] for place, e in graph.places.items()
              if place.array == by and place.index in column}
    for place, e in list(graph.places.items()):
        if by == "q" and place.array == "turn":
            turn = dot(graph, dict(column), ((i, graph.const(step.tree.bodies[i].sign))
                                             for i in step.tree.members(place.index)))
            across = graph.input("turn", place.index, "s" if place.part == "c" else "c") * turn
            slopes[e.index] = -across if place.part == "c" else across
    return {at: slope for at, slope in slopes.items() if not slope.is_zero}


def _refuse_loops(model: Model) -> None:
    if model.mechanism.loops:
        names = ", ".join(loop.name for loop in model.mechanism.loops)
        raise Refused(f"{model.mechanism.name}: derivatives by positions and velocities are not formed for closed "
                      f"loops ({names}); the mass matrix is")
