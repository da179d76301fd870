"""The plant: bodies, motors, encoders. It imports nothing of the inverse model."""
