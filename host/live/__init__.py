"""Targets sent live: to a board that follows them, from scripts, files, ports and leaders."""
