"""Judgement of a mechanism, a motion and the emitted code."""
