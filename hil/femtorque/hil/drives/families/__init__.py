"""Families of virtual drives. Each family is a package with its description in FAMILY. `femtorque.hil.drives.catalogue`
finds families here and below the folders that FEMTORQUE_FAMILIES names."""

from femtorque.codegen.drive import elsewhere

__path__.extend(elsewhere("hil/drives/families"))
