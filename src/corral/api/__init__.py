"""The HTTP edge: translates, never decides."""
