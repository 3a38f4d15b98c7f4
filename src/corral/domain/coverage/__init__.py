"""What should have been collected, what is there, and the tasks that close the gaps between them."""
