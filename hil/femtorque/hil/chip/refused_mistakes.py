"""Mistakes that silicon accepts, unnoticed for a while or for ever, and that the virtual chip refuses on purpose. Each
row describes silicon. Refusals of unmodelled accesses say nothing about silicon and are not in this list."""

STRICTER: dict[str, str] = {
    "clock off": "an access to a peripheral whose clock is off; silicon reads zeros and ignores writes",
    "reserved bits": "a one written to a bit that has no meaning here; silicon ignores reserved ones",
    "clock limit": "a clock beyond its limit in the data sheet; silicon runs, until it is warm or its supply low",
    "wait states": "more speed than flash has wait states for; silicon reads wrong bits at some temperature",
    "timer running": "CR1 or CNT of a timer written while it counts; silicon takes it at once, in mid-pulse",
    "ARR at once": "ARR without its preload changed while the timer counts; silicon counts to the top if it is past it",
    "dead time": "a half bridge switched without dead time; silicon shorts the supply",
    "DMA running": "registers of a DMA stream written while it is enabled; silicon ignores some and takes others",
    "DMA flags": "a DMA stream of the F405 enabled with its old flags set; silicon may not start it, or end it at once",
    "ADC order": "a converter calibrated before its regulator is there, or started while it is off; silicon gives "
                 "wrong results or none",
    "ADC speed": "a converter of the F405 clocked faster than 36 MHz; silicon loses bits",
    "FDCAN delay": "delay compensation with a prescaler above 2; silicon measures in clocks and compares in quanta",
    "FDCAN acknowledge": "a FIFO's element acknowledged that is not there; silicon moves its index and loses frames",
    "FDCAN words": "message RAM written in less than words; silicon has no check for it",
    "flash locked": "a write to flash that nobody is programming, which is a bus fault here; silicon sets PGSERR",
}
