"""Processing steps before and after the policy, which change nothing."""

from lerobot.processor import make_default_pre_post_processors


def make_wave_pre_post_processors(config, dataset_stats=None):
    return make_default_pre_post_processors(config, dataset_stats, normalizer_device=config.device)
