"""What the API and the command line call."""
