"""What a mechanism looks like, as plain data: for pages, and for logs that show their arm."""
