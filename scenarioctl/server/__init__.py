"""The HTTP servers of the daemon."""
