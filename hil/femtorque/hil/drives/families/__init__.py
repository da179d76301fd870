"""Families of virtual drives: a package each, whose FAMILY describes them. `femtorque.hil.drives.catalogue` finds them,
here and below the folders that FEMTORQUE_FAMILIES names."""

from femtorque.codegen.drive import elsewhere

__path__.extend(elsewhere("hil/drives/families"))
