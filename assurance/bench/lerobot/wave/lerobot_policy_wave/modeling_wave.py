"""The policy. Each chunk of actions is a sine in time about the first observed pose, with a small step from the
previous chunk."""

import math
import time
from collections import deque

import torch
from lerobot.policies.pretrained import PreTrainedPolicy

from .configuration_wave import WaveConfig


class WavePolicy(PreTrainedPolicy):
    config_class = WaveConfig
    name = "wave"

    def __init__(self, config: WaveConfig, **more) -> None:
        super().__init__(config)
        self.unused = torch.nn.Parameter(torch.zeros(1))  # LeRobot requires a policy to have weights
        self.reset()

    def get_optim_params(self):
        return self.parameters()

    def reset(self) -> None:
        self.first, self.began, self.times = None, 0.0, 0
        self.queue = deque()

    def supports_rtc(self) -> bool:
        return True

    def forward(self, batch):
        raise NotImplementedError("it learns nothing")

    def predict_action_chunk(self, batch, inference_delay=0, prev_chunk_left_over=None, **more):
        state = batch["observation.state"]
        now = time.monotonic()
        if self.first is None:
            self.first, self.began = state.clone(), now
        time.sleep(self.config.think)
        self.times += 1
        t = now - self.began + torch.arange(self.config.chunk) / self.config.rate
        sine = self.config.reach * (1.0 - torch.cos(2.0 * math.pi * 0.4 * t)) * 0.5
        aside = self.config.jump * (self.times % 2)
        return self.first[:, None, :] + (sine + aside)[None, :, None]

    def select_action(self, batch, **more):
        if not self.queue:
            self.queue.extend(self.predict_action_chunk(batch).squeeze(0))
        return self.queue.popleft()[None]
