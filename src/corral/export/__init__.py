"""What was collected, as a file: one writer per format, fed a few records at a time, in memory that does not grow."""
