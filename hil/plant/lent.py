"""Plants that are lent to C (hil/board/coupled.c), which moves them on until somebody looks at them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.hil.plant.encoders import Encoders

Array = NDArray[np.float64]


class Lendable(ABC):
    """encoders: of its n joints. max_step: s that a step takes at most."""

    n: int
    max_step: float
    encoders: Encoders
    _borrower: Callable[[], None] | None = None  # tells where it is lent that it is needed

    @property
    @abstractmethod
    def lendable(self) -> bool:
        """Whether C can move it: nobody else does, and nobody looks on at each interval."""

    @property
    @abstractmethod
    def handle(self) -> int:
        """Address of its plant_steps."""

    @property
    @abstractmethod
    def glance(self) -> tuple[Array, Array]:
        """Copies of q and v, lent or not."""

    @abstractmethod
    def drive(self, seconds: float, voltage: ArrayLike) -> None: ...

    @abstractmethod
    def tell_parameters(self) -> None:
        """While it is lent: its parameters may have changed."""

    @abstractmethod
    def _give(self) -> None:
        """Tell C where it is, motors floating."""

    @abstractmethod
    def _have_back(self) -> None:
        """See where C has moved it."""

    @abstractmethod
    def _in_c(self, h: float, count: int, voltage: Array, torque: Array) -> int:
        """Take steps of h seconds in C, with voltages at the motors and torques beside them, (n,) each; how many it has
        taken."""

    @abstractmethod
    def _in_python(self, h: float, voltage: Array, torque: Array) -> None:
        """Take one such step in Python."""

    def _take_steps(self, h: float, count: int, voltage: Array, torque: Array) -> None:
        """So many steps, those in Python that C leaves."""
        done = 0
        while done < count:
            done += self._in_c(h, count - done, voltage, torque)
            if done < count:
                self._in_python(h, voltage, torque)
                done += 1

    def lend(self, borrower: Callable[[], None]) -> None:
        """Give C what it moves. borrower: calls `taken` when it is needed."""
        self._give()
        self._borrower = borrower

    def taken(self) -> None:
        """Have back what C has moved."""
        self._borrower = None
        self._have_back()

    def recall(self) -> None:
        """Have it back, where it is lent."""
        if self._borrower is not None:
            self._borrower()

    def finish(self, h: float, count: int, voltage: Array) -> None:
        """Steps that C leaves to Python while it is lent."""
        borrower = self._borrower
        assert borrower is not None
        self.taken()
        self._take_steps(h, count, voltage, np.zeros(self.n))
        self.lend(borrower)


def own(thing: object, method: str, kind: type | None = None) -> bool:
    """Whether nobody has put another function in the place of a method of its kind, by default its class."""
    return getattr(getattr(thing, method), "__func__", None) is getattr(kind or type(thing), method)


T = TypeVar("T")


class Own(Generic[T]):
    """An attribute of a plant, which has it back before anybody looks at it or sets it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = "_" + name

    def __get__(self, plant: Lendable, owner: type) -> T:
        plant.recall()
        value: T = getattr(plant, self._name)
        return value

    def __set__(self, plant: Lendable, value: T) -> None:
        plant.recall()
        setattr(plant, self._name, value)
