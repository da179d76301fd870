"""The serial line to the board: port, session, requests."""
