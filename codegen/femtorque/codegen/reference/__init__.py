"""Inverse dynamics in NumPy, float64: what all else is held against."""
