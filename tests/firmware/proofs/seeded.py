"""Errors put into the firmware on purpose: each must be refuted by the proof that is named with it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Seeded:
    """An error in one file, the theorem that it breaks, and whether that is shown in `make test`."""

    theorem: str
    file: str
    old: str
    new: str
    quick: bool = False
    mechanism: str = "three_link"


SEEDED = (
    Seeded("crc_step", "ft_crc.c", "0x1db71064u", "0x1db71065u", quick=True),
    Seeded("crc_reads", "ft_crc.c", "i < size", "i <= size"),
    Seeded("cobs_decode_any", "ft_cobs.c", "run > size - from", "run > size", quick=True),
    Seeded("cobs_decode_gives_back", "ft_cobs.c", "code < 255u && from < size", "from < size || code < 255u"),
    Seeded("cobs_encode", "ft_cobs.c", "code++;", ";"),
    Seeded("messages_in", "ft_messages.c", "ft_msg_get_u16(b + 2) << 16", "ft_msg_get_u16(b + 2) << 15", quick=True),
)
