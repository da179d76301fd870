"""Logs of what the board said."""
