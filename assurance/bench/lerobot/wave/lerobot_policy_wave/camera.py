"""A simulated camera with a moving stripe, so that every image differs."""

from dataclasses import dataclass

import numpy as np
from lerobot.cameras import Camera, CameraConfig


@CameraConfig.register_subclass("stripes")
@dataclass(kw_only=True)
class StripesCameraConfig(CameraConfig):
    pass


class StripesCamera(Camera):
    def __init__(self, config: StripesCameraConfig) -> None:
        super().__init__(config)
        self._taken, self._on = 0, False

    @property
    def is_connected(self) -> bool:
        return self._on

    @staticmethod
    def find_cameras():
        return []

    def connect(self, warmup: bool = True) -> None:
        self._on = True

    def read(self, color_mode=None):
        image = np.zeros((self.height, self.width, 3), np.uint8)
        image[:, self._taken % self.width] = 255
        self._taken += 1
        return image

    def async_read(self, timeout_ms: float = 200.0):
        return self.read()

    def read_latest(self, max_age_ms: int = 500):
        return self.read()

    def disconnect(self) -> None:
        self._on = False
