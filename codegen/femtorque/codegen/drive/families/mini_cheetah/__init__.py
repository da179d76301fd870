"""Drives with the firmware of the MIT mini cheetah, bgkatz/motorcontrol.

Rotor inertia: 63e-6 kg m^2 times the squared gear ratio of 6 (mit-biomimetics/Cheetah-Software, MiniCheetah.h)."""

from femtorque.codegen.drive import mit
from femtorque.codegen.drive.family import DriveType, Family, Places

MASTER = 0  # CAN_MASTER, the factory id of all replies: bgkatz/motorcontrol, user_config.h

FAMILY = Family(
    name="mini-cheetah",
    title="mini-cheetah",
    types=(DriveType("mini-cheetah", "mini-cheetah", 12.5, 65.0, 18.0, inertia=0.00227,
                     note="torque: I_MAX KT GR of the drive's own settings"),),
    ids=(0, 127),
    places=Places(top=0xFFFF),
    reply=lambda id: MASTER,
    reply_words="0",
    shares_reply=True,  # the first byte is the drive's id
    command=mit.command,
    tells=False,
    # bgkatz/motorcontrol stm32f4xx_it.c
    alone="when the board falls silent a mini-cheetah's drive lets go after CAN_TIMEOUT of its own settings, as it "
          "comes 25 ms, never if that is 0, and takes the next command without having told; firmware from before July "
          "2023 does not let go but keeps the last voltages on its phases, so a relay at the board's enable output "
          "must cut its supply (docs/boards.md, Wiring); nor can it be asked for its ranges",
    hooks=("release",),
    parts=("ft_mit.c",),
    notes=("no", "no", "no", "lets go after `CAN_TIMEOUT`, 25 ms as it comes; early firmware does not"),
)
