"""Common ground of all rooms: errors, near names, templates, files, the cache."""
