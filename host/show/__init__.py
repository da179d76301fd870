"""What was logged, for people: tables, plots, pages."""
