"""The identification experiment for a whole arm. The motions are planned, played slowly as a rehearsal, and then played
at full speed. The fit does not use the last motion, which tests the result."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array, BadInput, hint
from femtorque.codegen.control import Motors
from femtorque.codegen.mechanism import BASE, Mechanism, Payload
from femtorque.host.board import Board
from femtorque.host.lab.inertial.excitation import Excitation, base_columns, excite, ranges, sweep
from femtorque.host.lab.inertial.fitting import Found, Judged, check_motion, doubt_file, fit, fit_rows
from femtorque.host.lab.inertial.friction import fit_friction
from femtorque.host.lab.inertial.payload import Weighed, difference, weigh as told_apart
from femtorque.host.lab.inertial.recording import Recording, Stops, approach, play, record
from femtorque.host.lab.inertial.regressor import OF_JOINT, PARTS, Unknowns, solid_of
from femtorque.host.lab.inertial.touches import MARGIN, Touch, Watched, propose, rest, watching
from femtorque.host.link import COLUMNS

REHEARSAL = 0.25  # of the planned speed
MOTIONS = 2  # number of motions for the fit; a slow motion is added. The test uses one more motion and a slow motion
DENSITY = 1000.0  # default for an unknown payload: density, kg/m^3, and mass as a fraction of the arm's mass
GUESS = 0.05
GUESSED = 0.01  # weight of a payload's values before the fit: they are a guess, and the recordings decide

NO_BETTER = "The file explains the unseen motion as well as these numbers do, so they are not written."

BEYOND = {"stribeck": "more at rest (Stribeck)", "stribeck_velocity": "half of it at", "load": "with the load"}

FREE = Stops()
Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Programme:
    """Motions of one identification."""

    unknowns: Unknowns
    columns: NDArray[np.int64]
    base: Array
    motions: tuple[Excitation, ...]  # motions for the fit, in order
    unseen: tuple[Excitation, ...]  # motions for the test; empty for a payload
    joints: tuple[int, ...] | None = None  # indices of the joints to be recorded; None means all joints


@dataclass(frozen=True)
class Result:
    """Identified numbers, with their errors in a test motion that the fit did not use. judged: torque that the old and
    the new numbers leave unexplained in the test motion; None for a payload."""

    found: Found
    judged: Judged | None
    unseen: tuple[Recording, ...]
    watched: Watched = field(default_factory=Watched)  # the board's reports

    @property
    def better(self) -> bool:
        """Return True if the new numbers explain the test motion better than the file's numbers do. Also return True
        for a payload."""
        if self.judged is None:
            return True
        return bool(np.nanmean((self.judged.after / self.judged.before) ** 2) < 1.0)

    @cached_property
    def touches(self) -> tuple[Touch, ...]:
        """Return contact thresholds for the identified numbers. Empty if the file has no [feel]."""
        found = self.found
        if self.judged is None:
            return ()
        return propose(found.unknowns, found.values if self.better else found.unknowns.prior, self.watched)

    def solids(self) -> list[dict[str, Any]]:
        """Return for each link or payload its numbers before and after the fit, and the largest change in standard
        deviations. Also name the numbers that the motions do not determine."""
        rows, found = [], self.found
        for k, solid in enumerate(found.unknowns.solids):
            own = slice(10 * k, 10 * k + 10)
            mass, com, inertia = solid_of(found.values[own])
            was = solid.source
            centre = np.column_stack([-com, np.eye(3)]) / mass  # derivatives with respect to mass and first moments
            first = found.covariance[own, own][:4, :4]
            sigmas = np.abs(found.values[own] - found.prior.phi[k]) / found.deviation[own]
            rows.append({
                "name": solid.name,
                "mass": {"before": was.mass, "after": mass, "interval": 1.96 * float(found.deviation[10 * k])},
                "com": {"before": was.com.tolist(), "after": com.tolist(),
                        "interval": (1.96 * np.sqrt(np.diag(centre @ first @ centre.T))).tolist()},
                "inertia": {"before": was.inertia.tolist(), "after": inertia.tolist()},
                "sigmas": float(sigmas.max()),
                "not_seen": [p for p, seen in zip(PARTS, found.seen[own], strict=True) if not seen]})
        return rows

    def joints(self) -> list[dict[str, Any]]:
        """Return for each joint its identified numbers with the half-widths of 95 % intervals, and its residuals."""
        rows, found = [], self.found
        streamed, first = found.unknowns.space.whole.streamed, 10 * len(found.unknowns.solids)
        for k, j in enumerate(found.unknowns.joints):
            own = slice(first + len(OF_JOINT) * k, first + len(OF_JOINT) * (k + 1))
            names = zip(OF_JOINT, found.unknowns.prior[own], found.values[own], found.deviation[own], found.seen[own],
                        strict=True)
            row: dict[str, Any] = {"name": streamed[j].name} | {
                name: {"before": float(was), "after": float(now), "interval": 1.96 * float(half), "seen": bool(seen)}
                for name, was, now, half, seen in names}
            row |= self._beyond(j) | {"misfit": asdict(found.misfits[j])}
            if self.judged is not None:
                row["residual"] = {"before": float(self.judged.before[j]), "after": float(self.judged.after[j]),
                                   "of": float(self.judged.motion[j])}
            rows.append(row)
        return rows

    def _beyond(self, joint: int) -> dict[str, Any]:
        """Return a joint's identified friction other than viscous and Coulomb friction."""
        found, row = self.found, dict[str, Any]()
        file = found.unknowns.space.whole.streamed[joint].friction
        for k, term in enumerate(found.unknowns.terms, found.unknowns.plain):
            if term.joint == joint:
                row[term.part] = {"before": float(found.unknowns.prior[k]), "after": float(found.values[k]),
                                  "interval": 1.96 * float(found.deviation[k]), "seen": True}
                if term.slow:
                    row["stribeck_velocity"] = {
                        "before": file.stribeck_velocity, "after": term.slow,
                        "interval": 1.96 * float(found.slow[k - found.unknowns.plain]), "seen": True}
        return row

    def data(self) -> dict[str, Any]:
        values, deviations = self.found.base_values()
        names = [self.found.names[c] for c in self.found.columns]
        return {"links": self.solids(), "joints": self.joints(), "gamma": self.found.gamma, "better": self.better,
                "touches": [asdict(touch) for touch in self.touches],
                "base": [{"name": n, "value": float(v), "interval": 1.96 * float(d)}
                         for n, v, d in zip(names, values, deviations, strict=True)]}

    def words(self) -> str:
        lines = []
        for row in self.solids():
            said = (f"{row['name']}: {row['mass']['before']:.4g} -> {row['mass']['after']:.4g} +- "
                    f"{row['mass']['interval']:.2g} kg, centre {_millimetres(row['com']['before'])} -> "
                    f"{_millimetres(row['com']['after'])} +- {_millimetres(row['com']['interval'])} mm")
            if row["not_seen"]:
                said += f"; not determined alone, so near the file: {', '.join(row['not_seen'])}"
            lines.append(said)
        for row in self.joints():
            said = (f"{row['name']}: viscous {_changed(row['viscous'])}, Coulomb {_changed(row['coulomb'])}, rotor "
                    f"{_changed(row['rotor'])}")
            said += "".join(f", {name} {_changed(row[part])}" for part, name in BEYOND.items() if part in row)
            if missing := [name for part, name in BEYOND.items() if part not in row and part != "stribeck_velocity"]:
                said += f"; not seen: {' and '.join(missing)}"
            if left := row.get("residual"):
                said += f"; unexplained of an unseen motion {left['before']:.3g} -> {left['after']:.3g} rms"
            if row["misfit"]["cause"]:
                said += (f"; the model does not fit, and the intervals are {row['misfit']['factor']:.1f} times wider: "
                         f"perhaps {row['misfit']['cause']}")
            lines.append(said)
        if not self.better:
            lines.append(NO_BETTER)
        for touch in self.touches:
            contact = touch.contact
            lines.append(f"{touch.joint}: felt at most {touch.after:.3g} without contact ({touch.before:.3g} with the "
                         f"file's numbers); a touch is {contact.torque:.3g}, {contact.velocity:.3g} more per velocity, "
                         f"{contact.acceleration:.3g} per acceleration: twice its dry friction plus {MARGIN:g} times "
                         "the rest of what was felt")
        lines.append("+-: 95 %, if the file's R, L, K, gear and bus voltage, or the drive's torque, are right: a "
                     "strong motor on a heavy arm and a weak one on a light arm move alike. " + (
                         "The arm's errors in the file are included" if self.judged is None else
                         "A link's own numbers depend on the file, which is taken to be right within 20 %; base "
                         "parameters of --json hardly do"))
        return "\n".join(lines)


def _millimetres(point: list[float]) -> str:
    return "(" + ", ".join(f"{1e3 * x:.1f}" for x in point) + ")"


def _changed(number: dict[str, float]) -> str:
    return (f"{number['before']:.3g} -> {number['after']:.3g} +- {number['interval']:.2g}"
            f"{'' if number['seen'] else ' (not seen)'}")


def whole(mechanism: Mechanism, given: Ranges) -> Programme:
    """Return the programme that identifies all links and joints. Raises BadInput and Refused as `Unknowns.of` and
    `excite` do."""
    unknowns = Unknowns.of(mechanism)
    within = ranges(unknowns.space.joints, given)
    columns, base = base_columns(unknowns, within)
    motions = [excite(unknowns, within, columns, seed) for seed in range(1, MOTIONS + 2)]
    slow = [sweep(unknowns, within, columns, seed) for seed in (1, 2)]
    return Programme(unknowns, columns, base, (*motions[:-1], slow[0]), (motions[-1], slow[1]))


def payload(mechanism: Mechanism, name: str, link: str | None, given: Ranges, weighed: float = 0.0) -> Programme:
    """Return the programme that identifies the file's payload, or a new payload on `link` (by default the last link).
    Only the joints with the largest torques from the payload
    are recorded. weighed: mass of a new payload, kg, for `weigh`; then all joints are recorded."""
    names = [x.name for x in mechanism.links]
    if link is not None and link not in names or link == BASE:
        raise BadInput("identify", "--on", link, "no such link", hint(str(link), names, "links"))
    known = next((x for x in mechanism.payloads if x.name == name), None)
    if known is not None and weighed:
        raise BadInput("identify", "--payload", name, "is in the file already", "give another name")
    if known is not None and link not in (None, known.link):
        raise BadInput("identify", "--on", link, f"payload {name!r} is on {known.link}", "give another name")
    if known is None or known.mass <= 0.0:
        where = next(x for x in reversed(mechanism.links) if x.name == (link or (known.link if known else names[-1])))
        mass = weighed or GUESS * sum(x.mass for x in mechanism.links)
        inertia = 0.4 * mass * (mass / (DENSITY * 4.0 / 3.0 * np.pi)) ** (2.0 / 3.0) * np.eye(3)
        known = Payload(name, where.name, mass, where.com, inertia)
    others = tuple(x for x in mechanism.payloads if x.name != name)
    unknowns = Unknowns.of_payload(replace(mechanism, payloads=(*others, known)), known)
    within = ranges(unknowns.space.joints, given)
    columns, base = base_columns(unknowns, within)
    motion = excite(unknowns, within, columns)
    moves = unknowns.space.motion(unknowns.space.start, *(unknowns.space.unstreamed(x) for x in motion.trajectory.at(
        np.linspace(0.0, motion.trajectory.duration, 200))))
    efforts = Motors.of(mechanism).effort
    felt = np.linalg.norm((unknowns.matrix(moves) * unknowns.prior).sum(axis=2) / efforts[None], axis=0)
    most = tuple(sorted(int(j) for j in np.argsort(-felt)[:COLUMNS]))
    return Programme(unknowns, columns, base, (motion,), (), None if weighed else most)


def identify(board: Board, mechanism: Mechanism, programme: Programme,
             on_step: Callable[[str], None] = lambda what: None, stops: Stops = FREE) -> Result:
    """Play the programme, move back to the arm's first position, and fit the numbers. Raises the same Refused as
    streaming, and if the user stopped the arm."""
    board.arm()
    begin, first = board.session.held(), programme.motions[0].trajectory
    approach(board, first.positions[0], stops)
    on_step(f"rehearsal at {REHEARSAL:.0%} of the speed")
    play(board, first, stops, REHEARSAL)
    takes: list[Recording] = []
    unseen: list[Recording] = []
    with watching(board.session) as watched:
        for number, motion in enumerate(programme.motions, 1):
            on_step(f"motion {number}")
            takes += record(board, mechanism, motion.trajectory, stops, programme.joints)
        for motion in programme.unseen:
            on_step("a motion to judge by")
            unseen += record(board, mechanism, motion.trajectory, stops, programme.joints)
        on_step("back")
        approach(board, begin, stops)
        if mechanism.feel is not None and programme.unseen:
            on_step("at rest, to see what is felt without contact")
            rest(board.session)
    if unseen:
        found = fit_friction(programme.unknowns, takes, unseen, programme.columns, programme.base)
    else:
        found = doubt_file(fit(programme.unknowns, takes, programme.columns, programme.base, GUESSED), takes)
    return Result(found, found.left(unseen) if unseen else None, tuple(unseen), watched)


def weigh(board: Board, mechanism: Mechanism, programme: Programme, fix: Callable[[], None],
          on_step: Callable[[str], None] = lambda what: None, stops: Stops = FREE) -> Weighed:
    """Measure the motors' torques by a known weight. Raises the same Refused as `_passes` and `difference`."""
    source = programme.unknowns.solids[0].source
    assert isinstance(source, Payload)
    return told_apart(mechanism, source, *_passes(board, mechanism, programme, fix, on_step, stops))


def compare(board: Board, mechanism: Mechanism, programme: Programme, fix: Callable[[], None],
            on_step: Callable[[str], None] = lambda what: None, stops: Stops = FREE) -> Result:
    """Identify a payload by the difference of two passes, so that the arm's numbers in the file have no effect. Raises
    the same Refused as `_passes`, `difference` and `fit`."""
    rows = difference(programme.unknowns, *_passes(board, mechanism, programme, fix, on_step, stops))
    check_motion(programme.unknowns, rows, programme.joints or ())
    return Result(fit_rows(programme.unknowns, rows, programme.columns, programme.base, GUESSED), None, ())


def _passes(board: Board, mechanism: Mechanism, programme: Programme, fix: Callable[[], None],
            on_step: Callable[[str], None], stops: Stops) -> list[list[Recording]]:
    """Record a motion without the payload. Stop at the first position, and call `fix`, which returns once the user has
    attached the payload. Then record the motion again. Raises the same Refused as `identify`."""
    board.arm()
    begin, motion = board.session.held(), programme.motions[0].trajectory
    takes: list[list[Recording]] = []
    for number, what in enumerate(("without the payload", "with the payload")):
        if number:
            fix()
        approach(board, motion.positions[0], stops)
        on_step(f"rehearsal {what} at {REHEARSAL:.0%} of the speed")
        play(board, motion, stops, REHEARSAL)
        on_step(what)
        takes.append(record(board, mechanism, motion, stops, programme.joints))
        on_step("back")
        approach(board, begin, stops)
    return takes
