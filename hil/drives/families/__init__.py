"""Families of virtual drives: a package each, whose FAMILY describes them.

`femtorque.hil.drives.catalogue` finds them.
"""
