"""What a mechanism, a motion and the emitted code are worth."""
