"""The arm in three dimensions, on one page that needs no network."""
