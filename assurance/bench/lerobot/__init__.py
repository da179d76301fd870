"""Programs around LeRobot's own scripts."""
