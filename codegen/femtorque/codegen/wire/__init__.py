"""The serial line: messages, their bytes, units."""
