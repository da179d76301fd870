"""Appearance of a mechanism, as plain data: for pages, and for logs that show their arm."""
