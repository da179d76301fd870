"""Targets sent live: to a board that follows them, from scripts, files, leaders, gamepads and pages."""
