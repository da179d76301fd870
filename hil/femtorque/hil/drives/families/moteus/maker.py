"""Parameters of a moteus from its maker's code, papers and users."""

from femtorque.hil.drives.maker import Maker, Said

MAKER = Maker(
    limit=Said(0.1, "mjbots/moteus, fw/bldc_servo_structs.h: default_timeout_s"),
    mode=Said(0, "docs/protocol/registers.md: 0x000, stopped"),
    # docs/integration/can-fd.md recommends 0.666
    sample=Said(57 / 85, "fw/fdcan.cc, MakeTime of 85 MHz: 1 + 56 + 28 quanta"),
    fast=Said(12 / 17, "fw/fdcan.cc, MakeTime of 85 MHz: 1 + 11 + 5 quanta"))
