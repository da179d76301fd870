"""The last bytes of the reply of later mini-cheetah firmware: the supply voltage."""

from femtorque.codegen.drive import mit
from femtorque.codegen.drive.fields import Field, Layout

DIALECT = mit.Dialect(Layout((Field("id", 8), *mit.STATE, Field("supply", 8), Field("unused", 8))))
