"""Campaigns of faults, and comparisons of drives, for tests alone."""
