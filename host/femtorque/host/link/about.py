"""Words for a board's ABOUT."""

from typing import Any

from femtorque.codegen.board import board_names, load_board
from femtorque.codegen.wire import About, fault_name
from femtorque.codegen.wire.codec import text

EXCEPTIONS = {2: "NMI", 3: "hard fault", 4: "memory fault", 5: "bus fault", 6: "usage fault"}


def crash(about: About | None) -> str:
    """Return a sentence on the last crash, to be reported together with the image. Empty without a crash."""
    if about is None or not about.crash:
        return ""
    at = f" at 0x{about.pc:08X}, called from" if about.pc else ", stack not readable, lr"
    at += f" 0x{about.lr:08X}"
    return (f"{EXCEPTIONS.get(about.crash, f'exception {about.crash}')}{at}, CFSR 0x{about.cfsr:08X}, HFSR "
            f"0x{about.hfsr:08X}, address 0x{about.address:08X}")


def history(about: About) -> dict[str, Any]:
    """Return an ABOUT in plain words. crash: None, or the registers as numbers."""
    fields = ("pc", "lr", "psr", "cfsr", "hfsr", "address")
    return {
        "unique": bytes(about.unique).hex(), "version": text(about.version), "uptime_s": about.uptime,
        "resets": about.resets, "options": about.options,
        "faults": {fault_name(n): count for n, count in enumerate(about.faults) if count},
        "crash": {"exception": about.crash, **{f: getattr(about, f) for f in fields}} if about.crash else None}


def brown_out(board: str, options: int) -> str:
    """Return the brown-out level in the option bytes; empty if this host does not know the board."""
    name = board.removesuffix("-pil")
    return load_board(name).chip.brown_out.told(options) if name in board_names() else ""
