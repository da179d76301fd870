"""Saves the untrained waving policy for a robot with three joints: `python -m assurance.bench.lerobot.policy FOLDER`.
"""

import sys

from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot_policy_wave import WaveConfig
from lerobot_policy_wave.modeling_wave import WavePolicy
from lerobot_policy_wave.processor_wave import make_wave_pre_post_processors


def main() -> None:
    config = WaveConfig(
        input_features={"observation.state": PolicyFeature(FeatureType.STATE, (3,)),
                        "observation.images.front": PolicyFeature(FeatureType.VISUAL, (3, 48, 64))},
        output_features={"action": PolicyFeature(FeatureType.ACTION, (3,))}, device="cpu")
    WavePolicy(config).save_pretrained(sys.argv[1])
    for steps in make_wave_pre_post_processors(config):
        steps.save_pretrained(sys.argv[1])


if __name__ == "__main__":
    main()
