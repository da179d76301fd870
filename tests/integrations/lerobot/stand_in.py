"""The names of LeRobot that the plugin imports, for environments without LeRobot, which brings torch.

Abstract members and signatures are those of LeRobot 0.4.4; nothing else of it is here. `make bench` runs the tests of
this folder with LeRobot itself.
"""

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import wraps
from types import ModuleType
from typing import Any


@dataclass(kw_only=True)
class Config:
    """Base of configurations, which know their kinds by name."""

    id: str | None = None
    calibration_dir: str | None = None
    kinds = {}

    @classmethod
    def register_subclass(cls, name: str):
        def register(kind):
            cls.kinds[name] = kind
            return kind

        return register


@dataclass(kw_only=True)
class RobotConfig(Config):
    kinds = {}


@dataclass(kw_only=True)
class TeleoperatorConfig(Config):
    kinds = {}


@dataclass(kw_only=True)
class CameraConfig:
    width: int
    height: int
    fps: int


class Device(ABC):
    """The common part of robots and teleoperators."""

    def __init__(self, config: Config) -> None:
        self.id = config.id

    def __str__(self) -> str:
        return f"{self.id} {type(self).__name__}"

    @property
    @abstractmethod
    def action_features(self) -> dict: ...

    @property
    @abstractmethod
    def is_connected(self) -> bool: ...

    @property
    @abstractmethod
    def is_calibrated(self) -> bool: ...

    @abstractmethod
    def connect(self, calibrate: bool = True) -> None: ...

    @abstractmethod
    def calibrate(self) -> None: ...

    @abstractmethod
    def configure(self) -> None: ...

    @abstractmethod
    def disconnect(self) -> None: ...


class Robot(Device):
    @property
    @abstractmethod
    def observation_features(self) -> dict: ...

    @abstractmethod
    def get_observation(self) -> dict[str, Any]: ...

    @abstractmethod
    def send_action(self, action: dict[str, Any]) -> dict[str, Any]: ...


class Teleoperator(Device):
    @property
    @abstractmethod
    def feedback_features(self) -> dict: ...

    @abstractmethod
    def get_action(self) -> dict[str, Any]: ...

    @abstractmethod
    def send_feedback(self, feedback: dict[str, Any]) -> None: ...


class DeviceNotConnectedError(ConnectionError):
    """A device that is not connected was used."""


class DeviceAlreadyConnectedError(ConnectionError):
    """A device that is connected was to be connected."""


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
    """Let `import lerobot...` find these names."""
    for name, names in MODULES.items():
        module = ModuleType(name)
        vars(module).update(names)
        sys.modules[name] = module
