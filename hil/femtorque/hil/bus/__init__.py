"""The wire between controllers and drives: CAN frames bit by bit, nodes, arbitration, errors."""
