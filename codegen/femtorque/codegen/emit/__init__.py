"""The emitted files."""
