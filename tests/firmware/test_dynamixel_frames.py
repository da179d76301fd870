"""Dynamixel X servos: frames, answers, and packets of a wire, byte for byte against ROBOTIS' client."""

import numpy as np
import pytest
from dynamixel_sdk import GroupSyncRead, GroupSyncWrite, Protocol2PacketHandler

from femtorque.codegen.drive.families.dynamixel import frames as x
from femtorque.codegen.drive.families.dynamixel.frames import Part
from tests.firmware import frames
from tests.firmware.frames import (
    RUN, SERVOS, SET, SETTING, STATE, SWITCH, WIRE_CALLS, Meant, Port, ServoFrames, compiled)

OUT, IN = 112 + 20 * SERVOS, 112 + 20 * SERVOS + 24 * SERVOS + 16
CDEF = f"""
typedef struct {{ uint8_t id; _Bool asked, on, prompt, late, takes_part, old;
    uint8_t error, alert, volts, warmth, missed; }} ft_dxl_servo;
typedef struct {{
    uint8_t out[{OUT}], in[{IN}];
    uint32_t size;
    ft_frame answer[{SERVOS}];
    uint32_t answers, read;
    uint8_t number, width;
    _Bool fast, puzzled;
    uint32_t servos, asked, next, ticks;
    ft_dxl_servo servo[{SERVOS}];
    uint16_t echoes, damaged;
}} ft_dxl;
""" + WIRE_CALLS.format("dxl")
LATE, REBOOT = 8, 16
IDS = range(1, SERVOS + 1)
STEPS = 150.0  # a N m


@pytest.fixture(scope="module")
def c():
    return compiled("dynamixel", "dxl", cdef=CDEF)


# -- ROBOTIS' client --------------------------------------------------------------------------------------------------


class Handler(Protocol2PacketHandler):
    """The published handler with correct byte stuffing. Version 4.1.0 stuffs a copy, but sends the packet without
    stuffing."""

    def addStuffing(self, packet):
        packet[:] = super().addStuffing(list(packet))
        return packet


def written(values: dict[int, int], register: int, size: int) -> bytes:
    port = Port()
    group = GroupSyncWrite(port, Handler(), register, size)
    for id, value in values.items():
        group.addParam(id, list((value & (1 << 8 * size) - 1).to_bytes(size, "little")))
    group.txPacket()
    return port.sent


def asked(ids, register: int = 126, size: int = 10, fast: bool = True) -> bytes:
    port = Port()
    group = GroupSyncRead(port, Handler(), register, size)
    for id in ids:
        group.addParam(id)
    group.fastSyncReadTxPacket() if fast else group.txPacket()
    return port.sent


def rebooted(id: int) -> bytes:
    port = Port()
    Handler().txPacket(port, [0, 0, 0, 0, id, 3, 0, 8, 0, 0])
    return port.sent


def test_that_packets_are_those_of_robotis_client_and_its_documents():
    assert x.write({1: 100, 2: -100}, 102, 2).hex() == "fffffd00fe0d008366000200016400029cffe1db"
    assert x.ask([1, 2], fast=False).hex() == "fffffd00fe0900827e000a0001023892"
    assert x.ask([1, 2]).hex() == "fffffd00fe09008a7e000a000102bb1a"
    parts = [Part(1, 0, bytes.fromhex("6400fbffffff00080000")), Part(2, 0, bytes.fromhex("9cff0700000000f0ffff"))]
    assert x.fast_status(parts).hex() == (
        "fffffd00fe1d005500016400fbffffff000800001a5e00029cff0700000000f0ffff78a5")
    assert x.status(1, 0, bytes.fromhex("a6000000")).hex() == "fffffd0001080055 00a60000008cc0".replace(" ", "")
    chance = np.random.default_rng(0)
    for _ in range(200):
        values = {int(i): int(chance.integers(-1193, 1194)) for i in chance.permutation(252)[:SERVOS] + 1}
        assert x.write(values, 102, 2) == written(values, 102, 2)
        assert x.ask(list(values)) == asked(values)
        raw = {id: int.from_bytes(bytes(map(int, chance.choice([0xFF, 0xFD], 4))), "little") for id in values}
        assert x.write(raw, 20, 4) == written(raw, 20, 4)


# -- the wire ---------------------------------------------------------------------------------------------------------


class Wire(frames.Wire):
    kind, size, OUT = "dxl", 5, OUT

    def __init__(self, c, takes_part: bool = True) -> None:
        super().__init__(c)
        for servo in self.state.servo:
            servo.takes_part = servo.prompt = takes_part

    def pack(self, *each: Meant) -> bytes:
        """Pack a frame for each servo. The servos' numbers begin at 1. A single message is sent to all servos."""
        return self.pack_each(each if len(each) > 1 else each * SERVOS)


def states(chance: np.random.Generator, count: int = SERVOS) -> list[Part]:
    """Return states whose contents sometimes need stuffing."""
    return [Part(k + 1, 0, bytes(map(int, chance.choice([0xFF, 0xFF, 0xFD, 0x00, 0x12], 10)))) for k in range(count)]


def kept(part: Part) -> tuple[int, bytes]:
    """Return a servo's number and its state: position, velocity, current, supply and warmth."""
    velocity = int(np.clip(int.from_bytes(part.data[2:6], "little", signed=True), -32768, 32767)) & 0xFFFF
    return part.id, part.data[6:8] + velocity.to_bytes(2, "little") + part.data[:2] + bytes(2)


GOALS = written(dict.fromkeys(IDS, 0), 102, 2)


@pytest.mark.parametrize(("meant", "sent"), [
    (Meant(RUN, data=b"\x64\0"), written(dict.fromkeys(IDS, 100), 102, 2) + asked(IDS)),
    (Meant(0, data=b"\x64\0"), GOALS + asked(IDS)),
    (Meant(RUN, data=b"\x4f\xff", goal=100), written(dict.fromkeys(IDS, -177), 100, 2) + asked(IDS)),
    (Meant(RUN | SWITCH), GOALS + written(dict.fromkeys(IDS, 1), 64, 1) + asked(IDS)),
    (Meant(SWITCH), GOALS + written(dict.fromkeys(IDS, 0), 64, 1) + asked(IDS)),
    (Meant(0, 38, 2), GOALS + asked(IDS, 38, 2)),
    (Meant(SET, 68, 1, b"\1"), GOALS + written(dict.fromkeys(IDS, 1), 68, 1) + asked(IDS, 68, 1)),
    (Meant(SET, 20, 4, b"\xff\xff\xfd\0"), GOALS + written(dict.fromkeys(IDS, 0xFDFFFF), 20, 4) + asked(IDS, 20, 4)),
    (Meant(SET, 98, 1, b"\2"), GOALS + written(dict.fromkeys(IDS, 0), 98, 1) + written(dict.fromkeys(IDS, 2), 98, 1)
     + asked(IDS, 98, 1)),
    (Meant(REBOOT), GOALS + b"".join(map(rebooted, IDS))),
    (Meant(LATE), GOALS + written(dict.fromkeys(IDS, 1), 68, 1) + asked([2], 6, 1, fast=False))],
    ids=["runs", "runs not", "duties", "on", "off", "asked", "set", "stuffed", "watchdog", "rebooted", "late"])
def test_what_a_tick_packs_is_what_robotis_client_packs(c, meant, sent):
    """An expired watchdog accepts only zero, so the zero comes first."""
    assert Wire(c).pack(meant) == sent


def test_that_currents_and_duties_go_in_a_packet_each(c):
    each = [Meant(RUN, data=bytes([k, 0]), goal=100 if k % 2 else 102) for k in range(SERVOS)]
    assert Wire(c).pack(*each) == (written({k + 1: k for k in (0, 2, 4)}, 102, 2)
                                   + written({k + 1: k for k in (1, 3, 5)}, 100, 2) + asked(IDS))


def test_that_states_are_told_in_order_whatever_is_in_them(c):
    wire, chance = Wire(c), np.random.default_rng(1)
    for k in range(300):
        sent, said = wire.pack(Meant(RUN)), states(chance)
        if k % 128 == 127:  # this answer has supply and warmth
            assert sent == GOALS + asked(IDS, 144, 3)
            wire.came(sent + x.fast_status([Part(i, 0, bytes(3)) for i in IDS]))
            continue
        assert wire.came(sent + x.fast_status(said)) == [kept(part) for part in said]
    assert wire.state.damaged == wire.state.echoes == 0


def test_that_nothing_is_believed_from_a_disturbed_part_on(c):
    wire, chance = Wire(c), np.random.default_rng(2)
    for _ in range(300):
        for servo in wire.state.servo:
            servo.takes_part, servo.missed, wire.state.ticks = True, 0, 1
        sent, said = wire.pack(Meant(RUN)), states(chance)
        whole = bytearray(x.fast_status(said))
        at = int(chance.integers(8, len(whole)))
        whole[at] ^= 1 << int(chance.integers(8))
        assert wire.came(sent + bytes(whole)) == [kept(part) for part in said[:(at - 8) // 14]]
        sent = wire.pack(Meant(RUN))
        assert wire.came(sent + x.fast_status(said)[:at]) == [kept(part) for part in said[:(at - 8) // 14]]


def test_that_noise_tells_nothing_and_stays_within_its_bounds(c):
    wire, chance = Wire(c), np.random.default_rng(3)
    for _ in range(2000):
        sent = wire.pack(Meant(int(chance.integers(32)), int(chance.integers(256)), int(chance.integers(16)),
                               chance.bytes(4), int(chance.choice([100, 102]))))
        assert len(sent) <= OUT
        noise = chance.bytes(int(chance.integers(IN + 1)))
        head = sent if chance.integers(2) and len(sent) <= len(noise) else b""
        assert wire.came((head + noise)[:IN]) == []


def test_that_a_servo_takes_part_once_it_has_said_alone_that_it_is_prompt_and_what_it_is(c):
    """A servo's delay is written only if it reported another. With an old servo, which does not know the fast question,
    the old query goes to half of the wire's servos in a tick, and to the other half in the next."""
    wire = Wire(c, takes_part=False)
    level = written(dict.fromkeys(IDS, 1), 68, 1)
    assert wire.pack(Meant()) == GOALS
    sent = wire.pack(Meant(LATE))
    assert sent == GOALS + level + asked([2], 9, 1, fast=False)
    assert wire.came(sent + x.status(2, 0, b"\xfa")) == [(2, b"\xfa")]
    assert wire.pack(Meant(LATE)) == GOALS + written({2: 0}, 9, 1)
    for id in (3, 4, 5, 6, 1, 2):
        sent = wire.pack(Meant(LATE))
        assert sent == GOALS + level + asked([id], 9, 1, fast=False)
        wire.came(sent + x.status(id, 0, b"\0"))
    for id in (3, 4, 5, 6, 1):
        sent = wire.pack(Meant(LATE))
        assert sent == GOALS + level + asked([id], 6, 1, fast=False)
        wire.came(sent + x.status(id, 0, bytes([45 if id == 5 else 46])))
    wire.state.ticks = 0
    halves = [wire.pack(Meant()) for _ in range(4)]
    assert halves == [GOALS + asked(ids, fast=False) for ids in ([1, 3], [4, 5, 6], [4, 5, 6], [1, 3])]
    wire.state.servo[4].old = False
    assert wire.pack(Meant()) == GOALS + asked([1, 3, 4, 5, 6])


def test_that_a_servo_that_is_missing_is_left_out_after_a_while_so_that_others_are_heard(c):
    wire, chance = Wire(c), np.random.default_rng(4)
    heard = []
    for _ in range(24):
        sent, said = wire.pack(Meant(RUN)), states(chance)
        members = [i for i in IDS if wire.state.servo[i - 1].takes_part]
        chain = said[:members.index(3)] if 3 in members else [said[i - 1] for i in members]
        answer = b"" if not chain else x.fast_status([*chain, *said[len(chain):len(members)]])[:8 + 14 * len(chain)]
        heard.append([id for id, _ in wire.came(sent + answer)])
    assert heard[0] == [1, 2] == heard[10] and heard[11] == [1, 2]
    assert wire.pack(Meant(RUN)) == GOALS + asked([1, 2])
    sent = wire.pack(*(Meant(LATE if i > 2 else 0) for i in IDS))
    assert sent[len(GOALS):] == written(dict.fromkeys(range(3, 7), 1), 68, 1) + asked([3], 9, 1, fast=False)


def test_that_a_motor_is_on_when_it_has_said_so_until_it_is_told_otherwise(c):
    wire, chance = Wire(c), np.random.default_rng(5)
    look = Meant(RUN, 64, 7)

    def on(meant: Meant, said: list[Part]) -> list[bool]:
        return [id >> 31 == 1 for id, _ in wire.told(wire.pack(meant) + x.fast_status(said))]

    assert not any(on(Meant(RUN | SWITCH), states(chance)))
    assert on(look, [Part(i, 0, bytes([i % 3, 0, 0, 0, 2, 0, 0])) for i in IDS]) == [i % 3 == 1 for i in IDS]
    assert on(Meant(RUN), states(chance)) == [i % 3 == 1 for i in IDS]
    assert not any(on(Meant(SWITCH), states(chance)))


def test_that_an_alert_is_an_error_at_once_and_named_after_one_look(c):
    wire, chance = Wire(c), np.random.default_rng(6)

    def errors(said: list[Part], question: bytes) -> list[int]:
        sent = wire.pack(Meant())
        assert sent == GOALS + question
        return [id >> 8 & 0xFF for id, _ in wire.told(sent + x.fast_status(said))]

    hurt = [Part(p.id, 0x80 if p.id == 4 else 0, p.data) for p in states(chance)]
    assert errors(hurt, asked(IDS)) == [0, 0, 0, 0x80, 0, 0]
    looked = [Part(p.id, p.error, bytes([0, 0, 0, 0, 1, 0, 0x24 if p.id == 4 else 0])) for p in hurt]
    assert errors(looked, asked(IDS, 64, 7)) == [0, 0, 0, 0x24, 0, 0]
    assert errors(hurt, asked(IDS)) == [0, 0, 0, 0x24, 0, 0]
    assert errors(states(chance), asked(IDS)) == [0] * SERVOS


def test_that_what_came_back_otherwise_is_worth_nothing_unless_it_is_answers_alone(c):
    wire, chance = Wire(c), np.random.default_rng(7)
    sent, said = wire.pack(Meant(RUN)), states(chance)
    assert wire.came(sent[:-1] + b"\0" + x.fast_status(said)) == [] and wire.state.echoes == 1
    wire.pack(Meant(RUN))
    assert wire.came(x.fast_status(said)) == [kept(part) for part in said] and wire.state.echoes == 1


# -- servos -----------------------------------------------------------------------------------------------------------


class Servo(ServoFrames):
    family, size = "dynamixel", 5

    def __init__(self, c, scale: float = STEPS, share: float = 1193.0) -> None:
        super().__init__(c, scale=scale, share=share, gear=2.0)

    def meant(self) -> tuple[int, int, int, bytes]:
        assert self.frame.data[4] == (102 if self.row.scale else 100)
        return super().meant()

    def goal(self, **target: float) -> int:
        return int.from_bytes(self.output(**target), "little", signed=True)


@pytest.mark.parametrize(("target", "steps"), [
    ({"torque": 1.0}, 150), ({"torque": -2.0}, -300), ({"torque": 1e30}, 1193), ({"torque": -1e30}, -1193),
    ({"torque": float("nan")}, 0), ({"torque": float("-inf")}, -1193), ({"kd": 2.0, "seen": 0.5}, -150),
    ({"kd": 2.0, "seen": -0.5, "torque": -1.0}, 0), ({"share": 1.0}, 0)])
def test_that_a_current_makes_the_torque_and_the_damping_within_its_limit(c, target, steps):
    assert Servo(c).goal(**target) == steps


@pytest.mark.parametrize(("share", "steps"), [(0.0, 0), (0.5, 442), (-0.2, -177), (1.0, 797), (-3.0, -797),
                                              (float("nan"), 0)])
def test_that_a_servo_without_a_current_gets_a_duty_within_its_limit(c, share, steps):
    assert Servo(c, 0.0, 0.9).goal(share=share, torque=5.0) == pytest.approx(steps, abs=1)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_that_what_rounding_leaves_over_is_made_up_for(c, sign):
    for torque in sign * np.random.default_rng(2).uniform(0.0, 5.0, 20):
        servo = Servo(c)
        given = [servo.goal(torque=float(torque)) for _ in range(400)]
        assert abs(np.mean(given) - STEPS * torque) < 0.01
        assert np.max(np.abs(np.array(given) - STEPS * torque)) <= 1.001 and abs(servo.left[0]) <= 0.51


def test_what_else_a_servo_is_told(c):
    servo = Servo(c)
    assert servo.of("enable") == (SWITCH | RUN, 0, 0, bytes(4))
    assert servo.of("disable", False) == (SWITCH, 0, 0, bytes(4)) and servo.of("disable", True) == (
        REBOOT, 0, 0, bytes(4))
    assert servo.of("ask", 38, 2) == (0, 38, 2, bytes(4)) and servo.of("ask", x.MODEL, 2) == (0, 0, 2, bytes(4))
    assert servo.of("write", 20, 4, 0x12345678) == (SET, 20, 4, b"\x78\x56\x34\x12")
    for phase in range(101):
        servo.of("disable", False)
        servo.lib.ft_dynamixel_wake(servo.frame, servo.row, phase)
        assert servo.meant()[0] == (LATE if phase % 8 == 0 and phase < 64 else SWITCH)
    for enabled, every in ((True, 8), (False, 2)):
        for tick in range(32):
            servo.of("enable")
            servo.lib.ft_dynamixel_look(servo.frame, tick, enabled)
            assert servo.meant() == (SWITCH | RUN, *((64, 7) if tick % every == 0 else (0, 0)), bytes(4))


@pytest.mark.parametrize(("told", "counts"), [(0, 0), (4095, 4095), (4096, 0), (-1, 4095), (-4096, 0), (30000, 1328)])
def test_what_a_state_tells(c, told, counts):
    """A state has no whole turns. A step is 0.229 output turns a minute; the joint turns half as fast."""
    servo, on = Servo(c), 1 << 23
    data = (told & 0xFFFF).to_bytes(2, "little") + (-50 & 0xFFFF).to_bytes(2, "little") + b"\x96\0" + bytes([121, 37])
    for is_on in (False, True):
        assert servo.hear(data, 126, 8, 0x24 | on * is_on) == STATE
        s = servo.said
        assert (s.position, s.enabled, s.error, s.volts, s.warmth) == (counts, is_on, 0x24, 121, 37)
        assert s.velocity == pytest.approx(-50 * 0.229 * 2 * np.pi / 60 / 2.0, rel=1e-4) and s.torque == 1.0


def test_that_settings_of_up_to_four_bytes_are_heard(c):
    servo = Servo(c)
    for number, size, value, setting in ((11, 1, 0x02, 11), (38, 2, 0x7702, 38), (20, 4, 0x44337702, 20),
                                         (0, 2, 0x7702, x.MODEL)):
        assert servo.hear(b"\2\x77\x33\x44\x55", number, size) == SETTING
        assert (servo.said.setting, servo.said.value, servo.said.rests) == (setting, value, False)
    for on in (0, 1):
        assert servo.hear(bytes([on, 0, 0, 0, 2, 0, 0]), 64, 7) == SETTING and servo.said.rests == (not on)
