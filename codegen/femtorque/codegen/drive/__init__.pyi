from .bit_timing import BITRATES as BITRATES, DATA_BITRATES as DATA_BITRATES, BitTiming as BitTiming, timings as timings
from .budget import (
    BITS_A_BYTE as BITS_A_BYTE, USABLE as USABLE, Load as Load, Wire as Wire, asked_after as asked_after,
    bus_load as bus_load, measured_after as measured_after)
from .can import CLASSIC as CLASSIC
from .catalogue import DRIVES as DRIVES, FAMILIES as FAMILIES, WIRES as WIRES, family_of as family_of
from .family import (
    ALIKE as ALIKE, AT_LEAST as AT_LEAST, AT_MOST as AT_MOST, EQUAL as EQUAL, PLACE as PLACE,
    Configuration as Configuration, Configured as Configured, DriveType as DriveType, Family as Family,
    Fitted as Fitted, Setting as Setting)
from .foreign_families import elsewhere as elsewhere
from .sources import application as application, of_families as of_families
