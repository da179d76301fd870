"""Programs that use LeRobot's original scripts."""
