"""ST's own drivers as judges of the virtual chips."""
