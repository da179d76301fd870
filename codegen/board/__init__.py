"""What a board file says, and what its chip can do."""
