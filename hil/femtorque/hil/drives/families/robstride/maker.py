"""Parameters of RobStride drives from their maker's code, papers and users."""

from femtorque.hil.drives.maker import UNTIMED, Maker, Said

MAKER = Maker(
    limit=Said(UNTIMED, "kscalelabs/robstride, parameters.rs: 0x7028, canTimeout, 0 as delivered"),
    mode=Said(0, "parameters.rs: 0x7005, run_mode, operation"),
    sample=Said(0.75, "CiA 301; SocketCAN's default at 1 Mbit/s"))
