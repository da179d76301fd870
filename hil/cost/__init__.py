"""What the image costs: instructions, cycles, paths."""
