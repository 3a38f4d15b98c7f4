"""Host limits that outlive a process."""
