"""Masses, centres of gravity, inertias, rotors and friction of a whole arm, from motions that it has played."""
