"""Limits of emission. A mechanism that cannot be emitted is refused, and the error names the cause."""

from femtorque.codegen.mechanism import Mechanism, Mode, refuse
from femtorque.codegen.model.modes import has_modes, in_mode
from femtorque.codegen.model.tree_of_pieces import flexible_tree
from femtorque.codegen.wire import MODES

JOINTS = 254  # maximum number of links; messages have one byte for a link's number, and 255 means no link


def supported(mechanism: Mechanism) -> None:
    """Raise BadInput that names the cause if no step can be emitted for a mechanism."""
    if len(mechanism.moving) > JOINTS:
        refuse(mechanism, "joint", len(mechanism.moving), f"at most {JOINTS} joints may move on one board", "lock some")
    if len(mechanism.modes) > MODES:
        refuse(mechanism, "mode", len(mechanism.modes), f"at most {MODES} modes fit a knot")
    for mode in mechanism.modes:
        _mode(mechanism, mode)
    if mechanism.flexible:
        _flexible(mechanism)


def _mode(mechanism: Mechanism, mode: Mode) -> None:
    """Refuse a mode whose root is not held, and a mode with joints that no motor or loop moves."""
    alone = in_mode(mechanism, mode.name)
    loose = [joint.name for joint in alone.moving if not joint.actuated]
    if loose and not alone.constrained and (mechanism.loops or mode.passive):
        refuse(mechanism, f"mode.{mode.name}", None, f"closes no loop, and nothing moves {', '.join(loose)} then",
                "close a loop that does, or give it a motor")
    if mode.ramp_s and alone.constrained and loose:
        refuse(mechanism, f"mode.{mode.name}.ramp_s", mode.ramp_s, f"passive joints ({', '.join(loose)}) need the "
                "forces at the cuts at once", "leave it out")


def _flexible(mechanism: Mechanism) -> None:
    """Refuse mechanisms for which the step of flexible links is not implemented."""
    tree = flexible_tree(mechanism)
    names = [tree.pieces[i].tip.name for i in tree.beams] + [tree.mechanism.moving[j].name for j in tree.springs]
    bending = f"what bends ({', '.join(names)})"
    for loop in mechanism.loops:
        refuse(mechanism, f"loop.{loop.name}", None, f"closed loops are not computed with {bending}", "make it rigid")
    for joint in mechanism.moving:
        if joint.mimic:
            refuse(mechanism, f"joint.{joint.name}.mimic", joint.mimic.joint,
                   f"mimic joints are not computed with {bending}", "make it rigid, or lock the joint")
    if mechanism.control.scheme != "nodal":
        refuse(mechanism, "control.scheme", mechanism.control.scheme, f"{bending} has no printed step", "leave it out")
    if has_modes(mechanism):
        refuse(mechanism, f"mode.{mechanism.modes[0].name}", None, f"modes are not computed with {bending}",
               "make it rigid")


