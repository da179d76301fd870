"""The last bytes of CubeMars' replies: temperature and error."""

from femtorque.codegen.drive import mit
from femtorque.codegen.drive.family import Errors
from femtorque.codegen.drive.fields import Field, Layout

# Error numbers from the manual V1.0.8. Other firmware versions may number the errors like VESC does (1 over-voltage, 2
# under-voltage, 3 gate driver, 4 over-current, 5 driver hot, 6 motor hot: mc_fault_code of vedderb/bldc). No reply
# shows which numbering the drive uses. Temperatures: "-40 to 215", AK driver manual, 5.3.
DIALECT = mit.Dialect(
    Layout((Field("id", 8), *mit.STATE, Field("temperature", 8), Field("error", 8))),
    Errors({1: "over-temperature", 2: "over-current", 3: "over-voltage", 4: "under-voltage", 5: "encoder",
            6: "phase unbalance"}), coldest=40)
