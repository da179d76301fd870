"""Families of drives. Each family is a package with a descriptor named FAMILY. `femtorque.codegen.drive.catalogue`
finds the families in this package and in the folders of FEMTORQUE_FAMILIES."""

from femtorque.codegen.drive.foreign_families import elsewhere

__path__.extend(elsewhere("codegen/drive/families"))
