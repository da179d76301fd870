"""A policy without a neural network, and a simulated camera. LeRobot finds both as it finds any other plugin."""

from .camera import StripesCamera, StripesCameraConfig

try:  # LeRobot before 0.5 does not search other distributions for policies
    from .configuration_wave import WaveConfig
except ImportError:
    WaveConfig = None

__all__ = ["StripesCamera", "StripesCameraConfig", "WaveConfig"]
