"""Records across the runs of a job: their keys, what changed, and their schema."""
