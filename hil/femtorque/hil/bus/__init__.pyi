from .adapter import Adapter as Adapter
from .frame import Frame as Frame, give as give, taken as taken
from .gateway import Gateway as Gateway
from .half_duplex import Framing as Framing, OneWire as OneWire, OnLine as OnLine, Tap as Tap
from .intruder import Intruder as Intruder
from .node import BitTiming as BitTiming, Counters as Counters, OnWire as OnWire
from .wire import Wire as Wire
