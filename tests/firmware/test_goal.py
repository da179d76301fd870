"""Goals of servos with a position loop, and the comparison of the reported load with this loop."""

import numpy as np
import pytest

from femtorque.codegen.drive import application
from tests.firmware import app
from tests.firmware.frames import CDEF, CONFIG

COUNT, SCALE = 0.0015, 500.0  # rad; counts per duty
LOOP = (1000.0, 0.01, 0.8, 0.25)  # duty steps, drag, largest duty, doubt
OWN = """
typedef struct { float full, drag, most, doubt; } ft_loop;
typedef struct { float scale, limit; uint16_t at, goal[2]; uint8_t strained; } ft_goal;
_Bool ft_goal_aim(ft_frame *, const ft_drive_config *, const ft_drive_target *, const ft_loop *);
uint32_t ft_goal_take(ft_goal *, const ft_frame *, _Bool, _Bool);
_Bool ft_goal_strains(ft_goal *, const ft_loop *, uint32_t, int32_t, _Bool);
"""


class Servo:
    """A servo at count 2000 with a duty limit of 0.5."""

    def __init__(self) -> None:
        own = application()
        files = {name: own[name].read_text() for name in ("ft_frame.h", "ft_drive.h", "ft_goal.h", "ft_goal.c")}
        files |= {"ft_config.h": CONFIG.replace("FT_SERVO_LOOP 0", "FT_SERVO_LOOP 1"),
                  "ft_frame_bytes.h": "#define FT_FRAME_BYTES 8u\n"}
        self.ffi, self.lib = app.load(files, CDEF % 8 + OWN)
        self.row = self.ffi.new("ft_drive_config *", {"step": COUNT, "scale": SCALE, "share": 0.5})
        self.loop, self.goal = self.ffi.new("ft_loop *", LOOP), self.ffi.new("ft_goal *", {"at": 2000})
        self.frame = self.ffi.new("ft_frame *")

    def aim(self, **target: float) -> int:
        """Return the goal of a target, counts."""
        t = self.ffi.new("ft_drive_target *", {"position": 2000 * COUNT, "least": 0.0, "most": 6.0} | target)
        aims = self.lib.ft_goal_aim(self.frame, self.row, t, self.loop)
        assert not aims or self.frame.size == 8
        return int(self.lib.ft_goal_take(self.goal, self.frame, aims, True))

    def answers(self, duty: float, count: int = 5, on: bool = True, at: int = 2000) -> list[bool]:
        """Return the findings about this duty, answer by answer."""
        return [self.lib.ft_goal_strains(self.goal, self.loop, at, round(1000 * duty), on) for _ in range(count)]


@pytest.fixture
def servo() -> Servo:
    return Servo()


@pytest.mark.parametrize(("target", "goal"), [
    ({"kp": 1.0, "share": 0.11}, 2050), ({"kp": 1.0, "share": -0.11}, 1950), ({"kp": 1.0, "share": 9.0}, 2245),
    ({"kp": 1.0, "share": 0.11, "most": 2020 * COUNT}, 2020), ({"kp": 1.0, "position": -1.0}, 0),
    ({"kp": 1.0, "position": 4090 * COUNT, "share": 0.11, "most": 9.0}, 4095), ({"kp": 0.0, "position": 3.1}, 2000),
    ({"kp": 0.0, "share": 0.11, "most": 2020 * COUNT}, 2050), ({"kp": 1.0, "share": float("nan")}, 2000),
    ({"kp": 1.0, "position": float("nan")}, 2000), ({"kp": 1.0, "position": float("inf"), "most": 9.0}, 4095)])
def test_a_goal_leads_by_the_duty_within_its_range_and_without_a_number_stays(servo, target, goal):
    """A lead of 500 counts is a duty of 1. The loop adds the drag of 0.01 by itself."""
    assert servo.aim(**target) == goal


def test_a_lead_stays_below_the_duty_of_the_protection(servo):
    servo.row.share = 0.9
    assert servo.aim(kp=1.0, share=0.9) == 2000 + round(SCALE * 0.79)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("duty", "strains"), [(0.11, False), (0.175, False), (0.18, True), (0.045, False),
                                               (0.04, True), (0.0, True)])
def test_five_loads_in_a_row_that_the_loop_does_not_make_are_found(servo, duty, strains, sign):
    """The loop makes a duty of 0.11, with a doubt of a quarter and 0.04."""
    servo.aim(kp=1.0, share=0.11 * sign)
    servo.aim(kp=1.0, share=0.11 * sign)
    assert servo.answers(duty * sign) == [False] * 4 + [strains]


def test_a_load_of_the_last_goal_of_a_limited_duty_or_of_a_motor_that_is_off_is_right(servo):
    servo.aim(kp=1.0, share=0.31)
    servo.aim(kp=1.0, share=0.0)
    assert not any(servo.answers(0.31)) and not any(servo.answers(0.0))
    servo.aim(kp=1.0, position=3000 * COUNT)
    servo.aim(kp=1.0, position=3000 * COUNT)
    assert not any(servo.answers(0.5)) and servo.answers(1.0)[-1]
    assert not any(servo.answers(0.0, on=False))


def test_a_servo_at_its_goal_has_no_load_and_without_a_goal_any_load_is_right(servo):
    servo.aim(kp=1.0)
    servo.aim(kp=1.0)
    assert servo.answers(0.045)[-1] and servo.answers(-0.045)[-1] and not any(servo.answers(0.0))
    assert servo.aim(kp=0.0) == 2000 and not any(servo.answers(0.4, at=2010)) and servo.aim(kp=0.0) == 2010


def test_one_right_load_or_a_motor_that_does_not_run_ends_the_count(servo):
    servo.aim(kp=1.0, share=0.11)
    found = [*servo.answers(0.0, 4), *servo.answers(0.11, 1), *servo.answers(0.0, 4)]
    servo.lib.ft_goal_take(servo.goal, servo.frame, True, False)
    found += servo.answers(0.0, 4)
    servo.aim(kp=1.0, share=0.11)
    assert not np.any(found) and all(servo.answers(0.0, 300))
