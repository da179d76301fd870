"""Motions from waypoints."""
