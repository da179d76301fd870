"""The ends of CubeMars' replies: temperature and error."""

from femtorque.codegen.drive import mit
from femtorque.codegen.drive.family import Errors
from femtorque.codegen.drive.fields import Field, Layout

# Errors by the manual V1.0.8. Other firmware may count as VESC does (1 over-voltage, 2 under-voltage, 3 gate driver, 4
# over-current, 5 driver hot, 6 motor hot: mc_fault_code of vedderb/bldc). No reply tells the two apart. Temperatures:
# "-40 to 215", AK driver manual, 5.3.
DIALECT = mit.Dialect(
    Layout((Field("id", 8), *mit.STATE, Field("temperature", 8), Field("error", 8))),
    Errors({1: "over-temperature", 2: "over-current", 3: "over-voltage", 4: "under-voltage", 5: "encoder",
            6: "phase unbalance"}), coldest=40)
