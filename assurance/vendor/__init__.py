"""A comparison of the virtual chips with ST's drivers."""
