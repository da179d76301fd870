"""Demands of a mechanism on a PC as the board, and times of the adapters."""

from dataclasses import dataclass, replace

from femtorque.codegen.board import fieldbus
from femtorque.codegen.board.description import Board
from femtorque.codegen.board.reader import PC_BOARD, load_board
from femtorque.codegen.mechanism import Joint, Mechanism, refuse

CHIP = "nucleo-g474re-6"  # a board that has CAN, CAN FD and a wire for servos
FALLS, ENDLESS = "falls", "no time limit"  # values of [board] accept
LOST = ("a PC has no watchdog in hardware and no e-stop loop: a switch in the drives' supply is the only sure stop, "
        "and the arm falls when it is used")


@dataclass(frozen=True)
class Times:
    """Times of an adapter, s. delay: from sending to the answers, without the time on the bus. jitter: largest further
    delay."""

    delay: float = 0.0
    jitter: float = 0.0


def on_pc(mechanism: Mechanism) -> bool:
    """Return True if a PC is the board."""
    return mechanism.board is not None and mechanism.board.use == PC_BOARD


def on_chip(mechanism: Mechanism) -> Mechanism:
    """Return a PC's mechanism on a board with a chip, whose image computes the same torques bit for bit."""
    if mechanism.board is None or not on_pc(mechanism):
        return mechanism
    return replace(mechanism, name=f"{mechanism.name}_chip", board=replace(mechanism.board, use=CHIP))


def serve(mechanism: Mechanism, board: Board) -> list[tuple[Joint, None]]:
    """Return the streamed joints. Raise BadInput for a joint that a PC cannot drive."""
    for joint in mechanism.streamed:
        if joint.actuated and joint.drive is None:
            refuse(mechanism, f"joint.{joint.name}.drive", None, "is required: a PC has no bridges and no encoders",
                   "give the joint a drive on a bus, or choose another board")
    for key, there in (("brake", mechanism.safety.brake), ("cutoff", mechanism.safety.cutoff)):
        if there is not None:
            refuse(mechanism, f"safety.{key}", None, "needs an output, and a PC has none", "choose another board")
    _limited(mechanism)
    for bus in fieldbus.used_buses(mechanism).values():
        fieldbus.on_bus(mechanism, bus)
    return [(joint, None) for joint in mechanism.streamed]


def _limited(mechanism: Mechanism) -> None:
    """Refuse drives without a time limit, and servos that let the arm fall, unless the file accepts them."""
    assert mechanism.board is not None
    if (endless := fieldbus.endless(mechanism)) and mechanism.board.accept != ENDLESS:
        refuse(mechanism, "board.use", mechanism.board.use,
               f"when the PC dies, {', '.join(endless)} would go on with the last command: no time limit of theirs is "
               "sure, and a PC has no watchdog in hardware",
               f'another board, or a switch in their supply within reach, and [board] accept = "{ENDLESS}"')
    falling = [joint.name for _, joint, drive in fieldbus.drives(mechanism)
               if drive.servo is not None and not fieldbus.held(joint)]
    if falling and mechanism.board.accept is None:
        refuse(mechanism, "board.use", mechanism.board.use, f"when the PC dies, {', '.join(falling)} let the arm fall",
               f'pd = "drive", or [board] accept = "{FALLS}"')


def adapter_times(mechanism: Mechanism) -> dict[str, Times]:
    """Return the times of each bus's adapter. The file's measured times override the board's. A chip has zero times."""
    given = load_board(PC_BOARD).adapter if on_pc(mechanism) else None
    if given is None:
        return {bus.name: Times() for bus in mechanism.buses}
    return {bus.name: Times(given.delay if bus.delay is None else bus.delay,
                            given.jitter if bus.jitter is None else bus.jitter) for bus in mechanism.buses}


def late_ticks(mechanism: Mechanism) -> float:
    """Return the largest jitter of the adapters, ticks.

    Jitter lengthens the time from measurement to command. The delay does not, because it delays both alike.
    """
    return mechanism.control.rate_hz * max((t.jitter for t in adapter_times(mechanism).values()), default=0.0)
