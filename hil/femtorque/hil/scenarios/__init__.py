"""Scenarios: what is played, and how it is judged."""
