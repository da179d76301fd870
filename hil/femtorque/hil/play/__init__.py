"""Playing motions on a virtual board."""
