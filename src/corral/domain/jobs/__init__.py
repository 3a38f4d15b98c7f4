"""Jobs, schedules, field types."""
