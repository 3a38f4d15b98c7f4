"""The use cases that the API and the command line call."""
