"""An arm with drives on a bus, and its flash image, for each drive family on classic CAN, and on CAN FD."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.toolchain import platformio

ROOT = Path(__file__).resolve().parents[2]
ARM = ROOT / "mechanisms" / "damiao_arm.toml"
PLACE = ROOT / "build" / "boards"


OTHERS = {"robstride": ("robstride-02", "robstride-00"), "cubemars": ("cubemars-ak10-9", "cubemars-ak80-9"),
          "mini-cheetah": ("mini-cheetah", "mini-cheetah"),
          "moteus": ("moteus-r4", "moteus-c1"),
          "odrive-can": ("odrive-pro", "odrive-s1")}  # drives of shoulder and elbow, then the drive of the wrist
OWN = {"moteus": (', torque = 28.0, kp = 120.0, kd = 6.0, firmware = "1.1.0"', ", torque = 10.0, kp = 16.0, kd = 0.6"),
       "odrive-can": (', torque = 28.0, inertia = 0.01, firmware = "0.6.10"', ", inertia = 0.005")}


def file_of() -> Mechanism:
    """Return the arm of the mechanism file, with Damiao drives on classic CAN."""
    return load_mechanism(ARM)


def described(kind: str = "damiao") -> Mechanism:
    """Return the arm with drives of another family and with published rotor inertias. The drives close the position
    loops. fd: use a chip with CAN FD, for families that support only CAN FD. robomaster, three: use a board that has
    only buses, with drives on each bus."""
    file = ARM
    if kind in OTHERS:
        PLACE.mkdir(parents=True, exist_ok=True)
        file, text = PLACE / f"{kind}_arm.toml", ARM.read_text(encoding="utf-8")
        strong, weak = OTHERS[kind]
        rotors = [f", inertia = {DRIVES[name].inertia}" if DRIVES[name].inertia else "" for name in (strong, weak)]
        ours = [f'{name}"{own}' for name, own in zip((strong, weak), OWN.get(kind, ("", "")), strict=True)]
        for was, becomes in (('name = "damiao_arm"', f'name = "{kind.replace("-", "_")}_arm"'),
                             ('damiao-4340"', ours[0]), ('damiao-4310"', ours[1]), ("effort = 20.0", "effort = 16.0"),
                             (', pd = "board"', ""), (", inertia = 0.16", rotors[0]), (", inertia = 0.01", rotors[1])):
            assert was in text
            text = text.replace(was, becomes)
        if all(DRIVES[name].fd for name in (strong, weak)):
            text = text.replace('kind = "can"', 'kind = "can-fd"').replace('"f405rg-4"', '"nucleo-g474re-6"')
        file.write_text(text, encoding="utf-8")
    mechanism = load_mechanism(file)
    board, buses = mechanism.board, mechanism.buses
    assert board is not None
    if kind == "robomaster":
        buses = (mechanism.buses[0], replace(mechanism.buses[0], name="can2"))
        joints = tuple(replace(j, drive=replace(j.drive, bus="can2")) if j.drive and j.name == "wrist" else j
                       for j in mechanism.joints)
        mechanism = replace(mechanism, name="damiao_c", board=replace(board, use="robomaster-c"), buses=buses,
                            joints=joints)
    if kind == "three":
        buses = tuple(replace(mechanism.buses[0], name=f"can{k}", kind="can-fd", data_bitrate=5_000_000)
                      for k in (1, 2, 3))
        joints = tuple(replace(j, drive=replace(j.drive, bus=bus.name))
                       for j, bus in zip(mechanism.joints, buses, strict=True) if j.drive)
        mechanism = replace(mechanism, name="damiao_three", board=replace(board, use="nucleo-g474-can"),
                            buses=buses, joints=joints)
    if kind == "fd":
        bus = replace(mechanism.buses[0], kind="can-fd", data_bitrate=5_000_000)
        mechanism = replace(mechanism, name="damiao_fd", board=replace(board, use="nucleo-g474re-6"),
                            buses=(bus,))
    return mechanism


def at_rate(board: str, rate: int) -> Mechanism:
    """Return the arm with its drives set to a bit rate.

    Rates up to 1 Mbit/s are for classic CAN, higher rates are for the data phase of CAN FD."""
    mechanism = file_of()
    assert mechanism.board is not None
    bus = mechanism.buses[0] if rate <= 1_000_000 else replace(mechanism.buses[0], kind="can-fd", data_bitrate=rate)
    return replace(mechanism, name=f"damiao_{board}_{rate}".replace("-", "_"),
                   board=replace(mechanism.board, use=board), buses=(bus,))


def openarm_text(name: str, moteus: bool) -> str:
    """Return the file of an arm of the size of the OpenArm under a name, with its Damiao drives or with moteus."""
    text = (ROOT / "mechanisms" / "openarm_like.toml").read_text(encoding="utf-8").replace("openarm_like", name, 1)
    for was, torque, kp, kd in (("damiao-8009", 54.0, 240.0, 6.0), ("damiao-4340", 28.0, 200.0, 5.0),
                                ("damiao-4310", 10.0, 40.0, 1.2)):
        if moteus:
            text = text.replace(f'type = "{was}"', f'type = "moteus-r4", torque = {torque}, kp = {kp}, kd = {kd}')
    return text


def moteus_arm(count: int = 5) -> Mechanism:
    """Return an arm of the size of the OpenArm with five or seven moteus controllers. A bus carries five at 1 kHz.

    With five controllers the last two joints are locked. Each controller is configured for twice the stiffness and
    damping that the board commands."""
    text = openarm_text(f"moteus_{count}", True)
    if count == 5:
        text = text.replace("gravity", "lock = { joint6 = 0.0, joint7 = 0.0 }\ngravity", 1)
    PLACE.mkdir(parents=True, exist_ok=True)
    file = PLACE / f"moteus_{count}.toml"
    file.write_text(text, encoding="utf-8")
    return load_mechanism(file)


@cache
def arm(kind: str = "damiao") -> tuple[Mechanism, Path]:
    """Return the mechanism and its image."""
    mechanism = described(kind)
    return mechanism, platformio.build_image(mechanism, PLACE / mechanism.name).elf
