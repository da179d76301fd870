"""Motions to the board."""
