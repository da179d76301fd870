"""Campaigns of faults, and comparisons of drives, which tests play: no command needs them, and no wheel has them."""
