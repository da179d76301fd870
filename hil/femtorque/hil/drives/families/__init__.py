"""Families of virtual drives. Each family is a package. The constant FAMILY of the package describes the family.
`femtorque.hil.drives.catalogue` finds families in this folder and in the folders of FEMTORQUE_FAMILIES."""

from femtorque.codegen.drive import elsewhere

__path__.extend(elsewhere("hil/drives/families"))
