"""ODrive S1, Pro and Micro with firmware 0.6, controlled with CANSimple on classic CAN. (The board odrive-v3.6 is no
drive: it runs this project's firmware.) A drive can have any motor, and has the torque range of its motor. The board
closes the position loop. The number formats that the board uses limit position and velocity. The owner sets the drive's
velocity limit, vel_limit."""

from femtorque.codegen.drive.families.odrive_can.frames import BEAT, ERRORS, TURN, VERSION, answer_id, command, poll
from femtorque.codegen.drive.family import AT_LEAST, DriveType, Family, Firmware, Fitted, Places, Setting

OLDEST = "0.6.0"
NOTE = "torque: of its motor; kd: by which the board damps"
SETUP = (f"can.config.baud_rate = 1000000; axis0.config.can.heartbeat_msg_rate_ms = {1e3 * BEAT:.0f}, the other "
         "..._msg_rate_ms = 0; axis0.config.enable_watchdog = True, watchdog_timeout = 0.02; "
         "axis0.controller.config.enable_torque_mode_vel_limit = False; vel_limit, limits of current and torque")


def _type(name: str, torque: float) -> DriveType:
    return DriveType(f"odrive-{name}", "odrive-can", 100.0, 100.0, torque, 0.0, 5.0, note=NOTE)


def _word(version: str) -> int:
    major, minor, revision = (int(part) for part in version.split("."))
    return major << 16 | minor << 8 | revision


def _text(number: int) -> str:
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}" if number > 1 else "of another CANSimple"


def _oldest(fitted: Fitted) -> str:
    return fitted.firmware or OLDEST


FAMILY = Family(
    name="odrive-can",
    title="ODrive",
    types=(_type("s1", 10.0), _type("pro", 20.0), _type("micro", 1.0)),
    ids=(0, 62),
    places=Places(turn=TURN),
    settings=(  # the host gets the answer
        Setting(VERSION, lambda d: _word(_oldest(d)), AT_LEAST, words=lambda d: f"{_oldest(d)} or later", shows=_text),
    ),
    errors=ERRORS,
    answer_id=answer_id,
    poll=poll,
    beat=BEAT,
    closes=False,
    keeps=False,
    setup=SETUP,
    command=command,
    velocity_known=True,
    torque_known=True,
    firmware=Firmware(r"\d+\.\d+\.\d+", "0.6.10", _word, lambda n: _text(n) if n else "", most=255),
    untold="it does not tell its version, as those with firmware 0.5, which are not driven",
    alone="goes on with its last torque where its watchdog is off, as it comes, and nobody can ask it on the bus: set "
          "it, or let a relay at the board's enable output cut the supply (docs/boards.md, Wiring)",
    hooks=("release", "look"),
    notes=("needs none; its limits: no", "yes", "yes", "lets go if its owner has set its watchdog; else goes on"),
)
