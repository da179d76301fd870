"""Numbers of the control law: gains, observers, constants of the firmware."""
