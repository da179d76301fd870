"""Board files and the abilities of their chips."""
