"""Mechanism files: description, keys, reader, URDF."""
