"""Progress on standard error."""
