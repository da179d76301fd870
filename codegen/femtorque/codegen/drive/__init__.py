"""Drives on a bus: what they are, the frames that they speak, and how much of a bus these take."""
