"""Starts the tasks of the queue, and follows a drain of it."""
