"""A node of ROS 2 for one board, without an installation of ROS: over zenoh by the conventions of rmw_zenoh."""
