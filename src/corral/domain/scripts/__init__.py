"""Scripts of the user: which ones there are, how their command line is built, what their output and exit mean."""
