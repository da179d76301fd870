"""Parameters of ODrive drives from their maker's code, papers and users."""

from femtorque.hil.drives.maker import UNTIMED, Maker, Said

MAKER = Maker(
    limit=Said(UNTIMED, "docs.odriverobotics.com: enable_watchdog is false as it comes"),
    mode=Said(3, "ODrive 0.5, controller.hpp: control_mode, position"),
    sample=Said(0.75, "CiA 301; SocketCAN's default at 1 Mbit/s"))
