"""Logs for people: tables, plots, pages."""
