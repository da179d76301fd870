"""Identifies the masses, centres of gravity, inertias, rotor inertias and friction of a whole arm from motions."""
