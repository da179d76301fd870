"""LED patterns of a board's states."""

from femtorque.codegen.wire import STATES

STEPS_HZ = 8  # pattern steps per second; a pattern has 16 steps, and # means lit
_DARK, _ON, _FAST, _SLOW = 16 * ".", 16 * "#", 8 * "#.", 2 * "####...."
PATTERNS = {
    "BOOT": _DARK, "CHECK": _DARK, "LEAVING": _DARK,
    "DISARMED": "#...............",
    "ESTOP": "#.#.............",
    "FAULT": "#.#.#...........",
    "HELD": "##..............",
    "HOLD": _ON, "TRACK": _FAST, "FOLLOW": _FAST,
    "HOMING": _SLOW, "FLOAT": _SLOW, "JOG": _SLOW, "PROBE": _SLOW, "CLOSING": _SLOW,
}
WORDS = {
    "#...............": "one flash every 2 s", "#.#.............": "two flashes every 2 s",
    "#.#.#...........": "three flashes every 2 s", "##..............": "one long flash every 2 s",
    _ON: "on", _FAST: "blinks 4 times per second",
    _SLOW: "blinks once per second", _DARK: "off",
}


def words() -> list[int]:
    """Return the patterns by state number. The lowest bit of a pattern is its first step."""
    return [sum((step == "#") << i for i, step in enumerate(PATTERNS[name])) for name in STATES]


def ticks(rate_hz: int) -> int:
    """Return the number of ticks per pattern step."""
    return max(1, round(rate_hz / STEPS_HZ))
