"""Families of drives: a package each, whose FAMILY describes it. `femtorque.codegen.drive.catalogue` finds them, here
and below the folders that FEMTORQUE_FAMILIES names."""

from femtorque.codegen.drive.foreign_families import elsewhere

__path__.extend(elsewhere("codegen/drive/families"))
