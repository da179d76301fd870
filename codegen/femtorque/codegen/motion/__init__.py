"""Motions over time: trajectories, their files, random ones."""
