from .drive import Drive as Drive
from .fields import Ranges as Ranges
from .servo import Servo as Servo
