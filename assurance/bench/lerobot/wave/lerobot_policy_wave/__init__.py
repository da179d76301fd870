"""A policy and a camera without a network and without glass, which LeRobot finds as it finds anybody's."""

from .camera import StripesCamera, StripesCameraConfig

try:  # LeRobot before 0.5 has no policies of other distributions
    from .configuration_wave import WaveConfig
except ImportError:
    WaveConfig = None

__all__ = ["StripesCamera", "StripesCameraConfig", "WaveConfig"]
