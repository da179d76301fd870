"""The parameters that the numbers of an emitted step are made of, by link: what the C says of them in its comments."""

from __future__ import annotations

from femtorque.codegen.common.elementary import square
from femtorque.codegen.model.bodies import Model
from femtorque.codegen.model.loop_assembly import assemble
from femtorque.codegen.step.closed import LoopStep
from femtorque.codegen.step.flexible import FlexibleStep
from femtorque.codegen.step.made_of import Parameter, made_of, of_links, of_pieces
from femtorque.codegen.step.search import step_of


def parameters(model: Model) -> dict[str, tuple[Parameter, ...]]:
    """Of every link that moves, by name, (name, value, unit, origin, number) rows. Modes: model of one of them."""
    if model.mechanism.flexible:
        step = FlexibleStep(model)
        return dict(zip((piece.name for piece in step.tree.pieces), of_pieces(step), strict=True))
    if model.scheme == "newmark":
        rows = of_links(model, 1.0 / square(model.dt))
    else:
        closed = model.mechanism.constrained
        rows = made_of(step_of(model, [a.members for a in LoopStep(assemble(model)).angles] if closed else ()))
    return dict(zip((body.joint.child for body in model.bodies), rows, strict=True))
