"""First use of an arm: bring-up and identification."""
