"""Drives that people buy, by their behaviour on a bus: frames, inner loops, actions without commands."""
