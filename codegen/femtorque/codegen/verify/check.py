"""Report of `femtorque check` on a mechanism: its data, as tables and for JSON, and warnings. The reader refuses a
mechanism file that is certainly wrong. This module warns about probable mistakes that the reader accepts. The module
also refuses mechanisms from which no C can be emitted, and gains with which the sampled loop is unstable.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.board import fieldbus, late_ticks, levels, load_board, on_pc
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.control import (
    DAMPING, MARGIN, Motor, Stability, constants, contact, continuous_torque, falls, heat_lasts, loop_stability,
    observer_gains, overweight, park_words, placed, resolved, sample_poses, stiffest_gains, weights)
from femtorque.codegen.drive import family_of
from femtorque.codegen.emit import board_header
from femtorque.codegen.mechanism import Gains, Joint, Limits, Mechanism, Safety, refuse, unmoved
from femtorque.codegen.model import (
    CLEAR, GROUND, SINGULAR as SINGULAR_POSE, Assembly, DrivenFriction, Later, Model, Motion, assemble, beyond_coulomb,
    flexible_tree, has_modes, in_mode, joint_springs, mass_matrix, stretches, supported, with_torsion)
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference import LOST, STEEPEST, Flexible, bending, flexible_mass_matrix, newton_euler
from femtorque.codegen.verify.bus_budget import BusLoad, ages, bus_loads
from femtorque.codegen.verify.motion_torques import SAG, SMALL, steep
from femtorque.codegen.verify.plausible import doubts
from femtorque.codegen.verify.without_hardware import pc_words

DRIVE_HZ, DRIVE_OBSERVER_HZ = 10_000, 300.0  # minimum rate of a drive's loop and of its velocity estimate, Hz
UNSTABLE = 1.0 + 1e-4  # spectral radius; joints without gains drift, and have double eigenvalues at one
SINGULAR = 1e-9  # minimum ratio of the smallest to the largest eigenvalue of the mass matrix, scaled to a unit diagonal
LIMITS = tuple(f.name for f in fields(Limits))
NEAR_SINGULAR = CLEAR * SINGULAR_POSE
START_OFF = 1e-3  # tolerance for the rounded start of a redundantly actuated joint, rad or m
SETTLED = 1e-4  # step below which the iteration to the static sag ends: m or m sqrt(kg), rad
SHOWN = 2  # modes of flexible links
FASTEST = 1.5  # fastest rotation in the comparisons with exact chains, divided by a flexible link's lowest frequency
_ELECTRICAL = (1e-5, 0.1)  # range of electrical time constants, from coreless motors to large servo motors, s
FAR_BELOW, LITTLE = 0.03, 0.2  # ratio to the stiffest ku; ratio to critical damping
TINY = 1e-12  # fraction of the stiffest ku; a smaller ku counts as zero
COARSE = 0.2  # maximum torque that one encoder count may cause through Kv, relative to a joint's effort


@dataclass(frozen=True)
class BeamMode:
    """A vibration of a mechanism at its start, with locked motors: undamped frequency, Hz, and ratio to critical
    damping.
    """

    hz: float
    damping: float

    def __str__(self) -> str:
        return f"{self.hz:.4g} Hz, {self.damping:.2%} of critical damping"


@dataclass(frozen=True)
class Report:
    """Findings of a check. stability, rule: empty if there are no motors or gains."""

    mechanism: Mechanism
    lead: int
    assemblies: tuple[tuple[str, Assembly], ...]
    stability: Stability | None
    rule: dict[str, Gains]
    warnings: tuple[str, ...]
    safety: Safety
    falls: tuple[str, ...]
    halt: tuple[str, ...]
    levels: tuple[str, ...]
    silence: tuple[str, ...]
    loads: tuple[str, ...]
    buses: tuple[BusLoad, ...] = ()
    beams: tuple[BeamMode, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return the data for --json. Infinite limits become null."""
        m, c = self.mechanism, self.mechanism.control
        loop = None
        if self.stability is not None:
            loop = {"spectral_radius": self.stability.radius, "rate_gain": self.stability.rate_gain,
                    "stable": self.stability.radius <= UNSTABLE,
                    "worst_pose": dict(zip([j.name for j in with_torsion(m).moving], self.stability.pose.tolist(),
                                           strict=True))}
        names = [j.name for j in m.moving]
        return {
            "name": m.name,
            "file": str(m.source) if m.source else None,
            "gravity": m.gravity.tolist(),
            "control": {"rate_hz": c.rate_hz, "knot_hz": c.knot_hz, "scheme": c.scheme,
                        "observer_hz": c.observer_hz},
            "board": None if m.board is None else {"use": m.board.use, "bus_voltage": m.board.bus_voltage,
                                                   "pwm_hz": m.board.pwm_hz, "lead": self.lead},
            "links": [{"name": x.name, "mass": x.mass, "com": x.com.tolist(), "inertia": x.inertia.tolist()}
                      for x in m.links],
            "payloads": [{"name": p.name, "link": p.link, "mass": p.mass} for p in m.payloads],
            "joints": [_joint_data(m, j) for j in m.joints],
            "moving": names,
            "streamed": [j.name for j in m.streamed],
            "assembly": _assembly_data(self.assemblies[0][1]) if m.constrained and not has_modes(m) else None,
            "modes": {name: _assembly_data(a) for name, a in self.assemblies} if has_modes(m) else {},
            "mass": sum(x.mass for x in m.links) + sum(p.mass for p in m.payloads),
            "loop": loop,
            "stiffest_gains": {k: {"ku": g.ku, "kv": g.kv} for k, g in self.rule.items()},
            "safety": asdict(self.safety),
            "falls": list(self.falls),
            "halt": list(self.halt),
            "levels": list(self.levels),
            "silence": list(self.silence),
            "loads": list(self.loads),
            "buses": [bus.data for bus in self.buses],
            "beam_modes": [asdict(mode) for mode in self.beams],
            "warnings": list(self.warnings),
        }


def examine(mechanism: Mechanism, trajectories: Sequence[Trajectory] = ()) -> Report:
    """Return the report on a mechanism and on motions of it.

    Raise BadInput for unstable gains, and for an unsuitable board.
    """
    warnings = [*mechanism.warnings, *doubts(mechanism)]
    buses = bus_loads(mechanism)
    lead = _board(mechanism, warnings)
    late = lead + fieldbus.told_late(mechanism) + late_ticks(mechanism)  # ticks from a measurement to its effect
    try:
        supported(mechanism)
    except BadInput as error:
        warnings.append(f"{error.key}: {error.rule}")
    if has_modes(mechanism):
        models = [(mode.name, Model.of(in_mode(mechanism, mode.name))) for mode in mechanism.modes]
    else:
        models = [("", Model.of(in_mode(mechanism)))]
    # raises an error for loops that do not close, and for joints that no actuated joint holds
    assemblies = tuple((name, assemble(model)) for name, model in models)
    for name, assembly in assemblies:
        _loops(name, assembly, warnings)
    for trajectory in trajectories:
        _motion(mechanism, trajectory, warnings)
        if mechanism.flexible:
            _bent(models[0][1], trajectory, warnings)
    if mechanism.flexible:
        _bending(models[0][1], warnings)
        _whirling(models[0][1], warnings)
    joint_springs(models[0][1])  # raises an error for a C_mot that has no stiffness to scale
    _drives(mechanism, warnings)
    _rotors(mechanism, warnings)
    warnings += ([] if on_pc(mechanism) else fieldbus.uncut(mechanism)) + fieldbus.off_supply(mechanism)
    stability: Stability | None = None
    stiffest: dict[str, Gains] = {}
    rule: dict[str, Gains] = {}
    has_gains = any(j.gains.ku or j.gains.kv for j in mechanism.moving)
    driven = any(j.motor for j in mechanism.moving) or has_gains
    if driven and all(_regular(model, warnings) for _, model in models):
        for _, model in ((name, _where_closed(model)) for name, model in models):
            stiffest = _softer(stiffest, stiffest_gains(model, late))
            found = loop_stability(model, late) if has_gains else None
            if found is not None and (stability is None or found.radius > stability.radius):
                stability = found
        stiffest |= {joint.name: joint.gains for joint in mechanism.streamed if fieldbus.held(joint)}  # by their P
        rule = _fitting(mechanism, stiffest)
        _soft(mechanism, stiffest, rule, warnings)
        if stability is not None:
            _gains(mechanism, stability, rule, warnings)
            _overlay(mechanism, late)
    if not mechanism.constrained and not has_modes(mechanism):
        _homing(models[0][1], warnings)
    weak = _weak(mechanism, warnings)
    loads = tuple(_loads(mechanism, weak, warnings))
    touches = _touches(mechanism, warnings)
    return Report(mechanism, lead, assemblies, stability, rule, tuple(warnings),
                  resolved(mechanism), (*falls(mechanism, weak), *park_words(mechanism), *touches),
                  tuple(_halt(mechanism)), tuple(levels(mechanism)),
                  (*(pc_words(mechanism) or fieldbus.left_alone(mechanism)), *fieldbus.set_by_owner(mechanism),
                   *ages(mechanism)), loads, buses,
                  tuple(_beam_modes(models[0][1])))


def _softer(a: dict[str, Gains], b: dict[str, Gains]) -> dict[str, Gains]:
    """For each joint, return the smaller of its gains in two modes."""
    return {name: Gains(*(min(getattr(g[name], key) for g in (a, b) if name in g) for key in ("ku", "kv")))
            for name in a | b}


def _motion(mechanism: Mechanism, trajectory: Trajectory, warnings: list[str]) -> None:
    """Warn about a motion's poses near singular poses, and about passive joints that leave their limits."""
    dt, source = 1.0 / mechanism.control.knot_hz, trajectory.source.name if trajectory.source else "the motion"
    ticks = round(trajectory.duration / dt)
    at_knots = replace(mechanism, control=replace(mechanism.control, rate_hz=mechanism.control.knot_hz))
    parts: list[tuple[Model, Motion, float, int]]
    if has_modes(mechanism):
        parts = [(p.model, Later(trajectory, p.first * dt, p.places), p.first * dt, p.ticks)
                 for p in stretches(at_knots, trajectory.modes, ticks)]
    else:
        parts = [(Model.of(mechanism), trajectory, 0.0, ticks)]
    for model, motion, begin, count in parts:
        if not model.mechanism.loops:
            continue
        t = np.arange(count + 1) * dt
        q = np.asarray(motion.at(t)[0], float)
        near = dict(zip([j.name for j in model.mechanism.streamed], q[0], strict=True)) if mechanism.modes else None
        assembly = assemble(model, near)
        try:
            full = assembly.follow(q)
        except Refused as error:
            warnings.append(f"{source}: {error}: a fault on the board")
            continue
        margin = assembly.margin(full)
        k = int(np.argmin(margin))
        if margin[k] < NEAR_SINGULAR:
            warnings.append(f"{source}: at t = {begin + t[k]:.3f} s it is {margin[k]:.2g} from a singular pose (1 is "
                            f"far, {SINGULAR_POSE:g} a fault)")
        for i in assembly.passive:
            joint = model.bodies[i].joint
            over = np.maximum(full[:, i] - joint.limits.upper, joint.limits.lower - full[:, i])
            k = int(np.argmax(over))
            if over[k] > 1e-6:
                warnings.append(f"{source}: at t = {begin + t[k]:.3f} s the passive joint {joint.name} is at "
                                f"{full[k, i]:.4g}, outside its limits {joint.limits.lower:g} .. "
                                f"{joint.limits.upper:g}")


# ---- findings


def _board(mechanism: Mechanism, warnings: list[str]) -> int:
    """Return the lead of the board, ticks.

    The mechanism may have no motors yet. Raise BadInput if the board cannot drive the mechanism.
    """
    if mechanism.board is None:
        return 0
    board = load_board(mechanism.board.use, mechanism.source or mechanism.name)
    driven = [j for j in mechanism.streamed if j.actuated]
    lacking = [f"joint.{j.name}.{part}" for part in ("motor", "encoder") for j in driven
               if j.drive is None and getattr(j, part) is None]
    if board.outputs and lacking:
        bare = ", ".join(j.name for j in driven if unmoved(mechanism, j))
        warnings.append(f"board {board.name} cannot drive it yet: {', '.join(lacking[:6])} "
                        f"{'is' if len(lacking) == 1 else 'are'} missing"
                        + (f"; where a loop alone moves a joint ({bare}), write actuated = false" if bare else ""))
        return board.lead
    board_header.render(mechanism, board)
    constants.render(mechanism, board)
    return board.lead


def _loops(mode: str, assembly: Assembly, warnings: list[str]) -> None:
    """Warn about probable mistakes in the assembled loops. The loops of a mode must close at the pose where a motion
    enters the mode."""
    model = assembly.model
    margin = float(assembly.margin(assembly.start))
    if assembly.dependent and not mode and margin < NEAR_SINGULAR:
        warnings.append(f"the start is near a singular pose: {margin:.2g} of the way from one (0) to the farthest (1), "
                        f"{SINGULAR_POSE:g} is a fault: "
                        "forces at the cuts are large there")
    for i in assembly.redundant:
        joint, found = model.bodies[i].joint, assembly.start[i]
        if not mode and abs(found - joint.start) > START_OFF:
            warnings.append(f"joint.{joint.name}.start = {joint.start:g}: the loops close at {found:.6g}, where the "
                            "other actuated joints put it")
    if assembly.passive and model.mechanism.control.allocation == "partition":
        left = passive_torque(assembly)
        told = ", ".join(f"{name} {value:.3g}" for name, value in left.items())
        warnings.append('control.allocation = "partition" leaves the cuts without force, for comparison only: at the '
                        f"start it asks for torques that passive joints cannot give ({told})")


def passive_torque(assembly: Assembly) -> dict[str, float]:
    """Return the open tree's torques at the passive joints, at rest in the assembled pose.

    As these joints have no motor, other torques must balance it.
    """
    still = np.zeros(assembly.model.n)
    tau = newton_euler(assembly.model, assembly.start, still, still)
    return {assembly.model.bodies[i].joint.name: float(tau[i]) for i in assembly.passive}


def _bending(model: Model, warnings: list[str]) -> None:
    """Warn about links and springs whose deflections at rest are large."""
    step, moving = Flexible(model), model.mechanism.moving
    q = np.array([moving[j].start for j in step.driven])
    z = step.sag(q)
    if np.abs(step.unsettled(q, z)).max(initial=0.0) > SETTLED:
        warnings.append("bending parts find no rest at the start: they are too soft for their load")
        return
    for k, j in enumerate(step.springs):
        stretch = z[k] - moving[j].rest
        if moving[j].type != "prismatic" and abs(stretch) > STEEPEST:
            warnings.append(f"joint.{moving[j].name}: its spring deflects by {stretch:.2g} rad at the start; it is "
                            f"computed up to {STEEPEST:.2g}")
    tips = step.dynamics.phi @ z[len(step.springs):]
    for i, planes in step.layout.tips.items():
        steepest = max(abs(float(tips[tip.start + 1])) for tip in planes.values())
        if steepest > SAG:
            warnings.append(f"link.{step.tree.pieces[i].tip.name}.beam: its tip hangs at a slope of {steepest:.2g} at "
                            f"the start; beyond {SAG:g} {SMALL}")


def _bent(model: Model, trajectory: Trajectory, warnings: list[str]) -> None:
    """Warn about links and springs whose deflections in a motion are large."""
    source = trajectory.source.name if trajectory.source else "the motion"
    if not trajectory.starts_at_rest:
        return
    found = bending(model, trajectory, round(trajectory.duration / model.dt))
    for bent in found:
        far = "" if bent.most < LOST else " and more"
        if bent.most > STEEPEST:
            warnings.append(f"{source}: {bent.key} bends by {bent.most:.2g} rad{far} at t = {bent.at:.3f} s; "
                            f"it is computed up to {STEEPEST:.2g}, and the torques are invalid")
    warnings += steep(found, trajectory)


def _beam_modes(model: Model) -> list[BeamMode]:
    """Return the lowest vibration modes of flexible links, with locked motors."""
    if not any(link.beam for link in model.mechanism.links):
        return []
    tree = flexible_tree(model.mechanism)
    joints = tree.mechanism.moving
    M, K, C = flexible_mass_matrix(model, np.array([joint.start for joint in joints]))
    bends = np.ix_(*2 * [[*(k for k, joint in enumerate(joints) if joint.elastic), *range(len(joints), len(K))]])
    squares, shapes = _vibrations(K[bends], M[bends])
    omega = np.sqrt(squares)
    damped = np.einsum("ik,ij,jk->k", shapes, C[bends], shapes) / (2.0 * omega)
    return [BeamMode(float(w) / (2.0 * math.pi), float(d)) for w, d in list(zip(omega, damped, strict=True))[:SHOWN]]


def _vibrations(K: NDArray[np.float64], M: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return omega^2 (N,), ascending, and shapes X (N, N) with K X = M X omega^2 and X' M X = 1."""
    L = np.linalg.cholesky(M)
    squares, turned = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, K).T))
    return squares, np.linalg.solve(L.T, turned)


def _whirling(model: Model, warnings: list[str]) -> None:
    """Warn about flexible links whose limits allow rotations faster than in the comparisons."""
    tree = flexible_tree(model.mechanism)
    joints = tree.mechanism.moving
    q = np.array([joint.start for joint in joints])
    M, K, _ = flexible_mass_matrix(model, q)
    n = len(joints)
    lowest = float(np.sqrt(_vibrations(K[n:, n:], M[n:, n:])[0][0])) if len(K) > n else np.inf
    for i in tree.beams:
        velocity, at = 0.0, tree.pieces[i].parent
        while at != GROUND:
            piece = tree.pieces[at]
            if piece.joint in tree.driven and not piece.prismatic:
                velocity += joints[piece.mover].limits.velocity
            at = piece.parent
        if np.isfinite(velocity) and velocity > FASTEST * lowest:
            warnings.append(f"link.{tree.pieces[i].tip.name}.beam: the joints' limits let it turn at {velocity:.3g} "
                            f"rad/s, {velocity / lowest:.2g} times its lowest frequency of {lowest:.3g} rad/s; its "
                            f"tension was compared with an exact chain up to {FASTEST:g} times")


def _drives(mechanism: Mechanism, warnings: list[str]) -> None:
    """Warn about motors, encoders and friction, joint by joint."""
    for joint in mechanism.moving:
        key, motor = f"joint.{joint.name}", joint.motor
        sprung = joint.type != "prismatic" and not joint.elastic and (joint.stiffness or joint.c_mot)
        if sprung and max(-joint.limits.lower, joint.limits.upper) > math.pi:
            warnings.append(f"{key} has a spring and no limits within half a turn of zero: the chip knows no whole "
                            "turns and would take the spring's short way round")
        if not joint.actuated and not joint.elastic and not joint.mimic and not mechanism.loops:
            warnings.append(f"{key} is not actuated and in no closed loop: nothing makes it follow a trajectory")
        if joint.drive is not None and not family_of(joint.drive.type).keeps:
            warnings.append(f"{key}.drive does not say whether it has kept its zero: after each power-up "
                            "`home` must give its position")
        elif joint.drive is not None and not placed(joint, joint.drive):
            warnings.append(f"{key}.limits, {joint.limits.lower:.4g} .. {joint.limits.upper:.4g}, contain places a "
                            f"turn of its drive apart, {2.0 * joint.drive.half_turn:.3g} rad: after each power-up "
                            "`home` must give its position")
        if motor is None:
            continue
        if motor.kind != "brushed":
            warnings.append(f"{key}.motor.kind = {motor.kind}: no board here commutates; it needs its own drive")
        if not _ELECTRICAL[0] <= motor.L / motor.R <= _ELECTRICAL[1]:
            warnings.append(f"{key}.motor: L/R = {motor.L / motor.R:.2g} s, where motors have {_ELECTRICAL[0]:g} to "
                            f"{_ELECTRICAL[1]:g}: is L in henry and R in ohm?")
        there = Motor.of(mechanism, joint)
        if there.no_load < joint.limits.velocity < math.inf:
            warnings.append(f"{key}.limits.velocity = {joint.limits.velocity:g}: the motor runs at most "
                            f"{there.no_load:.4g} without load")
        if there.effort < joint.limits.effort == math.inf:
            warnings.append(f"{key}.limits.effort is not given: torque is limited by the motor alone, "
                            f"{there.effort:.4g} at stall")
        if joint.encoder is None and joint.drive is None:
            warnings.append(f"{key} has a motor but no encoder: it cannot be controlled")
        elif joint.gains.ku == 0.0:
            warnings.append(f"{key} has a motor but no gains.ku: nothing holds it in place; see stiffest ku and kv")
        else:
            _resolution(mechanism, joint, warnings)
        if joint.friction.coulomb == 0.0:
            warnings.append(f"{key}.friction.coulomb is 0: dry friction will not be fed forward; "
                            "'femtorque identify' measures it")


def _rotors(mechanism: Mechanism, warnings: list[str]) -> None:
    """Warn about drives whose rotor inertia is not in the file, one line per type. The rotor inertia is often larger
    than the links' inertia."""
    kinds: dict[str, list[Joint]] = {}
    for joint in mechanism.streamed:
        if joint.drive is not None and _rotorless(joint):
            kinds.setdefault(joint.drive.type.name, []).append(joint)
    for kind, joints in kinds.items():
        published = joints[0].drive.type.inertia if joints[0].drive else 0.0
        mend = f"{published:g} is published of {kind}" if published else (
            f"nothing is published of {kind}, `femtorque identify` measures it")
        warnings.append(f"joint.{joints[0].name}.drive.inertia{_and_more(joints)} is missing: torques and gains "
                        f"assume a rotor without mass; {mend}")


def _rotorless(joint: Joint) -> bool:
    return joint.drive is not None and joint.drive.servo is None and not joint.drive.inertia


def _and_more(joints: Sequence[Joint]) -> str:
    """Return text that mentions the joints after the first."""
    return f" (and of {len(joints) - 1} more joints)" if len(joints) > 2 else (
        f" (and of {joints[1].name})" if len(joints) == 2 else "")


def _resolution(mechanism: Mechanism, joint: Joint, warnings: list[str]) -> None:
    """Warn about an encoder whose single count causes a large torque through the observer and Kv."""
    dt = 1.0 / mechanism.control.rate_hz
    counts = joint.encoder.counts if joint.encoder is not None else (
        family_of(joint.drive.type).places.turn if joint.drive is not None else 0)
    turn = 2.0 * math.pi / counts
    if joint.encoder is not None and joint.encoder.at == "motor" and joint.motor is not None:
        turn /= abs(joint.motor.gear)
    if joint.drive is not None:
        turn /= joint.drive.gear
    torque = joint.gains.kv * observer_gains(mechanism.control.observer_hz, dt)[1] / dt * turn + joint.gains.ku * turn
    if math.isfinite(joint.limits.effort) and torque > COARSE * joint.limits.effort:
        key = "encoder.counts" if joint.encoder else "drive"
        warnings.append(f"joint.{joint.name}.{key} = {counts}: one count makes a torque of "
                        f"{torque:.3g}, more than {COARSE:.0%} of limits.effort; lower control.observer_hz or "
                            "the gains")


def _regular(model: Model, warnings: list[str]) -> bool:
    """Return True if the mass matrix can be inverted at every sampled pose."""
    if model.mechanism.constrained:
        return True  # a different check already finds this motion without inertia
    masses = mass_matrix(model, sample_poses(model))
    diagonal = np.sqrt(np.maximum(np.diagonal(masses, axis1=-2, axis2=-1), 0.0))
    for i, body in enumerate(model.bodies):
        if np.any(diagonal[:, i] < 1e-9):
            warnings.append(f"joint.{body.joint.name}: nothing resists its motion in some pose: no inertia about its "
                            "axis; a motor's rotor inertia or a body with thickness would")
            return False
    scaled = masses / (diagonal[:, :, None] * diagonal[:, None, :])
    if np.min(np.linalg.eigvalsh(scaled)) < SINGULAR:
        warnings.append("the mass matrix is singular in some pose: two joints move the same mass in the same way")
        return False
    return True


def _gains(mechanism: Mechanism, stability: Stability, rule: dict[str, Gains], warnings: list[str]) -> None:
    """Refuse gains with which the sampled loop is unstable. Warn about gains with less than a quarter of the gain
    margin."""
    if stability.radius > UNSTABLE:
        joint = max(mechanism.streamed, key=lambda j: max(j.gains.ku / rule[j.name].ku, j.gains.kv / rule[j.name].kv))
        fit = rule[joint.name]
        pose = ", ".join(f"{q:.3g}" for q in stability.pose[:8])
        refuse(mechanism, f"joint.{joint.name}.gains", None,
                f"the sampled loop is unstable at {mechanism.control.rate_hz} Hz: spectral radius "
                f"{stability.radius:.4g} at pose ({pose})",
               f"ku = {fit.ku:g}, kv = {fit.kv:g} have gain margin {MARGIN:g}"
               + ("; or give its drive.inertia, without which its rotor has no mass" if _rotorless(joint) else ""))
    for joint in mechanism.streamed:
        g, fit = joint.gains, rule[joint.name]
        if g.ku > 1.5 * fit.ku or g.kv > 1.5 * fit.kv:
            warnings.append(f"joint.{joint.name}.gains: above the stiffest with gain margin {MARGIN:g}, "
                            f"ku = {fit.ku:g}, kv = {fit.kv:g}")
        if g.ku > 0.0 and g.kv == 0.0 and not fieldbus.held(joint):
            warnings.append(f"joint.{joint.name}.gains.kv is 0: nothing damps the joint")


def _soft(mechanism: Mechanism, stiffest: dict[str, Gains], rule: dict[str, Gains], warnings: list[str]) -> None:
    """Warn about gains far below the stiffest gains, or with little damping.

    Often a mass, rotor or gear was changed after these gains were chosen. stiffest: the stiffest gains with damping
    DAMPING. rule: these gains, limited to the ranges of the drives' fields.
    """
    soft: list[tuple[Joint, float]] = []
    for joint in mechanism.streamed:
        g, fit, held = joint.gains, stiffest[joint.name], rule[joint.name]
        if not (g.ku > 0.0 and fit.ku > 0.0 and fit.kv > 0.0):
            continue
        damped = DAMPING * g.kv / fit.kv / math.sqrt(max(g.ku / fit.ku, TINY))
        if g.ku < FAR_BELOW * held.ku or 0.0 < damped < LITTLE:
            soft.append((joint, damped))
    if soft:
        (first, damped), g = soft[0], soft[0][0].gains
        most, more = rule[first.name], _and_more([joint for joint, _ in soft])
        warnings.append(f"joint.{first.name}.gains{more}: ku = {g.ku:g}, kv = {g.kv:g} are far below the stiffest, "
                        f"ku = {most.ku:.3g}, kv = {most.kv:.3g}, and damp what it moves by {damped:.2g} of "
                        "critical: it is soft, or oscillates; were they made before a mass, a rotor or a gear was "
                        "changed?")


def _fitting(mechanism: Mechanism, rule: dict[str, Gains]) -> dict[str, Gains]:
    """Return the gains, limited to the ranges of the drives' fields."""
    most = {j.name: j.drive.at_joint for j in mechanism.streamed
            if j.drive is not None and j.drive.pd == "drive" and not fieldbus.held(j)}
    return {name: replace(g, ku=min(g.ku, most[name].kp), kv=min(g.kv, most[name].kd)) if name in most else g
            for name, g in rule.items()}


def _where_closed(model: Model) -> Model:
    """If the drives close all loops, return the model with the drives' loop rate and velocity filter. If the board
    closes a loop, return the model unchanged.
    """
    driven = [j for j in model.mechanism.streamed if j.actuated]
    if not all(j.drive is not None and j.drive.pd == "drive" for j in driven):
        return model
    control = replace(model.mechanism.control, rate_hz=DRIVE_HZ, observer_hz=DRIVE_OBSERVER_HZ)
    return replace(model, mechanism=replace(model.mechanism, control=control), dt=1.0 / DRIVE_HZ)


def _overlay(mechanism: Mechanism, lead: float) -> None:
    """Refuse a gain overlay whose largest value can make the sampled loop unstable."""
    most = mechanism.safety.gain_overlay[1]
    if most <= 1.0:
        return

    def raised(joint: Joint) -> Joint:
        g = joint.gains
        return replace(joint, gains=replace(g, ku=most * g.ku, kv=most * g.kv, ki=most * g.ki))

    louder = replace(mechanism, joints=tuple(map(raised, mechanism.joints)))
    radius = loop_stability(Model.of(louder), lead).radius
    if radius > UNSTABLE:
        refuse(mechanism, "safety.gain_overlay", list(mechanism.safety.gain_overlay),
                f"with all gains times {most:g} the sampled loop is unstable: spectral radius {radius:.4g}",
                "lower its most, or the gains")


def _homing(model: Model, warnings: list[str]) -> None:
    """Warn about a joint that is too weak to search for its zero against gravity at the start."""
    joints = model.mechanism.moving
    sought = [i for i, j in enumerate(joints) if j.encoder is not None and j.encoder.zero in ("index", "stop")]
    if not sought:
        return
    pose, still = np.array([[j.start for j in joints]]), np.zeros((1, len(joints)))
    weight = np.abs(newton_euler(model, pose, still, still)[0])
    for i in sought:
        effort = constants.lab_row(model.mechanism, joints[i]).seek_torque
        dry = float(DrivenFriction.of([joints[i]]).at_rest(weight[[i]])[0])
        if weight[i] + dry > effort:
            warnings.append(f"joint.{joints[i].name}.home.effort = {effort:.3g} does not carry the joint where it "
                            f"starts: gravity and friction ask for {weight[i] + dry:.3g}")


def _halt(mechanism: Mechanism) -> list[str]:
    """Return a line about a debugger that halts the board's processor. The line names the motors that continue to run,
    and how long they do so."""
    if mechanism.board is None or on_pc(mechanism) or not any(j.motor or j.drive for j in mechanism.streamed):
        return []
    board = load_board(mechanism.board.use, mechanism.source or mechanism.name)
    timers = board.running_on if any(j.motor and not j.drive for j in mechanism.streamed) else []
    drives, own = fieldbus.endless(mechanism), fieldbus.drives(mechanism)
    going = [*([f"the motors of {timers[0]} to {timers[-1]} at their last duty"] if timers else []),
             *([f"{', '.join(drives)} at the last command, as no time limit of theirs is sure"] if drives else [])]
    who = f"a debugger that halts the processor of board {board.name}"
    if not going:
        return [f"{who} stops its outputs" + ("; its drives stop by their own time limits" if own else "")]
    return [f"{who} leaves {' and '.join(going)}, until the watchdog resets it, some "
            f"{board_header.watchdog_s(mechanism.control.rate_hz):g} s later; never halt it while they have power"]


def _weak(mechanism: Mechanism, warnings: list[str]) -> set[str]:
    """Warn about joints that cannot hold against gravity everywhere in their ranges. Return the names of these
    joints."""
    driven = {j.name: j for j in mechanism.streamed if j.actuated and (j.motor or j.drive)}
    efforts = {name: constants.joint_constants(mechanism, j).effort for name, j in driven.items()}
    found = overweight(mechanism, efforts)
    for name, load in found.items():
        unit = "N" if driven[name].type == "prismatic" else "N m"
        pose = ", ".join(f"{joint} {q:.2f}" for joint, q in list(load.pose.items())[:8])
        pose += f" (mode {load.mode})" if load.mode else ""
        what = (f"limits.effort = {driven[name].limits.effort:g}" if efforts[name] == driven[name].limits.effort else
                f"{'drive' if driven[name].drive else 'motor'}: {efforts[name]:.3g} {unit} at most")
        warnings.append(f"joint.{name}.{what} does not hold it everywhere in the ranges: gravity asks for "
                        f"{load.torque:.3g} {unit} at {pose}; take a stronger motor, or narrower limits")
    return set(found)


def _loads(mechanism: Mechanism, weak: Collection[str], warnings: list[str]) -> list[str]:
    """Return words for the peak and continuous torque of every motor on a board.

    Warn if gravity alone overheats a motor.
    """
    if mechanism.board is None:
        return []
    board = load_board(mechanism.board.use, mechanism.source or mechanism.name)
    lines: list[str] = []
    untold: list[str] = []
    weight = weights(mechanism)
    for joint in (j for j in mechanism.streamed if j.motor and j.actuated):
        peak = constants.joint_constants(mechanism, joint).effort
        unit = "N" if joint.type == "prismatic" else "N m"
        good = continuous_torque(joint, board)
        if math.isinf(good):
            untold.append(f"{joint.name} {peak:.4g} {unit}")
            continue
        lasts = heat_lasts(joint, board, peak)
        held = "for good" if math.isinf(lasts) else f"for {lasts:.3g} s from cold"
        lines.append(f"{joint.name}: peak {peak:.4g} {unit} {held}, continuous {min(good, peak):.4g} {unit}")
        if weight.get(joint.name, 0.0) > good and joint.name not in weak:
            warnings.append(f"joint.{joint.name}.motor.continuous: gravity alone asks for up to "
                            f"{weight[joint.name]:.3g} {unit}, and {good:.3g} {unit} is continuous: held there it "
                            "ends in OVERLOAD")
    if untold:
        lines.append("no motor.continuous is given: these are taken to give their peak torque for good: "
                     + ", ".join(untold))
    return lines


def _touches(mechanism: Mechanism, warnings: list[str]) -> list[str]:
    """Return words for the smallest torque that counts as a contact at each joint.

    Warn about thresholds that are within encoder noise.
    """
    if mechanism.feel is None or contact.unfelt(mechanism):
        return []
    said = []
    rows = [constants.joint_constants(mechanism, joint) for joint in mechanism.streamed]
    for joint, row, noise in zip(mechanism.streamed, rows, contact.noises(mechanism, rows), strict=True):
        at, unit = contact.threshold(joint, row.effort, noise).torque, "N" if joint.type == "prismatic" else "N m"
        said.append(f"{joint.name} {at:.3g} of {row.effort:.3g} {unit}")
        still = joint.contact is not None and not (joint.contact.velocity or joint.contact.acceleration)
        if still and at < contact.OF_NOISE * noise:
            warnings.append(f"joint.{joint.name}.contact.torque = {at:g} is less than {contact.OF_NOISE:g} times the "
                            f"noise of the encoders' steps in motion, {noise:.3g} {unit}: false touches will be "
                            f"reported; make it larger, or feel.bandwidth_hz lower")
    back = [] if mechanism.feel.reaction != "return" else [
        f"a touch makes the arm give way; it goes back after {contact.QUIET_S:g} s without one, each joint within its "
        "limits; obstacles on the way are not seen"]
    return [f"at rest a touch is felt from: {', '.join(said)}", *back]


# ---- plain data


def _number(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _assembly_data(a: Assembly) -> dict[str, Any]:
    names = [body.joint.name for body in a.model.bodies]
    return {
        "mobility": a.mobility,
        "actuated": [names[i] for i in a.actuated], "passive": [names[i] for i in a.passive],
        "independent": [names[i] for i in a.independent], "redundant": [names[i] for i in a.redundant],
        "equations": [a.row_name(row) for row in a.kept], "dropped": [a.row_name(row) for row in a.dropped],
        "start": dict(zip(names, a.start.tolist(), strict=True)),
        "residual": float(np.max(np.abs(a.residual(a.start)), initial=0.0)), "margin": float(a.margin(a.start)),
        "passive_torque": passive_torque(a),
    }


def _joint_data(mechanism: Mechanism, j: Joint) -> dict[str, Any]:
    plain = {"name": j.name, "type": j.type, "parent": j.parent, "child": j.child, "axis": j.axis.tolist(),
             "start": j.start, "actuated": j.actuated, "locked": mechanism.lock.get(j.name),
             "limits": {k: _number(getattr(j.limits, k)) for k in LIMITS},
             "friction": vars(j.friction) if beyond_coulomb(j) else {"viscous": j.friction.viscous,
                                                                     "coulomb": j.friction.coulomb},
             "gains": {"ku": j.gains.ku, "kv": j.gains.kv, "ki": j.gains.ki},
             "motor": None, "encoder": None, "drive": None}
    if j.drive is not None:
        plain["drive"] = {"type": j.drive.type.name, "bus": j.drive.bus, "id": j.drive.id, "sign": j.drive.sign,
                          "gear": j.drive.gear}
    if j.motor is not None:
        plain["motor"] = {"R": j.motor.R, "L": j.motor.L, "K": j.motor.K, "gear": j.motor.gear,
                          "inertia": j.motor.inertia, "channel": j.motor.channel, "sign": j.motor.sign}
        if mechanism.board is not None:
            plain["motor"]["stall_effort"] = Motor.of(mechanism, j).stall
    if j.encoder is not None:
        plain["encoder"] = {"counts": j.encoder.counts, "at": j.encoder.at, "zero": j.encoder.zero}
    return plain


