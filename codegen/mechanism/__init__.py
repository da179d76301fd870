"""What a mechanism file says: description, keys, reader, URDF."""
