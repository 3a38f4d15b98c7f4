"""Start the tasks of the queue, and follow a drain of it."""
