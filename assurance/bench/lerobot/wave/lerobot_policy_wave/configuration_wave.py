"""Configuration of the policy."""

from dataclasses import dataclass

from lerobot.configs.policies import PreTrainedConfig
from lerobot.configs.types import NormalizationMode
from lerobot.optim.optimizers import AdamConfig


@PreTrainedConfig.register_subclass("wave")
@dataclass
class WaveConfig(PreTrainedConfig):
    """chunk: number of actions of a prediction. rate: rate of actions, 1/s. reach: deg. think: duration of a
    prediction, s. jump: step from one prediction to the next, deg."""

    chunk: int = 50
    rate: float = 30.0
    reach: float = 12.0
    think: float = 0.2
    jump: float = 0.5
    normalization_mapping: dict[str, NormalizationMode] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.normalization_mapping = dict.fromkeys(("VISUAL", "STATE", "ACTION"), NormalizationMode.IDENTITY)

    @property
    def observation_delta_indices(self):
        return None

    @property
    def action_delta_indices(self):
        return list(range(self.chunk))

    @property
    def reward_delta_indices(self):
        return None

    def get_optimizer_preset(self):
        return AdamConfig()

    def get_scheduler_preset(self):
        return None

    def validate_features(self) -> None:
        pass
