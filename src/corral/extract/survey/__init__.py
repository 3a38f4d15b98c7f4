"""What a page offers to a person who writes a job."""
