"""A policy without a network and a camera without a lens. LeRobot finds both like any other plugin."""

from .camera import StripesCamera, StripesCameraConfig

try:  # LeRobot before 0.5 finds no policies of other distributions
    from .configuration_wave import WaveConfig
except ImportError:
    WaveConfig = None

__all__ = ["StripesCamera", "StripesCameraConfig", "WaveConfig"]
