"""The arm in three dimensions, on one page without a network."""
