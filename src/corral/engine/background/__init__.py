"""What a node does unasked: sweeps, schedules, cleanup, site memory."""
