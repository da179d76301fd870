"""Drives that people buy, as they behave on a bus: their frames, their inner loops, what they do when left alone."""
