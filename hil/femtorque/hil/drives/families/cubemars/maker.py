"""Parameters of CubeMars drives from their maker's code, papers and users."""

from femtorque.hil.drives.maker import UNTIMED, Maker, Said

MAKER = Maker(
    limit=Said(UNTIMED, "manual V1.0.8 names none"),
    sample=Said(0.75, "CiA 301; SocketCAN's default at 1 Mbit/s"))
