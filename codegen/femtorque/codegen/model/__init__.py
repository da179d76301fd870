"""The mechanism as bodies, beams, loops and modes."""
