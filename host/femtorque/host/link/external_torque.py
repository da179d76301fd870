"""External torques in the board's reports (FELT), and the wrench on a link that explains them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, Refused
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference import Wrench, place, wrench_torque
from femtorque.codegen.wire import FELT_TOUCHED, Felt
from femtorque.host.link.session import Session

WEAK = 0.02  # fraction of the largest singular value: directions of a wrench with smaller values count as unknown


@dataclass(frozen=True)
class Feeling:
    """External torques in one report. external (J,): torque, N m or N. mean (J,): mean torque over about half a second.
    threshold (J,): deviation from the mean that counts as a contact. touched: True during a contact. joint: joint of
    the last contact; '' before the first contact. touches: number of contacts since reset; wraps. way: AWAY, BACK or
    STAYS of FELT_TOUCHED; '' if the arm does not react."""

    external: Array
    mean: Array
    threshold: Array
    touched: bool
    joint: str
    touches: int
    way: str = ""


def feeling(session: Session) -> Feeling:
    """Return the last report. Raises Refused without [feel], or before the first report."""
    felt = session.felt
    if felt is None:
        raise Refused(f"{session.link.port}: the board reports no external torques: add a [feel] table to its "
                      "mechanism file, build and flash it")
    return Feeling(np.array(felt.external), np.array(felt.mean), np.array(felt.threshold), lasts(felt),
                   session.joint(felt.joint) if felt.touches else "", felt.touches, way(felt))


def lasts(felt: Felt) -> bool:
    return bool(felt.touched & FELT_TOUCHED["TOUCH"][0])


def way(felt: Felt) -> str:
    """Return the phase of the reaction to a contact: AWAY, BACK or STAYS of FELT_TOUCHED; '' without a contact."""
    return next((name for name in ("AWAY", "BACK", "STAYS") if felt.touched & FELT_TOUCHED[name][0]), "")


def snapshot(session: Session, felt: Felt) -> dict[str, object]:
    """Return the last FELT as plain data for JSON."""
    now = feeling(session)
    return {"external": now.external.tolist(), "mean": now.mean.tolist(), "threshold": now.threshold.tolist(),
            "touched": now.touched, "joint": now.joint, "touches": now.touches, "touch_tick": felt.touch_tick,
            "way": now.way}


def wrench_of(mechanism: Mechanism, positions: ArrayLike, external: ArrayLike, link: str) -> Wrench:
    """Return the wrench on a link, global axes at its origin, that explains external torques (J,) at positions (J,),
    rad or m. Raises BadInput for an unknown or fixed link, Refused for an undetermined wrench."""
    place(mechanism, link)
    if mechanism.constrained or mechanism.flexible or len(mechanism.streamed) != len(mechanism.moving):
        raise Refused(f"{mechanism.name}: a wrench is known only for open trees with all joints driven")
    model = Model.of(mechanism)
    at = np.asarray(positions, float)
    order = [[b.joint.name for b in model.bodies].index(j.name) for j in mechanism.streamed]
    q = np.empty(len(order))
    q[order] = at
    loads = np.array([-wrench_torque(model, q, Wrench.of(link, row.tolist()))[order] for row in np.eye(6)]).T
    # a moment is compared as the force that causes it at the longest lever
    size = np.array([1.0] * 3 + [_arm(loads)] * 3)
    strong = np.linalg.svd(loads / size, compute_uv=False)
    if len(strong) < 6 or strong[-1] < WEAK * strong[0]:
        raise Refused(f"{mechanism.name}: the joints before {link} do not feel a wrench on it in every direction"
                      f"{' in this pose' if len(strong) >= 6 else ''}")
    found = np.linalg.lstsq(loads / size, np.asarray(external, float), rcond=None)[0] / size
    return Wrench(link, found[:3], found[3:])


def _arm(loads: Array) -> float:
    """Return the largest lever of a force about a joint's axis, m."""
    return 1.0 / max(float(np.abs(loads[:, :3]).max()), 1e-6)
