"""The processes that a node starts: workers and parsers."""
