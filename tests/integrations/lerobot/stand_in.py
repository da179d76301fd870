"""A stand-in with the names of LeRobot that the plugin uses, for environments without LeRobot and torch. The abstract
members are copied from LeRobot 0.4.4. `make bench` runs the tests of this folder with LeRobot."""

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import wraps
from types import ModuleType


@dataclass(kw_only=True)
class Config:
    id: str | None = None
    calibration_dir: str | None = None

    @classmethod
    def register_subclass(cls, name: str):
        return lambda kind: kind


@dataclass(kw_only=True)
class RobotConfig(Config):
    pass


@dataclass(kw_only=True)
class TeleoperatorConfig(Config):
    pass


@dataclass(kw_only=True)
class CameraConfig:
    width: int
    height: int
    fps: int


def abstract(*names: str) -> dict:
    return {name: abstractmethod(lambda self: None) for name in names}


class Device(ABC):  # noqa: B024 (its abstract members are set by name)
    vars().update(abstract("action_features", "is_connected", "is_calibrated", "connect", "calibrate", "configure",
                           "disconnect"))

    def __init__(self, config: Config) -> None:
        self.id = config.id

    def __str__(self) -> str:
        return f"{self.id} {type(self).__name__}"


class Robot(Device):
    vars().update(abstract("observation_features", "get_observation", "send_action"))


class Teleoperator(Device):
    vars().update(abstract("feedback_features", "get_action", "send_feedback"))


class DeviceNotConnectedError(ConnectionError):
    """Raised if a device is used while it is disconnected."""


class DeviceAlreadyConnectedError(ConnectionError):
    """Raised if a connected device is connected again."""


def _checked(wanted: bool, error: type[Exception]):
    def around(function):
        @wraps(function)
        def call(self, *args, **keys):
            if self.is_connected is not wanted:
                raise error(type(self).__name__)
            return function(self, *args, **keys)

        return call

    return around


MODULES = {
    "lerobot": {}, "lerobot.cameras": {"CameraConfig": CameraConfig},
    "lerobot.cameras.utils": {"make_cameras_from_configs": lambda configs: {}},
    "lerobot.robots": {}, "lerobot.robots.config": {"RobotConfig": RobotConfig},
    "lerobot.robots.robot": {"Robot": Robot}, "lerobot.teleoperators": {},
    "lerobot.teleoperators.config": {"TeleoperatorConfig": TeleoperatorConfig},
    "lerobot.teleoperators.teleoperator": {"Teleoperator": Teleoperator}, "lerobot.utils": {},
    "lerobot.utils.errors": {"DeviceNotConnectedError": DeviceNotConnectedError,
                             "DeviceAlreadyConnectedError": DeviceAlreadyConnectedError},
    "lerobot.utils.decorators": {"check_if_not_connected": _checked(True, DeviceNotConnectedError),
                                 "check_if_already_connected": _checked(False, DeviceAlreadyConnectedError)},
}


def install() -> None:
    """Make `import lerobot...` find the stand-in."""
    for name, names in MODULES.items():
        module = ModuleType(name)
        vars(module).update(names)
        sys.modules[name] = module
