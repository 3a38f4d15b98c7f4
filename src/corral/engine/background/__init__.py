"""Background work of a node: sweeps, schedules, cleanup, site memory."""
