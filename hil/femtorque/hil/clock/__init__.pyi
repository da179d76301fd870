from .chip_state import ChipState as ChipState, Member as Member
from .events import NEVER as NEVER, Event as Event, EventClock as EventClock, Events as Events, OwnClock as OwnClock
from .model_library import EXCEPTIONS as EXCEPTIONS, PLACES as PLACES, interface as interface, library as library
