"""Families of drives: a package each, whose FAMILY describes it. `femtorque.codegen.drive.catalogue` finds them."""
