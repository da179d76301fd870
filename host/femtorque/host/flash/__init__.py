"""Images to the board."""
