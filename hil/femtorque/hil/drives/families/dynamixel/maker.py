"""Parameters of Dynamixel servos from their maker's papers and their users."""

from femtorque.hil.drives.maker import UNTIMED, Maker, Said

MAKER = Maker(
    boot=Said(0.1, "chosen, also after a reboot"),
    answers=Said(20e-6, "chosen, added to register 9"),
    limit=Said(UNTIMED, "e-manual: 98, Bus Watchdog, 0 as it comes"),
    mode=Said(3, "e-manual: 11, Operating Mode, position"))
