"""Faults of Dynamixel X servos, a row of assurance.campaigns.campaign_wires. A forbidden goal current is unsafe. A
servo that the board cannot reach stops by its watchdog, because its supply stays on."""

from dataclasses import replace

from assurance.campaigns import campaign_wires as wires
from assurance.campaigns.campaign import Scene
from assurance.campaigns.campaign_wires import AWAY, Kind, comes, first
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import Bus, Friction, Gains, Mechanism
from femtorque.hil.drives.families.dynamixel import servo as x
from femtorque.hil.drives.families.dynamixel.servo import ERRORS, Dynamixel

TOLD = 0.008  # maximum time until a stop, s: one tick detects the fault, the next sends, the servo needs 1 ms
WATCHDOG = 2 * x.UNIT + 0.002  # two units of the servo's watchdog, and two ticks of 1 ms, s


def arm() -> Mechanism:
    """Return an arm with three servos at 1 kHz."""
    own = DRIVES["dynamixel-xm430-w350"]
    assert own.servo is not None
    made = wires.light_arm(own, 3.0, Gains(30.0, 1.5), Friction(own.servo.viscous, own.servo.coulomb))
    assert made.board is not None
    return replace(made, name="campaign_dynamixel", buses=(Bus("servos", "dynamixel", 2_000_000),),
                   control=replace(made.control, rate_hz=1000, knot_hz=100),
                   board=replace(made.board, use="nucleo-g474re-6", bus_voltage=12.0))


def _another(scene: Scene) -> Dynamixel:
    one, line = first(scene), scene.board.wiring.buses.lines["servos"]
    other = Dynamixel(line.clock, one.id, one.model, one.bitrate, AWAY, lambda: 12.0)
    other.registers[:], other.ready = one.registers, 0.0
    return other


KIND = Kind(
    told=TOLD, silent=0.007 + TOLD,  # five more ticks, and the first tick without an answer
    alone=lambda within: max(within, WATCHDOG), dead=WATCHDOG, late=("20 us", 2e-5), chained=True,
    errors=ERRORS, ails=lambda code: lambda scene: first(scene).fail(code), hot=95.0, rests=False, another=_another,
    settings=(("wrong scale", "turned round", comes(x.DRIVE_MODE, 1)),
              ("wrong scale", "another offset", comes(x.HOMING, 300, 4)),
              ("wrong setting", "less current", comes(x.CURRENT_LIMIT, 500, 2)),
              ("wrong setting", "a goal switches it on", comes(x.DRIVE_MODE, 8)),
              ("wrong setting", "another model", comes(x.MODEL, 1030, 2)),
              ("wrong setting", "it bears all", comes(x.SHUTDOWN, 0)),
              ("wrong setting", "old firmware", comes(x.FIRMWARE, 44))),
    lost=(("another number", comes(x.ID, 9)), ("another rate", comes(x.BAUD, 1))))
