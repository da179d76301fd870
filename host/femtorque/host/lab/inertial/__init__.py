"""Masses, centres of gravity, inertias, rotors and friction of a whole arm, identified from motions."""
