"""Parameters of Damiao drives from their maker's code, papers and users."""

from femtorque.hil.drives.maker import UNTIMED, Maker, Said

MAKER = Maker(
    limit=Said(UNTIMED, "python-damiao-driver, docs/concept: register 9, TIMEOUT, 0 as delivered"),
    mode=Said(1, "register 10, CTRL_MODE: MIT, as openarm_can has it set"),
    sample=Said(0.75, "openarm_can, CLI: sample-point; the drive's own is not published"),
    fast=Said(0.75, "openarm_can, CLI: dsample-point"))
