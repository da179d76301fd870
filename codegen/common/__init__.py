"""What every room uses: errors, names that are near, templates, files, the cache."""
