"""Parameters of Feetech servos from their maker's papers and their users."""

from femtorque.hil.drives.maker import UNTIMED, Maker, Said

MAKER = Maker(
    answers=Said(20e-6, "chosen, added to register 7"),
    limit=Said(UNTIMED, "Feetech's memory table has none"),
    mode=Said(0, "memory table: 33, position"))
