"""Numbers of Feetech's servos from its maker's papers and its users."""

from femtorque.hil.drives.maker import UNTIMED, Maker, Said

MAKER = Maker(
    boot=Said(0.0, "not published; 0 is the hardest to notice"),
    answers=Said(20e-6, "chosen, added to register 7"),
    limit=Said(UNTIMED, "Feetech's memory table has none"),
    mode=Said(0, "memory table: 33, position"))
