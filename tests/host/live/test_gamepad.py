"""Tests a gamepad that moves a tip: sticks, the dead-man's button, and a missing gamepad."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from femtorque import Board, Mechanism
from femtorque.codegen.common import Refused, extras
from femtorque.host.live.gamepad import DEAD, PadJog, SdlPad, Sticks
from femtorque.host.live.jog import TipJog
from femtorque.host.live.teleop import HZ, jog_tip
from tests.support.rig import ROOT

START = [0.3, 0.6, 0.5]


class FakePad:
    """A gamepad whose stick positions are given over time. asked: number of reads."""

    name = "a pad"

    def __init__(self, at) -> None:
        self._at, self.asked = at, 0

    def read(self):
        self.asked += 1
        return self._at()


def velocity(right=0.0, away=0.0, up=0.0, held=True):
    return PadJog(FakePad(lambda: Sticks(right, away, up, held)), 0.2).velocity(0.0)


@pytest.mark.parametrize("sticks, expected", [
    ({"away": 1.0}, [0.2, 0.0, 0.0]), ({"away": -1.0}, [-0.2, 0.0, 0.0]), ({"right": 1.0}, [0.0, -0.2, 0.0]),
    ({"up": 1.0}, [0.0, 0.0, 0.2]), ({"away": 1.0, "up": -1.0}, [0.2, 0.0, -0.2]),
    ({"away": DEAD, "up": -DEAD}, [0.0, 0.0, 0.0]), ({"away": 0.8 * DEAD, "right": 0.5 * DEAD}, [0.0, 0.0, 0.0]),
    ({"away": 0.5 * (1.0 + DEAD)}, [0.1, 0.0, 0.0]), ({"away": 1.0, "right": -1.0}, [0.2 / np.sqrt(2)] * 2 + [0.0]),
])
def test_sticks_give_a_velocity_beyond_their_dead_zone_and_never_more_than_the_speed(sticks, expected) -> None:
    np.testing.assert_allclose(velocity(**sticks), expected, atol=1e-12)
    assert velocity(**sticks, held=False) is None, "without the button nothing is asked for"


def test_targets_go_out_only_while_the_button_is_held(fake) -> None:
    mechanism = Mechanism.load(ROOT / "mechanisms" / "three_link.toml")
    with Board.connect("any", mechanism) as board:
        board.home(START)
        clock = board.session.clock
        begun = clock.now()
        pad = FakePad(lambda: Sticks(0.0, 1.0, 0.0, 0.5 < clock.now() - begun < 1.0))
        tip = TipJog(mechanism, START, "hand", [0.2, 0.0, 0.0])
        place = tip.place
        with board.follow() as f:
            sent = jog_tip(f, tip, PadJog(pad, 0.1), lambda: clock.now() - begun > 2.0)
            times = np.array([t for t, _ in fake.targets[:sent]]) - begun
    assert sent == pytest.approx(0.5 * HZ, abs=3) and times.min() > 0.49 and times.max() < 1.03
    assert tip.place[0] - place[0] == pytest.approx(0.1 * 0.5, abs=0.005) and pad.asked > 1.5 * sent


def test_a_pad_that_is_pulled_out_stops_the_arm_and_says_so(fake) -> None:
    mechanism = Mechanism.load(ROOT / "mechanisms" / "three_link.toml")
    with Board.connect("any", mechanism) as board:
        board.home(START)
        pad = FakePad(lambda: Sticks(0.0, 1.0, 0.0, True) if pad.asked < 10 else None)
        with pytest.raises(Refused, match="the gamepad a pad is gone"), board.follow() as f:
            jog_tip(f, TipJog(mechanism, START, "hand"), PadJog(pad, 0.1), lambda: False)
        assert board.state == "HOLD"


class FakeSdl:
    """A stand-in for the functions of pygame-ce that are used, with simulated gamepads."""

    def __init__(self, monkeypatch, *pads) -> None:
        controller = SimpleNamespace(init=lambda: None, get_count=lambda: len(pads),
                                     is_controller=lambda k: pads[k] is not None, Controller=lambda k: pads[k])
        root = SimpleNamespace(
            display=SimpleNamespace(init=lambda: None), event=SimpleNamespace(pump=lambda: None),
            _sdl2=SimpleNamespace(controller=controller),
            CONTROLLER_AXIS_LEFTX=0, CONTROLLER_AXIS_LEFTY=1, CONTROLLER_AXIS_RIGHTY=3,
            CONTROLLER_BUTTON_LEFTSHOULDER=9)
        for name, module in (("pygame", root), ("pygame._sdl2", root._sdl2), ("pygame._sdl2.controller", controller)):
            monkeypatch.setitem(sys.modules, name, module)


def test_the_axes_of_a_pad_as_sdl_names_them(monkeypatch) -> None:
    there = [True]
    stick = SimpleNamespace(name="Pad 3", attached=lambda: there[0], get_axis=[16384, -32768, 0, 8192].__getitem__,
                            get_button=lambda k: k == 9)
    FakeSdl(monkeypatch, None, stick)
    pad = SdlPad()
    assert pad.name == "Pad 3" and pad.read() == Sticks(0.5, 1.0, -0.25, True)
    there[0] = False
    assert pad.read() is None


def test_a_pad_or_a_library_that_is_missing_is_named_in_one_line(here, fake, monkeypatch) -> None:
    FakeSdl(monkeypatch, None)
    line = ("teleop", "mechanisms/three_link.toml", "--port", "any", "--gamepad")
    shown = here(*line)
    assert shown.returncode == 1 and shown.stderr.startswith("femtorque: no gamepad is there; plug one in")
    assert shown.stderr.count("\n") == 1
    monkeypatch.setitem(sys.modules, "pygame", None)
    shown = here(*line)
    assert (shown.returncode, shown.stderr) == (1, "femtorque: pygame is not installed: pip install 'pygame-ce>=2.5'\n")
    assert fake.state == "DISARMED" and extras.installing("gamepad") in shown.stderr
