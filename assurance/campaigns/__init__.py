"""Campaigns of faults, and comparisons of drives. Only tests use these campaigns."""
