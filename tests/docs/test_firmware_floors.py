"""Tests of the firmware's floors. A file includes only headers of its own room and of lower rooms."""

import re

from femtorque.codegen.common import FIRMWARE
from femtorque.codegen.drive import application

FLOORS = ("core", "control", "bus", "safety", "wire", "src")  # the lowest first; src: files outside rooms


def room(name: str) -> str:
    """Return the room of a file of the application. A drive family's files belong to the bus."""
    place = application()[name].parent
    return place.name if place.is_relative_to(FIRMWARE / "src") else "bus"


def upward(texts: dict[str, str], rooms: dict[str, str]) -> list[str]:
    """Return a file's includes from higher floors."""
    return [f"{rooms[name]}/{name} includes {rooms[other]}/{other}" for name, text in texts.items()
            for other in re.findall(r'#include "([^"]+)"', text)
            if other in rooms and FLOORS.index(rooms[other]) > FLOORS.index(rooms[name])]


def test_includes_lead_downwards():
    files = application()
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    rooms = {name: room(name) for name in files}
    assert set(rooms.values()) == set(FLOORS)
    assert upward(texts, rooms) == []


def test_an_include_of_a_higher_floor_is_found():
    rooms = {"ft_law.c": "control", "ft_law.h": "control", "ft_crc.h": "core", "ft_safety.h": "safety"}
    texts = {"ft_law.c": '#include "ft_law.h"\n#include "ft_crc.h"\n#include "ft_safety.h" /* ft_safety */\n'}
    assert upward(texts, rooms) == ["control/ft_law.c includes safety/ft_safety.h"]
