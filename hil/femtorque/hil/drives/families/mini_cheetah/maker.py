"""Parameters of the mini-cheetah from its maker's code, papers and users."""

from femtorque.hil.drives.maker import Maker, Said

MAKER = Maker(
    limit=Said(0.025, "bgkatz/motorcontrol: CAN_TIMEOUT 1000 periods of 25 us"),
    sample=Said(0.75, "CiA 301; SocketCAN's default at 1 Mbit/s"))
