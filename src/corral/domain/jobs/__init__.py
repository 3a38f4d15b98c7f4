"""What to collect: jobs, schedules, field types."""
