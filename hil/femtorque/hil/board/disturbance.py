"""A bad line: one direction of a link in which frames are corrupted, lost, duplicated, delayed or invented."""

import numpy as np

END = 0  # of a COBS frame


class Disturbance:
    """A filter that disturbs the frames of one direction at random. flip, drop, duplicate, swap: probability per frame
    of an inverted bit, of loss, of a second arrival, and of arriving after the next frame. stalled: bytes wait. cut:
    bytes are lost. frames, flipped, dropped: numbers of frames so far."""

    def __init__(self, seed: int = 0, flip: float = 0.0, drop: float = 0.0, duplicate: float = 0.0) -> None:
        self.flip, self.drop, self.duplicate = flip, drop, duplicate
        self.swap = 0.0
        self.stalled = self.cut = False
        self._late = b""  # a frame that is held back until the next frame has passed
        self.flipped = self.dropped = self.frames = 0
        self._random = np.random.default_rng(seed)
        self._partial = bytearray()
        self._waiting = bytearray()

    @property
    def quiet(self) -> bool:
        return not (self.flip or self.drop or self.duplicate or self.swap or self._late or self._partial)

    def inject(self, size: int) -> None:
        """Insert random bytes before the next bytes on the line."""
        self._waiting += self._random.bytes(size)

    def __call__(self, data: bytes) -> bytes:
        if not data and not self._waiting:
            return b""
        self._waiting += data if self.quiet else self._disturbed(data)
        if self.stalled:
            return b""
        out, self._waiting = bytes(self._waiting), bytearray()
        return b"" if self.cut else out

    def _disturbed(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            self._partial.append(byte)
            if byte == END:
                out += self._in_order(self._one(self._partial))
                self._partial = bytearray()
        return bytes(out)

    def _in_order(self, frame: bytes) -> bytes:
        """Return the frame, followed by an earlier frame that was held back. Return nothing if this frame is now held
        back."""
        late, self._late = self._late, b""
        if self.swap and not late and frame and self._random.random() < self.swap:
            self._late = frame
            return b""
        return frame + late

    def _one(self, frame: bytearray) -> bytes:
        self.frames += 1
        chance = self._random.random(3)
        if chance[0] < self.drop:
            self.dropped += 1
            return b""
        if chance[1] < self.flip:
            self.flipped += 1
            bit = int(self._random.integers(8 * len(frame)))
            frame[bit // 8] ^= 1 << bit % 8
        if chance[2] < self.duplicate:
            return bytes(frame) * 2
        return bytes(frame)
