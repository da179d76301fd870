"""A bad line disturbs frames in the way that its settings specify. Without settings the line disturbs nothing."""

import numpy as np

from femtorque.hil.board.disturbance import Disturbance

FRAMES = [bytes([1 + i % 250, 7, 9, 0]) for i in range(2000)]


def through(line: Disturbance) -> bytes:
    """Pass all frames through the line. The pieces end in the middle of frames."""
    data = b"".join(FRAMES)
    return b"".join(line(data[i:i + 7]) for i in range(0, len(data), 7))


def test_frames_are_lost_with_the_probability_asked_for():
    line = Disturbance(drop=0.1)
    kept = through(line).split(b"\0")[:-1]
    assert line.frames == len(FRAMES) and len(kept) == len(FRAMES) - line.dropped
    assert 150 < line.dropped < 250
    assert set(kept) <= {frame[:-1] for frame in FRAMES}


def test_a_flipped_frame_differs_in_one_bit_and_duplicated_frames_come_twice():
    line = Disturbance(flip=1.0)
    for frame in FRAMES[:100]:
        wrong = np.frombuffer(line(frame), np.uint8) ^ np.frombuffer(frame, np.uint8)
        assert np.unpackbits(wrong).sum() == 1
    assert Disturbance(duplicate=1.0)(FRAMES[0]) == FRAMES[0] * 2


def test_a_stalled_line_delivers_everything_late_and_a_cut_one_nothing():
    line = Disturbance()
    assert line(b"\x01\x02") == b"\x01\x02"
    line.stalled = True
    assert line(b"abc") == b""
    line.stalled = False
    assert line(b"d") == b"abcd"
    line.cut = True
    assert line(b"e") == b""
    line.cut = False
    assert line(b"f") == b"f"


def test_injected_bytes_come_first_and_repeat_with_the_seed():
    lines = [Disturbance(seed=3), Disturbance(seed=3)]
    for line in lines:
        line.inject(100)
    first, second = (line(b"x") for line in lines)
    assert first == second and len(first) == 101 and first.endswith(b"x")
