"""CubeMars' AK drives in their MIT mode. Ranges: manual V1.0.8, TMotorCANControl's mit_can.py."""

from femtorque.codegen.drive import mit
from femtorque.codegen.drive.family import DriveType, Errors, Family, Places


def _type(name: str, velocity: float, torque: float, note: str = "") -> DriveType:
    return DriveType(f"cubemars-{name}", "cubemars", 12.5, velocity, torque, note=note)


FAMILY = Family(
    name="cubemars",
    title="CubeMars",
    types=(
        _type("ak10-9", 50.0, 65.0),
        _type("ak60-6", 45.0, 15.0, "TMotorCANControl: 50 rad/s"),
        _type("ak70-10", 50.0, 25.0),
        _type("ak80-6", 76.0, 12.0),
        _type("ak80-9", 50.0, 18.0),
        _type("ak80-64", 8.0, 144.0),
        _type("ak80-8", 37.5, 32.0),
        _type("ak45-36", 6.0, 34.0),
        _type("ak45-10", 20.0, 8.0),
        _type("ak40-10", 45.5, 5.0),
    ),
    ids=(0, 255),
    places=Places(top=0xFFFF),
    # From the manual V1.0.8. Other firmware may number errors like VESC does (1 over-voltage, 2 under-voltage, 3 gate
    # driver, 4 over-current, 5 driver hot, 6 motor hot: mc_fault_code of vedderb/bldc), and no reply shows it.
    errors=Errors({1: "over-temperature", 2: "over-current", 3: "over-voltage", 4: "under-voltage", 5: "encoder",
                   6: "phase unbalance"}),
    reply=lambda id: id,
    reply_words="id",
    command=mit.command,
    tells=False,
    # CubeMars' manual V1.0.8 names no watchdog that the board can set
    alone="CubeMars' drives are not known to stop by themselves: when the board falls silent they go on with the last "
          "command for ever, so a relay at the board's enable output must cut their supply (docs/boards.md, Wiring); "
          "nor can they be asked for their ranges",
    parts=("ft_mit.c",),
    notes=("no", "no", "yes", "not known to stop: it goes on with the last command for ever"),
)
