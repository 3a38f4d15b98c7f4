"""The parts of a process that work on sites."""
