"""Costs of an image: instructions, cycles, paths."""
