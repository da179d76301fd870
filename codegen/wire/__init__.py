"""What goes over the serial line: messages, their bytes, units."""
