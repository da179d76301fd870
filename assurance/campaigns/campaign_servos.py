"""Faults of Feetech servos, a row of assurance.campaigns.campaign_wires. A forbidden voltage is unsafe; braking and
coasting are safe. Servos have no timeout. A servo that the board cannot reach keeps its duty until the board, or the
watchdog's reset after a halt by a debugger, switches off the supply of all servos. A board without the output for the
supply cannot stop them: `arm(cutoff=None)`."""

from dataclasses import replace

from assurance.campaigns import campaign_drives as campaign, campaign_wires as wires
from assurance.campaigns.campaign import Scene, Strike
from assurance.campaigns.campaign_wires import AWAY, Kind, comes, first
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import Bus, Gains, Mechanism
from femtorque.codegen.mechanism.description import Cutoff
from femtorque.hil.board.supply_relay import RELEASE_S
from femtorque.hil.drives.families.feetech import servo as sts
from femtorque.hil.drives.families.feetech.servo import ERRORS, Sts3215

CUTOFF = Cutoff()
CUT = CUTOFF.within_s + 4e-3 + RELEASE_S + 1e-3  # maximum delay, s: missing answers, the relay, a step of the plant
RESET = campaign.CONNECTED + 0.11 + RELEASE_S  # time after a halt, s: the watchdog at LSI's nominal rate, and the relay
TOLD = 0.012  # maximum time until a stop, s: one tick detects the fault, the next sends, the servo needs 2 ms


def arm(cutoff: Cutoff | None = CUTOFF) -> Mechanism:
    """Return an arm with three servos, whose supply the board switches."""
    made = wires.light_arm(DRIVES["feetech-sts3215-12v"], 2.6, Gains(12.0, 0.6))
    assert made.board is not None
    return replace(made, name="campaign_feetech", buses=(Bus("servos", "sts"),),
                   control=replace(made.control, rate_hz=500, knot_hz=100),
                   board=replace(made.board, bus_voltage=12.0), safety=replace(made.safety, cutoff=cutoff))


def _another(scene: Scene) -> Sts3215:
    one, line = first(scene), scene.board.wiring.buses.lines["servos"]
    other = Sts3215(line.clock, one.id, 12.0, AWAY, lambda: 12.0)
    other.registers[:] = one.registers
    return other


def _ails(code: int) -> Strike:
    """Return the injection that causes an error."""
    def strike(scene: Scene) -> None:
        if code in (ERRORS["overload"], ERRORS["voltage"]):
            first(scene).latched |= code
        else:
            first(scene).fail(code)

    return strike


KIND = Kind(
    told=TOLD, silent=0.012 + TOLD, alone=lambda within: within + CUT, dead=TOLD, late=("0.1 ms", 1e-4), chained=False,
    errors=ERRORS, ails=_ails, hot=90.0, rests=True, another=_another,
    settings=(("wrong scale", "two steps a count", comes(sts.FACTOR, 2)),
              ("wrong scale", "another offset", comes(sts.OFFSET, 300, 2)),
              ("wrong setting", "less torque", comes(sts.TORQUE, 500, 2)),
              ("wrong setting", "another model", comes(sts.MODEL, 2825, 2)),
              ("wrong setting", "limits of its own", comes(sts.LEAST, 1800, 2))),
    lost=(("another number", comes(sts.ID, 9)), ("another rate", comes(sts.BAUD, 1))), halted=RESET)
