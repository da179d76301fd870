"""Saves an untrained policy for a robot with three joints in the folder KIND_policy: `python -m
assurance.bench.lerobot.policy wave|act`."""

import sys

import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.act.processor_act import make_act_pre_post_processors
from lerobot_policy_wave import WaveConfig
from lerobot_policy_wave.modeling_wave import WavePolicy
from lerobot_policy_wave.processor_wave import make_wave_pre_post_processors

FEATURES = {
    "input_features": {"observation.state": PolicyFeature(FeatureType.STATE, (3,)),
                       "observation.images.front": PolicyFeature(FeatureType.VISUAL, (3, 48, 64))},
    "output_features": {"action": PolicyFeature(FeatureType.ACTION, (3,))}, "device": "cpu"}
SMALL = {"chunk_size": 20, "n_action_steps": 20, "dim_model": 32, "n_heads": 2, "dim_feedforward": 32,
         "n_encoder_layers": 1, "use_vae": False, "pretrained_backbone_weights": None}


def main() -> None:
    torch.manual_seed(1)
    if sys.argv[1] == "wave":
        config = WaveConfig(**FEATURES)
        policy, steps = WavePolicy(config), make_wave_pre_post_processors(config)
    else:
        config = ACTConfig(**FEATURES, **SMALL)
        one = torch.ones(3)
        stats = {"observation.state": {"mean": 0.0 * one, "std": 30.0 * one},
                 "observation.images.front": {"mean": 0.0 * one[:, None, None], "std": one[:, None, None]},
                 "action": {"mean": 0.0 * one, "std": 30.0 * one}}
        policy, steps = ACTPolicy(config), make_act_pre_post_processors(config, stats)
    for part in (policy, *steps):
        part.save_pretrained(f"{sys.argv[1]}_policy")


if __name__ == "__main__":
    main()
